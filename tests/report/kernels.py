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
  float own = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int round = 0; round < rounds; round++) {
    for (int i = threadIdx.x; i < 4096; i += blockDim.x)
      part[i] = own * round;
    for (int step = 1; step < 4096; step *= 2) {
      __syncthreads();
      for (int i = threadIdx.x; 2 * step * i < 4096; i += blockDim.x)
        part[2 * step * i] += part[2 * step * i + step];
    }
    if (threadIdx.x == 0)
      out[blockIdx.x * rounds + round] = part[0];
  }
}"""

ROWS = """extern "C" __global__ void rows(const float *in, float *out, int rounds) {
  __shared__ float part[128 * 32];
  for (int k = 0; k < 32; k++)
    part[k * 128 + threadIdx.x] = in[threadIdx.x] + k;
  __syncthreads();
  float sum = 0;
  for (int round = 0; round < rounds; round++)
    for (int k = 0; k < 32; k++)
      sum += part[threadIdx.x * 32 + (k + round) % 32];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
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

CHAIN = """extern "C" __global__ void chain(float *out, float a, int rounds) {
  __shared__ float large[12000];
  float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
  for (int k = 0; k < rounds; k++) {
    x = x * a + 1; y = y * a + 1; z = z * a + 1; w = w * a + 1;
  }
  large[threadIdx.x] = x + y + z + w;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = large[threadIdx.x];
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
    """Of the one kernel in a text; keys of the machine with __ for the dot. `h200/ptx` executes PTX on a plainer machine."""
    name, _, isa = machine.partition("/")
    changes = {**(PLAIN if isa == "ptx" else {}), **changes}
    gpu = sl.Gpu(name, isa=isa or None, set={key.replace("__", "."): value for key, value in changes.items()})
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
NARROW = {
    "h200": {"core__cores": 8, "l2__slices": 8, "l2__slices_per_channel": 4, "dram__channels": 2},
    "caps-gtx480": {"core__cores": 8, "l2__slices": 4, "dram__channels": 2},
}
# a launch that begins at once, and fetches that wait for what they ask for
PLAIN = {"core__launch_cycles": 0, "core__cta_starts_per_1000_cycles": 0, "l1i__prefetch_lines": 0, "l1i__mshr_entries": 2}
FEW["h200/ptx"], NARROW["h200/ptx"] = FEW["h200"], NARROW["h200"]


@cache
def transpose(machine: str) -> LaunchProfile:
    n = 256
    return profile(machine, TRANSPOSE, (n // 32, n // 8), (32, 8), [zeros(n * n), zeros(n * n), n], **FEW[machine])


@cache
def strided(machine: str) -> LaunchProfile:
    return profile(machine, STRIDED, 64, 256, [zeros(16 * 16384 * 4), zeros(16384), 16], **FEW[machine])


@cache
def reduction(machine: str) -> LaunchProfile:
    return profile(machine, REDUCTION, 24, 256, [zeros(24 * 256), zeros(24 * 6), 6], **FEW[machine])


@cache
def rows(machine: str) -> LaunchProfile:
    """Each thread adds up a row of 32 words: all lanes of a warp touch one bank."""
    return profile(machine, ROWS, 24, 128, [zeros(128), zeros(24 * 128), 4], **FEW[machine])


@cache
def spmv(machine: str) -> LaunchProfile:
    """One row in 32 has 100 entries, the others one."""
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
    count = 1 << 16
    return profile(machine, TRIAD, count // 256, 256, [zeros(4 * count), zeros(4 * count), zeros(4 * count)], **NARROW[machine])


@cache
def fma(machine: str) -> LaunchProfile:
    ctas = 64 if machine.startswith("h200") else 24
    return profile(machine, FMA, ctas, 256, [zeros(ctas * 256), 1.5, 0.5, 30], **FEW[machine])


@cache
def tail(machine: str) -> LaunchProfile:
    """1.1 waves of CTAs, of which each takes its time however few there are."""
    fit = 4 if machine.startswith("h200") else 1
    ctas = 1 + fit * FEW[machine]["core__cores"]
    return profile(machine, CHAIN, ctas + 2 * (machine.startswith("h200")), 64, [zeros(ctas * 64 + 128), 1.5, 2000], **FEW[machine])


@cache
def narrow_network(machine: str) -> LaunchProfile:
    """A triad with all of the DRAM behind a network of 8 bytes a flit."""
    changes = {"core__cores": 8, "network__flit_bytes": 8}
    return profile(machine, TRIAD, 128, 256, [zeros(1 << 17), zeros(1 << 17), zeros(1 << 17)], **changes)


@cache
def chain(machine: str) -> LaunchProfile:
    """A warp a scheduler: one CTA of four warps on each core."""
    text = CHAIN.replace("12000", "128").replace("y = y * a + 1; z = z * a + 1; w = w * a + 1;", "")
    return profile(machine, text, 8, 128, [zeros(8 * 128), 1.5, 1000], core__cores=8)


@cache
def lone_warps(machine: str) -> LaunchProfile:
    """A warp a core."""
    return profile(machine, CHAIN, 8, 32, [zeros(8 * 32), 1.5, 1000], core__cores=8)


@cache
def barrier(machine: str) -> LaunchProfile:
    ctas = 64 if machine.startswith("h200") else 24
    return profile(machine, BARRIER, ctas, 256, [zeros(ctas * 256), 1.5, 300], **FEW[machine])


HISTOGRAM = """extern "C" __global__ void histogram(const unsigned *in, unsigned *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8; k++)
    atomicAdd(&bins[(i * 31 + k * 977 + in[i]) % 64 * 8], 1);
}"""

SHARED_HISTOGRAM = """extern "C" __global__ void shared_histogram(const unsigned *in, unsigned *out) {
  __shared__ unsigned bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8; k++)
    atomicAdd(&bins[in[i] + k & 1], 1);
  __syncthreads();
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = bins[threadIdx.x];
}"""

LOCAL = """extern "C" __global__ void local(const int *in, int *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int own[64];
  for (int k = 0; k < 64; k++)
    own[k] = i + k;
  int at = in[i];
  for (int k = 0; k < rounds; k++)
    at = own[at & 63] + k;
  out[i] = at;
}"""

CONSTANTS = """__constant__ int table[8192];
extern "C" __global__ void constants(int *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = i * 64;
  for (int k = 0; k < rounds; k++)
    at = table[(at + i * 64) & 8191] + k * 64;
  out[i] = at;
}"""

ROOTS = """extern "C" __global__ void roots(float *out, int rounds) {
  float x = threadIdx.x + 1, y = x + 1;
  for (int k = 0; k < rounds; k++) {
    x = rsqrtf(x); y = rsqrtf(y);
    x = rsqrtf(x); y = rsqrtf(y);
    x = rsqrtf(x); y = rsqrtf(y);
    x = rsqrtf(x); y = rsqrtf(y);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}"""

SHARED_CHASE = """extern "C" __global__ void shared_chase(int *out, int rounds) {
  __shared__ int next[256];
  next[threadIdx.x] = (threadIdx.x + 32) % 256;
  __syncthreads();
  int at = threadIdx.x;
  for (int k = 0; k < rounds; k++)
    at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}"""

FENCES = """extern "C" __global__ void fences(float *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rounds; k++) {
    out[i + k * 4096] = k;
    __threadfence();
  }
}"""

REPEATED = """extern "C" __global__ void repeated(const float *in, float *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < rounds; k++)
    sum += in[(i + 32 * k) & 1023];
  out[i] = sum;
}"""


@cache
def histogram(machine: str) -> LaunchProfile:
    return profile(machine, HISTOGRAM, 64, 256, [zeros(64 * 256).view("u4"), zeros(512).view("u4")], **FEW[machine])


@cache
def shared_histogram(machine: str) -> LaunchProfile:
    return profile(machine, SHARED_HISTOGRAM, 64, 256, [zeros(64 * 256).view("u4"), zeros(256).view("u4")], **FEW[machine])


@cache
def local(machine: str) -> LaunchProfile:
    count = 32 * 256
    return profile(machine, LOCAL, 32, 256, [zeros(count).view("i4"), zeros(count).view("i4"), 40], **FEW[machine])


@cache
def constants(machine: str) -> LaunchProfile:
    return profile(machine, CONSTANTS, 32, 256, [zeros(32 * 256).view("i4"), 20], **FEW[machine])


@cache
def roots(machine: str) -> LaunchProfile:
    return profile(machine, ROOTS, 64, 256, [zeros(64 * 256), 20], **FEW[machine])


@cache
def shared_chase(machine: str) -> LaunchProfile:
    """Eight warps a core."""
    ctas = FEW[machine]["core__cores"]
    return profile(machine, SHARED_CHASE, ctas, 256, [zeros(ctas * 256).view("i4"), 400], **FEW[machine])


@cache
def fences(machine: str) -> LaunchProfile:
    return profile(machine, FENCES, 16, 256, [zeros(16 * 256 + 20 * 4096), 20], **FEW[machine])


@cache
def small_grid(machine: str) -> LaunchProfile:
    """Three CTAs."""
    return profile(machine, FMA, 3, 1024, [zeros(3 * 1024), 1.5, 0.5, 40], **FEW[machine])


@cache
def part_filled(machine: str) -> LaunchProfile:
    """A lane more than a warp."""
    return profile(machine, FMA, 256, 33, [zeros(256 * 33), 1.5, 0.5, 40], **FEW[machine])


@cache
def huge(machine: str) -> LaunchProfile:
    """A loop that an instruction cache of 2 KB cannot hold."""
    text = FMA.replace("#pragma unroll", "x = x * a + b; y = y * b + a; " * 400)
    changes = FEW[machine] | {"policies__warp_scheduler": "lrr"}
    return profile(machine, text, 8, 256, [zeros(8 * 256), 1.5, 0.5, 10], **changes)


@cache
def repeated(machine: str) -> LaunchProfile:
    """Coalesced loads that hit in the L1."""
    return profile(machine, REPEATED, 64, 256, [zeros(1024), zeros(64 * 256), 40], **FEW[machine])
