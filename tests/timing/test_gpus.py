"""Presets of real GPUs execute machine code of their own, and chases on an idle machine take as long as others have measured.

Cycles a step of one thread's chain: RRZE gpu-benches (gpu-latency; pointers) for the A100, for the A40 as the chip of the RTX A6000
and for the L40 as that of the RTX 4090; markdewing's AI_kernels (latency; indices) for the RTX 4090 and the RTX 5090;
sjfeng1999's gpu-arch-microbenchmark for an RTX 2070, and mt4g's sample results for DRAM of the RTX 2080 Ti; Huerta et al., MICRO
2025, for shared memory of the RTX A6000. Nobody measured these GPUs for simtlab; tests/timing/test_h200.py has the one that was.
"""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from tests.everyday import every

CHASES = """
extern "C" __global__ void pointers(void **p, int n, void **out) {
    #pragma unroll 8
    for (int k = 0; k < n; k++) p = (void **)*p;
    *out = p; }
extern "C" __global__ void indices(const int *a, int n, int *out) {
    int i = 0;
    #pragma unroll 8
    for (int k = 0; k < n; k++) i = a[i];
    *out = i; }
extern "C" __global__ void shared(int n, unsigned *out) {
    __shared__ unsigned s[1]; unsigned p = (unsigned)__cvta_generic_to_shared(s);
    *s = p;
    #pragma unroll 8
    for (int k = 0; k < n; k++) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
    *out = p; }
extern "C" __global__ void rate(int n, float *out) {
    float a = *out, b = a, c = a, d = a;
    #pragma unroll 8
    for (int k = 0; k < n; k++) { a = a * a + b; b = b * b + c; c = c * c + d; d = d * d + a; }
    out[1] = a + b + c + d; }
extern "C" __global__ void ffma(int n, float *out) {
    float x = 1, a = *out;
    #pragma unroll 64
    for (int k = 0; k < n; k++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a));
    *out = x; }
"""
ROWS = """
extern "C" __global__ void rows(const float *x, float *sums, int n) {
    __shared__ float part[128];
    float sum = 0;
    for (int k = threadIdx.x; k < n; k += 128) sum += x[blockIdx.x * n + k];
    part[threadIdx.x] = sum;
    for (int half = 64; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0]; }
"""
ARCHITECTURES = {"rtx2080ti": "sm_75", "a100": "sm_80", "rtxa6000": "sm_86", "rtx4090": "sm_89", "rtx5090": "sm_120"}
MEASURED = [  # cycles a step
    ("rtx2080ti", "shared", "", 23), ("rtxa6000", "shared", "", 24),
    ("rtx2080ti", "pointers", "l1", 32), ("rtx2080ti", "pointers", "l2", 236), ("rtx2080ti", "pointers", "dram", 496),
    ("a100", "pointers", "l1", 33.0), ("a100", "pointers", "l2", 205.7), ("a100", "pointers", "dram", 551),
    ("rtxa6000", "pointers", "l1", 33.0), ("rtxa6000", "pointers", "l2", 250.4), ("rtxa6000", "pointers", "dram", 555),
    ("rtx4090", "pointers", "l1", 34.0), ("rtx4090", "indices", "l1", 39.9), ("rtx4090", "indices", "l2", 296),
    ("rtx4090", "indices", "dram", 635),
    ("rtx5090", "indices", "l1", 44.1), ("rtx5090", "indices", "l2", 360.5), ("rtx5090", "indices", "dram", 930),
]  # fmt: skip
RINGS = {"l1": (64, 8 << 10), "l2": (8192, 1 << 20), "dram": (4096, 64 << 20)}  # lines, and the bytes they lie in
LINE = 128


@pytest.fixture(scope="module", params=every(2, ARCHITECTURES))
def device(request):
    return sl.Gpu(request.param, memory_bytes=1 << 29)


@cache
def chases(gpu):
    return gpu.compile(CHASES)


def ring(gpu, kind: str, lines: int, span: int):
    """Each line has the place of another, in any order."""
    size = 8 if kind == "pointers" else 4
    array = gpu.zeros(span // size, f"u{size}")
    places = np.random.default_rng(1).choice(span // LINE - 1, lines - 1, replace=False) + 1
    order = np.concatenate([[0], places]) * (LINE // size)
    values = np.zeros(span // size, f"u{size}")
    values[order] = np.roll(order, -1) * size + array.address if kind == "pointers" else np.roll(order, -1)
    array[...] = values
    return array


def chase(gpu, kind: str, level: str) -> float:
    """Cycles a step."""
    if kind == "shared":
        return chain(gpu, kind)
    out, kernel = gpu.zeros(1, "u8"), chases(gpu)[kind]
    places = ring(gpu, kind, *RINGS[level])
    for steps in (8, 1024) if level == "l2" else (8, 128):  # the instructions, and what shall be in the L2
        kernel(1, 1, [places, np.int32(steps), out])
    if level != "dram":  # a launch begins with an empty L1
        few, many = (kernel(1, 1, [places, np.int32(steps), out]).cycles for steps in (512, 1024))
        return (many - few) / 512
    few, many = (kernel(1, 1, [ring(gpu, kind, *RINGS[level]), np.int32(steps), out]).cycles for steps in (256, 768))
    return (many - few) / 512


def chain(gpu, name: str) -> float:
    out, kernel = gpu.zeros(1, "u8"), chases(gpu)[name]
    _, few, many = (kernel(1, 1, [np.int32(steps), out]).cycles for steps in (8, 512, 1024))
    return (many - few) / 512


def test_a_kernel_runs_as_machine_code_of_its_own(device):
    module = device.compile(ROWS)
    x = np.random.default_rng(3).integers(0, 99, (32, 300)).astype("f4")
    given, sums = device.array(x), device.zeros(32)
    run = module["rows"](32, 128, [given, sums, np.int32(300)])
    assert np.array_equal(sums.numpy(), x.sum(axis=1))  # whole numbers: every order gives the same sum
    assert (device.isa, "LDG.E" in module.sass, run.cycles > 500) == (ARCHITECTURES[device.machine.config.name], True, True)


def test_chases_take_what_was_measured(device):
    measured = [row for row in MEASURED if row[0] == device.machine.config.name]
    found = [(*row[:3], chase(device, *row[1:3])) for row in measured]
    assert [row[3] for row in found] == [pytest.approx(row[3], rel=0.05) for row in measured], found


def test_floats_start_at_the_rate_of_the_lanes(device):
    """16 warps a core, which is four a sub-core, and the additions and products of four chains that need each other: of both float
    pipes at least 80%."""
    config = device.machine.config
    few_cores = sl.Gpu(config.replace({"core.cores": config.core.cores_per_cluster}))
    out, kernel = few_cores.zeros(2), few_cores.compile(CHASES)["rate"]
    _, few, many = (kernel(config.core.cores_per_cluster, 512, [np.int32(steps), out]).cycles for steps in (64, 64, 256))
    lanes = (config.units.sp_units + config.units.heavy_units) * 32 / config.units.sp_mad.initiation_cycles
    assert 0.8 * lanes < 512 * 4 * 192 / (many - few) <= lanes


def test_a_dependent_multiply_add_takes_four_cycles(device):
    """And the branch of the loop once in 64 steps."""
    assert chain(device, "ffma") == pytest.approx(4.25, abs=0.1)
