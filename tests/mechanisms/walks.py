"""Kernels that walk over lines of 128 bytes, each load waiting for the one before, on machines with few cores."""

import numpy as np

import simtlab as sl
from tests.timing.machines import HEAD

LINE = 128
ONE_SET = {"core.cores": 1, "shared_memory.shares_l1": False, "l1d.bytes": 4 * LINE, "l1d.ways": 4}  # the L1: four lines, one set
WALK = """
extern "C" __global__ void walk(const int *x, int *sums, int lines, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, warp = t / 32, sum = 0, k = 0;
    for (int round = 0; round < rounds; round++)
        for (int line = 0; line < lines; line++) {
            k = x[(warp * lines + line) * 32 + threadIdx.x % 32 + sum * 0 + (k & 0x40000000)];
            sum += k;
        }
    sums[t] = sum;
}
"""


def in_turn(gpu: sl.Gpu, letters: str) -> sl.Run:
    """One warp loads the lines A, B, C, ... of an array of zeros, each load's address made with what the last one read."""
    loads = "".join(
        f"ld.global.u32 %r1, [%d1 + {LINE * (ord(letter) - ord('A'))}]; cvt.u64.u32 %d2, %r1; add.u64 %d1, %d1, %d2;\n"
        for letter in letters
    )
    head = "ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1;\n"
    text = f"{HEAD}.visible .entry k(.param .u64 a) {{ .reg .b32 %r<4>; .reg .b64 %d<4>;\n{head}{loads}ret; }}"
    return gpu.load(text)["k"](1, 32, [gpu.zeros(32 * 26, np.uint32)])


def walk(gpu: sl.Gpu, warps: int, lines: int, rounds: int, threads: int = 32) -> sl.Run:
    """Each warp goes `rounds` times over `lines` lines of its own; the sums are checked."""
    x = np.arange(warps * lines * 32, dtype=np.int32) % 1000
    sums = gpu.zeros(warps * 32, np.int32)
    run = gpu.compile(WALK)["walk"](warps * 32 // threads, threads, [gpu.array(x), sums, lines, rounds])
    np.testing.assert_array_equal(sums.numpy(), rounds * x.reshape(warps, lines, 32).sum(axis=1).ravel())
    return run


ROWS = """
extern "C" __global__ void rows(const int *x, int *sums, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < 32; k++)
            sum += x[t * 32 + k];
    sums[t] = sum;
}
"""


def rows(gpu: sl.Gpu, warps: int, threads: int = 256, rounds: int = 1) -> sl.Run:
    """Each thread sums the 32 words of a line of its own: a warp uses 32 lines 32 times; the sums are checked."""
    x = np.arange(warps * 32 * 32, dtype=np.int32) % 1000
    sums = gpu.zeros(warps * 32, np.int32)
    run = gpu.compile(ROWS)["rows"](warps * 32 // threads, threads, [gpu.array(x), sums, rounds])
    np.testing.assert_array_equal(sums.numpy(), rounds * x.reshape(-1, 32).sum(axis=1))
    return run


MIX = """
extern "C" __global__ void mix(const int *table, const int *stream, int *sums, int lines, int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, warp = t / 32, lane = t % 32, sum = 0;
    #pragma unroll 1
    for (int r = 0; r < rounds; r++) {
        if (r % 2 == 0) sum += stream[(warp * rounds + r) / 2 * 32 + lane];
        sum += 3 * table[(r / 2 % lines) * 32 + lane + (sum & 0x40000000)];
    }
    sums[t] = sum;
}
"""


def mix(gpu: sl.Gpu, lines: int, rounds: int, warps: int = 1) -> sl.Run:
    """Each warp reads a new line and then one of a table's twice, again and again; the sums are checked."""
    random = np.random.default_rng(1)
    table, stream = random.integers(0, 1000, (lines, 32), np.int32), random.integers(0, 1000, (warps, rounds // 2, 32), np.int32)
    sums = gpu.zeros((warps, 32), np.int32)
    run = gpu.compile(MIX)["mix"](warps, 32, [gpu.array(table), gpu.array(stream), sums, lines, rounds])
    np.testing.assert_array_equal(sums.numpy(), stream.sum(axis=1) + 3 * table[np.arange(rounds) // 2 % lines].sum(axis=0))
    return run


FLAG = """
extern "C" __global__ void flag(volatile int *set, int *y) {
    int warp = threadIdx.x / 32;
    if (warp + 1 == blockDim.x / 32) *set = 7;
    else while (*set == 0) {}
    y[threadIdx.x] = *set;
}
"""


def wait_for_the_youngest(gpu: sl.Gpu) -> sl.Run:
    """All warps but the last spin until that one has set a flag."""
    y = gpu.zeros(256, np.int32)
    run = gpu.compile(FLAG)["flag"](1, 256, [gpu.zeros(1, np.int32), y])
    assert (y.numpy() == 7).all()
    return run
