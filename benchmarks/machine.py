"""Speed of the timed machine: thousand warp instructions a second, memory requests a second; by cores and by host threads.

    python benchmarks/machine.py
"""

import os
import time
from functools import partial

import numpy as np

import simtlab as sl

FMA = r"""
extern "C" __global__ void fma_loop(float *out, float a, float b, int n) {
    float x0 = threadIdx.x, x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
    for (int i = 0; i < n; i++) { x0 = x0 * a + b; x1 = x1 * a + b; x2 = x2 * a + b; x3 = x3 * a + b; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x0 + x1 + x2 + x3;
}
"""
SAXPY = r"""
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
GATHER = r"""
extern "C" __global__ void gather(const int *index, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[index[i]];
}
"""


ADD = r"""
extern "C" __global__ void add(int n, const float *x, const float *y, float *z) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""


def timed(launch, repeats: int = 5) -> tuple[sl.Run, float]:
    """The last of several runs after a first one, and the seconds of the fastest: the machines this runs on are noisy."""
    launch()
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        run = launch()
        best = min(best, time.perf_counter() - begin)
    return run, best


def fma(gpu: sl.Gpu, ctas: int = 120):
    out, kernel = gpu.zeros(ctas * 256), gpu.compile(FMA)["fma_loop"]
    return timed(lambda: kernel(ctas, 256, [out, np.float32(0.5), np.float32(1.5), np.int32(100)]))


def saxpy(gpu: sl.Gpu, n: int = 1 << 20):
    x, y, kernel = gpu.zeros(n), gpu.zeros(n), gpu.compile(SAXPY)["saxpy"]
    return timed(lambda: kernel(n // 256, 256, [np.int32(n), np.float32(2), x, y]))


def add(gpu: sl.Gpu, n: int = 1 << 19):
    x, y, z, kernel = gpu.zeros(n), gpu.zeros(n), gpu.zeros(n), gpu.compile(ADD)["add"]
    return timed(lambda: kernel(n // 256, 256, [np.int32(n), x, y, z]), 3)


def gather(gpu: sl.Gpu, n: int = 1 << 16):
    rng = np.random.default_rng(0)
    x = gpu.zeros(1 << 24)
    index = gpu.array((rng.permutation(1 << 19)[:n] * 32).astype(np.int32))
    y, kernel = gpu.zeros(n), gpu.compile(GATHER)["gather"]
    return timed(lambda: kernel(n // 256, 256, [index, x, y]))


def rate_of(work, run: sl.Run, seconds: float) -> float:
    """Requests a second of a gather, else warp instructions."""
    return (run.counters["l1_accesses"] if work is gather else run.instructions) / seconds


def by_cores() -> None:
    """The same work on a v100 of ever more cores: cost should follow work, not cores."""
    print("v100, one host thread")
    for name, work in (("streaming addition", add), ("random gather", gather)):
        rates = {cores: rate_of(work, *work(sl.Gpu("v100", set={"core.cores": cores}))) for cores in (10, 20, 40, 80)}
        shown = ", ".join(f"{cores}: {rate / 1e3:.0f} K/s" for cores, rate in rates.items())
        print(f"  {name:18} by cores {shown} (80 against 10: {rates[80] / rates[10]:.2f})")


def by_threads() -> None:
    """One run on several host threads, against one."""
    available = os.cpu_count() or 1
    for preset, cores in (("v100", 80), ("h200", 132)):
        print(f"{preset}, {cores} cores, host threads")
        loop = partial(fma, ctas=8 * cores)
        for name, work in (("FMA loop", loop), ("streaming addition", add), ("random gather", gather)):
            runs = {n: work(sl.Gpu(preset, threads=n)) for n in (1, 2, 4, 8, 16) if n <= available}
            ratios = ", ".join(f"{n}: {runs[1][1] / seconds:.2f}x" for n, (_, seconds) in runs.items())
            print(f"  {name:18} {rate_of(work, *runs[1]) / 1e3:.0f} K/s with one; {ratios}")


def main() -> None:
    print(f"host: {os.cpu_count()} processors")
    gpu = sl.Gpu("caps-gtx480")
    print("caps-gtx480, three loops, one host core")
    for name, work in (("FMA loop", fma), ("streaming saxpy", saxpy)):
        run, seconds = work(gpu)
        rate = run.instructions / seconds / 1e3
        print(f"  {name:18} {rate:7.0f} K warp instructions/s   IPC {run.ipc:6.2f}   {run.cycles} cycles")
    run, seconds = gather(gpu)
    requests = run.counters["l1_accesses"]
    print(f"  {'random gather':18} {requests / seconds / 1e3:7.0f} K requests/s   {run.cycles} cycles")
    rates = {}
    for detail in (1, 2, 3):
        run, seconds = fma(sl.Gpu("caps-gtx480", set={"core.detail": detail}))
        rates[detail] = run.instructions / seconds
    by_loops = ", ".join(f"{detail}: {rate / 1e3:.0f} K/s" for detail, rate in rates.items())
    print(f"  FMA by loops: {by_loops} (1 against 3: {rates[1] / rates[3]:.2f}x)")
    few, many = fma(gpu, 960), fma(sl.Gpu("caps-gtx480", set={"core.cores": 80}), 960)
    ratio = (many[0].instructions / many[1]) / (few[0].instructions / few[1])
    print(f"  80 cores against 15 on the same kernel: {ratio:.2f} of the rate")
    rates = []
    for isa in ("ptx", "sm_90"):
        run, seconds = fma(sl.Gpu("caps-gtx480", isa=isa))
        rates.append(run.instructions / seconds)
    print(f"  machine code (sm_90) against PTX, FMA loop: {rates[1] / rates[0]:.2f} of the rate in instructions")
    by_cores()
    by_threads()


if __name__ == "__main__":
    main()
