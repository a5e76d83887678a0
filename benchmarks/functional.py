"""Speed of functional execution, in million warp instructions a second, and the costs of starting up.

    python benchmarks/functional.py
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import simtlab as sl

FMA = r"""
extern "C" __global__ void fma_loop(float *out, float a, float b, int n) {
    float x0 = threadIdx.x, x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
    for (int i = 0; i < n; i++) {
        x0 = x0 * a + b; x1 = x1 * a + b; x2 = x2 * a + b; x3 = x3 * a + b;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x0 + x1 + x2 + x3;
}
"""
MATMUL = r"""
#define T 16
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / T; t++) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t * T + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * T + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""
SPMV = r"""
extern "C" __global__ void spmv(int rows, const int *start, const int *column, const float *value, const float *x,
                                float *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
        y[row] = sum;
    }
}
"""


def rate(launch, repeats: int = 3) -> float:
    """The best of several runs, in million warp instructions a second."""
    launch()
    best = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        run = launch()
        best = max(best, run.instructions / (time.perf_counter() - start) / 1e6)
    return best


def fma(gpu: sl.Gpu):
    out = gpu.zeros(64 * 256)
    kernel = gpu.compile(FMA)["fma_loop"]
    return lambda: kernel(64, 256, [out, np.float32(0.5), np.float32(1.5), np.int32(2000)])


def matmul(gpu: sl.Gpu, n: int = 256):
    rng = np.random.default_rng(0)
    a, b = (gpu.array(rng.random((n, n), np.float32)) for _ in range(2))
    c = gpu.zeros((n, n))
    kernel = gpu.compile(MATMUL)["matmul"]
    return lambda: kernel((n // 16, n // 16), (16, 16), [a, b, c, np.int32(n)])


def spmv(gpu: sl.Gpu, rows: int = 1 << 18):
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.poisson(16, rows))]).astype(np.int32)
    column = rng.integers(0, rows, start[-1]).astype(np.int32)
    arrays = [gpu.array(v) for v in (start, column, rng.random(start[-1], np.float32), rng.random(rows, np.float32))]
    y = gpu.zeros(rows)
    kernel = gpu.compile(SPMV)["spmv"]
    return lambda: kernel(rows // 128, 128, [np.int32(rows), *arrays, y])


LONG_KERNEL = r"""
import time, numpy as np, simtlab as sl
steps = [
    "x = x * {i} + (y ^ {i});", "y = y + (x >> {s});", "f = f * 1.5f + (float)(x & {i});", "if (x < y) x = x / {i};",
    "d = d * f + {i};", "l = l * x + (l >> {s});", "f = sqrtf(f * f + {i}.0f);", "y = min(x, max(y, {i}));",
    "x = __popc(x) + __clz(y + {i});", "l ^= (long long)d;", "out[x & 3] += {i};", "x += __shfl_xor_sync(~0u, y, {s});",
]
lines = "\n".join(steps[i % len(steps)].format(i=i + 2, s=i % 7 + 1) for i in range(110))
head = 'extern "C" __global__ void long_one(int *out, int x, int y, float f) { double d = f; long long l = y;'
source = head + lines + " out[0] = x + y + (int)f + (int)d + (int)l; }"
gpu = sl.Gpu()
from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.parser import parse
out = gpu.zeros(4, "i4")
warm = gpu.load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry e() { ret; }")
warm["e"](1, 1)
ptx = compile_cuda(source).ptx
begin = time.perf_counter()
kernel = gpu.load(ptx)["long_one"]
kernel(1, 32, [out, 1, 2, np.float32(3)])
print(len(kernel.program.code), time.perf_counter() - begin)
"""


def first_use(cache: str) -> tuple[int, float]:
    """Instructions of a long kernel, and seconds from its PTX to the end of its first launch, in a process of its own."""
    environment = dict(os.environ, SIMTLAB_CACHE=cache)
    command = [sys.executable, "-c", LONG_KERNEL]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    count, seconds = done.stdout.split()
    return int(count), float(seconds)


def import_seconds() -> float:
    best = 9.0
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import simtlab"], check=True)
        best = min(best, time.perf_counter() - begin)
    return best


def big_allocation() -> float:
    """GiB of memory that a 1 GiB device array costs."""
    gpu = sl.Gpu()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    array = gpu.zeros(1 << 28, "f4")
    array[...] = 1.0
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (1 << 20)


def kernel_seconds(launch, repeats: int = 3) -> float:
    """The shortest of several launches after a first one."""
    launch()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        launch()
        times.append(time.perf_counter() - begin)
    return min(times)


def machine_code() -> None:
    """How long kernels take as machine code, against PTX."""
    print("functional execution of machine code (sm_90), one core: kernel time of PTX over that of machine code")
    for name, build in (("FMA loop", fma), ("tiled matrix multiplication", matmul), ("CSR SpMV", spmv)):
        ptx, sass = (kernel_seconds(build(sl.Gpu(threads=1, isa=isa))) for isa in ("ptx", "sm_90"))
        print(f"  {name:30} {ptx / sass:.2f}x")


def main() -> None:
    one, two = sl.Gpu(threads=1), sl.Gpu(threads=2)
    print("functional execution, million warp instructions a second")
    for name, build in (("FMA loop", fma), ("tiled matrix multiplication", matmul), ("CSR SpMV", spmv)):
        single, double = rate(build(one)), rate(build(two))
        print(f"  {name:30} one core {single:6.2f}   two cores {double:6.2f}   ({double / single:.2f}x)")
    machine_code()
    with tempfile.TemporaryDirectory() as cache:
        import_once = first_use(cache)  # compiles the executor too, which the measured part excludes
        for index in list(os.scandir(cache)):
            if index.name.startswith("isa-"):
                for file in os.scandir(index.path):
                    os.unlink(file.path)
        cold, warm = first_use(cache), first_use(cache)
    print(f"first use of a kernel of {import_once[0]} instructions: {cold[1]:.2f} s new, {warm[1]:.3f} s from the cache")
    print(f"import simtlab: {import_seconds():.2f} s")
    print(f"1 GiB on the device costs {big_allocation():.2f} GiB")


if __name__ == "__main__":
    main()
