"""Small kernels that are each limited by one thing, and their profiles."""

from functools import cache

import numpy as np

import simtlab as sl
from simtlab.report.profile import LaunchProfile, profile_of

TRANSPOSE = """extern "C" __global__ void transpose(const float *in, float *out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  float value = in[y * n + x];
  out[x * n + y] = value;
}"""

STRIDED = """extern "C" __global__ void strided(const float *in, float *out, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 4; k++)
    sum += in[(i + k * 16384) * stride];
  out[i] = sum;
}"""

REDUCTION = """extern "C" __global__ void reduction(const float *in, float *out, int rounds) {
  __shared__ float part[4096];
  int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; k++)
    part[k * 256 + t] = in[blockIdx.x * 256 + t] + k;
  __syncthreads();
  for (int round = 0; round < rounds; round++) {
    for (int step = 8; step <= 16; step *= 2)
      if (2 * step * t < 4096)
        part[2 * step * t] += part[2 * step * t + step];
    sum += part[t];
  }
  out[blockIdx.x * 256 + t] = sum;
}"""

SPMV = """extern "C" __global__ void spmv(const int *first, const int *column, const float *value, const float *x, float *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = first[row]; k < first[row + 1]; k++)
    sum += value[k] * x[column[k]];
  y[row] = sum;
}"""

CHASE = """extern "C" __global__ void chase(const int *next, int *out, int steps) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < steps; k++)
    at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}"""

TRIAD = """extern "C" __global__ void triad(const float4 *a, const float4 *b, float4 *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}"""

FMA = """extern "C" __global__ void multiply_add(float *out, float a, float b, int rounds) {
  float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
  for (int k = 0; k < rounds; k++) {
    #pragma unroll
    for (int j = 0; j < 16; j++) {
      x = x * a + b; y = y * a + b; z = z * a + b; w = w * a + b;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z + w;
}"""

BARRIER = """extern "C" __global__ void barrier(float *out, float a, int rounds) {
  __shared__ float result;
  if (threadIdx.x < 32) {
    float x = threadIdx.x;
    for (int k = 0; k < rounds; k++)
      x = x * a + 1;
    result = x;
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = result;
}"""


def profile(machine: str, text: str, grid, block, arguments, **changes) -> LaunchProfile:
    """Of the one kernel in a text; keys of the machine with __ for the dot."""
    gpu = sl.Gpu(machine, set={key.replace("__", "."): value for key, value in changes.items()})
    gpu.machine.interval_cycles = 64
    values = [gpu.array(value) if isinstance(value, np.ndarray) else value for value in arguments]
    name = text.split("void ")[1].split("(")[0]
    run = gpu.compile(text)[name](grid, block, values)
    shape = (run.grid, run.block, run.shared_bytes)
    return profile_of(run.program, run.timing, shape, gpu.machine.config, gpu.machine.intervals())


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, "f4")


FEW = {"h200": {"core__cores": 8}, "caps-gtx480": {"core__cores": 4}}  # cores, so that small grids fill them
# … with as much of the memory system as belongs to them
NARROW = {"h200": {"core__cores": 8, "l2__slices": 8, "dram__channels": 8}, "caps-gtx480": {}}


@cache
def transpose(machine: str) -> LaunchProfile:
    n = 256
    return profile(machine, TRANSPOSE, (n // 32, n // 8), (32, 8), [zeros(n * n), zeros(n * n), n], **FEW[machine])


@cache
def strided(machine: str) -> LaunchProfile:
    return profile(machine, STRIDED, 64, 256, [zeros(16 * 16384 * 4), zeros(16384), 16], **FEW[machine])


@cache
def reduction(machine: str) -> LaunchProfile:
    return profile(machine, REDUCTION, 48, 256, [zeros(48 * 256), zeros(48 * 256), 20], **FEW[machine])


@cache
def spmv(machine: str) -> LaunchProfile:
    """One row in 32 has 200 entries, the others one."""
    rows = 8192
    lengths = np.where(np.arange(rows) % 32 == 7, 100, 1)
    first = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    column = np.random.default_rng(1).integers(0, rows, first[-1]).astype("i4")
    return profile(machine, SPMV, rows // 256, 256, [first, column, zeros(first[-1]), zeros(rows), zeros(rows)], **FEW[machine])


@cache
def chase(machine: str) -> LaunchProfile:
    """A warp a core; all its lanes go round one ring of lines."""
    count = 1 << 16
    ring = ((np.arange(count) + 4096 + 32) % count).astype("i4")
    return profile(machine, CHASE, FEW[machine]["core__cores"], 32, [ring, zeros(256).view("i4"), 100], **FEW[machine])


@cache
def triad(machine: str) -> LaunchProfile:
    count = 1 << 15
    return profile(machine, TRIAD, count // 256, 256, [zeros(4 * count), zeros(4 * count), zeros(4 * count)], **NARROW[machine])


@cache
def fma(machine: str) -> LaunchProfile:
    ctas = 64 if machine == "h200" else 24
    return profile(machine, FMA, ctas, 256, [zeros(ctas * 256), 1.5, 0.5, 10], **FEW[machine])


@cache
def tail(machine: str) -> LaunchProfile:
    """1.1 waves of CTAs."""
    ctas = 70 if machine == "h200" else 26
    return profile(machine, FMA, ctas, 256, [zeros(ctas * 256), 1.5, 0.5, 10], **FEW[machine])


@cache
def barrier(machine: str) -> LaunchProfile:
    ctas = 64 if machine == "h200" else 24
    return profile(machine, BARRIER, ctas, 256, [zeros(ctas * 256), 1.5, 300], **FEW[machine])
