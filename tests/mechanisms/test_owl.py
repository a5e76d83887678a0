"""OWL: which CTAs go first in which core, and what that gains where the L1 is too small for all of them, or a bank too slow."""

import numpy as np
import pytest

import simtlab as sl

KERNELS = """
#define MORE a0 = a0 * c + v; a1 = a1 * c + v; a2 = a2 * c + v; a3 = a3 * c + v; \\
             a4 = a4 * c + v; a5 = a5 * c + v; a6 = a6 * c + v; a7 = a7 * c + v;
extern "C" __global__ void words(const float *in, float *out, int turns, float c)
{   // a warp reads eight lines, a word of each after the other
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7;
#pragma unroll 1
    for (int k = 0; k < 8 * turns; k++) {
        float v = in[((k >> 3) * n + t) * 8 + (k & 7)];
        MORE MORE
    }
    out[t] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
}

extern "C" __global__ void when_done(long long *ends, int *cores, int turns)
{
    int sum = 0, core;
#pragma unroll 1
    for (int k = 0; k < turns; k++)
        sum = sum * 5 + k;
    __syncthreads();
    asm("mov.u32 %0, %%smid;" : "=r"(core));
    cores[blockIdx.x] = core;
    ends[blockIdx.x] = clock64() + (sum == 12345);
}

extern "C" __global__ void tiles(const float *in, float *out, float c, int tiles, int down, int right, int rounds, int turns)
{   // the tiles of a strip of 256 columns, a CTA each, lie so far apart; a warp computes and adds a line of every eighth row
    int strip = blockIdx.x / tiles, tile = blockIdx.x % tiles, row = tile * down + threadIdx.x / 32;
    int column = strip * 256 + tile * right + threadIdx.x % 32;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        float x = 2;
#pragma unroll 1
        for (int turn = 0; turn < turns; turn++)
            x = x * c + 1;
        sum += x * in[(row + 8 * k) * 4096 + column];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
THREADS = 256  # eight warps: a group is one CTA


# A row of a bank is 1 KB, the next 1 KB is in the next of sixteen banks: of a matrix with 4,096 columns each 256 have a bank.
ONE_CHANNEL = {"dram.channels": 1, "l2.slices": 1, "l2.slices_per_channel": 1, "dram.row_bytes": 1024}


def device(policy: str, cores: int, changes: dict | None = None) -> sl.Gpu:
    chosen = {"mechanism": policy} if policy else {}
    return sl.Gpu("gtx480", set={"core.cores": cores, **(changes or {})}, memory_bytes=1 << 26, **chosen)


def counted(run, name: str) -> int:
    return run.counters[f"mechanism.owl.{name}"]


def order_of_ends(policy: str) -> list[list[int]]:
    """The CTAs of each of two cores, all resident, in the order in which they end."""
    gpu = device(policy, 2)
    ends, cores = gpu.zeros(8, "i8"), gpu.zeros(8, "i4")
    gpu.compile(KERNELS)["when_done"](8, THREADS, [ends, cores, np.int32(200)])
    return [sorted(np.flatnonzero(cores.numpy() == core).tolist(), key=lambda cta: ends.numpy()[cta]) for core in range(2)]


def test_the_first_group_of_a_core_goes_first_until_it_is_done():
    """CTAs go to cores in turns: those side by side are in cores side by side, and are first there at the same time."""
    assert order_of_ends("owl,banks=0") == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_for_parallel_banks_cores_begin_with_different_groups():
    """Core 1 begins with its second CTA: 0 and 3 run together, not 0 and 1. Its first comes after all that fit."""
    assert order_of_ends("owl") == [[0, 2, 4, 6], [3, 5, 7, 1]]


def test_a_group_has_enough_ctas_for_its_warps():
    """Of CTAs of eight warps, two make a group of at least nine: they end together, before the two after them begin in earnest."""
    first, second = order_of_ends("owl,banks=0,warps=9")
    assert sorted(first[:2]) == [0, 2]
    assert sorted(second[:2]) == [1, 3]


def words(policy: str, cores: int = 2, ctas: int = 24):
    gpu = device(policy, cores)
    threads, turns = ctas * THREADS, 2
    out = gpu.zeros(threads, "f4")
    values = gpu.array(np.ones(8 * turns * threads, "f4"))
    run = gpu.compile(KERNELS)["words"](ctas, THREADS, [values, out, np.int32(turns), np.float32(0.5)])
    sums = np.arange(8, dtype="f4")
    for _ in range(2 * 8 * turns):
        sums = sums * np.float32(0.5) + np.float32(1)
    assert np.allclose(out.numpy(), sums.sum())
    return run


def test_fewer_ctas_at_a_time_keep_their_lines():
    """The 48 warps of a core use 384 lines and the L1 has 128: in round robin a line is evicted before its next word is read. A CTA
    that goes first keeps its 64."""
    plain, run = words("", cores=4, ctas=48), words("owl", cores=4, ctas=48)
    assert run.cycles < 0.92 * plain.cycles
    assert run.counters["l1_hits"] > 1.1 * plain.counters["l1_hits"]
    assert counted(run, "held_back") > 1000
    assert counted(run, "switches") == counted(run, "asked") == 0


def test_groups_without_locality_take_turns():
    plain, run = words(""), words("owl,locality=0,banks=0")
    assert run.cycles < plain.cycles
    assert counted(run, "switches") > 50


def test_the_prefetcher_fetches_so_many_lines_after_a_miss():
    run = words("owl,prefetch=2", cores=1, ctas=1)
    assert counted(run, "asked") == 2 * (run.counters["l1_misses"] + run.counters["l1_hits_reserved"])
    assert run.counters["prefetches_issued"] > 0


def tiles(policy: str, cores: int = 8, share_rows: bool = False, turns: int = 16):
    """Six strips of a matrix, each with a tile for every core, so that the first CTAs of all cores are one strip, and so on. The
    tiles of a strip are below one another, or side by side in the same rows."""
    rounds, rows, columns = 8, 1 if share_rows else cores, 32 if share_rows else 0
    gpu = device(policy, cores, ONE_CHANNEL)
    values = np.random.default_rng(1).integers(0, 100, (rows, rounds, 8, 16, 256)).astype("f4")
    out = gpu.zeros((6, cores, 8, 32), "f4")
    numbers = [np.int32(n) for n in (cores, 0 if share_rows else 8 * rounds, columns, rounds, turns)]
    run = gpu.compile(KERNELS)["tiles"](6 * cores, THREADS, [gpu.array(values), out, np.float32(0.5), *numbers])
    sums = 2 * values.sum(axis=1)
    for tile in range(cores):
        wanted = sums[tile % rows, :, :6, columns * tile :][:, :, :32]
        np.testing.assert_array_equal(out.numpy()[:, tile], wanted.swapaxes(0, 1))
    return run


def test_cores_that_begin_with_different_groups_keep_more_banks_busy():
    """The CTAs of a strip read rows of their own in one bank: it serves them one after the other if all cores begin with the first
    strip. Rows are never found open: the gain is that of banks that work at once."""
    plain, one_bank, banks = tiles(""), tiles("owl,banks=0"), tiles("owl")
    assert banks.cycles < 0.85 * one_bank.cycles
    assert banks.cycles < 0.9 * plain.cycles
    assert all(run.counters["dram_row_conflicts"] > 0.99 * run.counters["dram_reads"] for run in (plain, one_bank, banks))


def test_rows_that_cores_share_are_found_open_less_often():
    """The CTAs of a strip read the same rows. At one pace they find them open; spread over the strips they do so less often, and
    nothing is gained, for the open rows of one bank keep the bus as busy."""
    one_bank, banks = (tiles(policy, share_rows=True, turns=8) for policy in ("owl,banks=0", "owl"))
    assert banks.counters["dram_row_conflicts"] > 1.3 * one_bank.counters["dram_row_conflicts"]
    assert banks.cycles == pytest.approx(one_bank.cycles, rel=0.05)


def test_one_core_has_no_other_to_keep_away_from():
    assert tiles("owl", 1).cycles == tiles("owl,banks=0", 1).cycles


def test_a_single_cta_runs_as_without_it():
    """There is one group."""
    plain, run = words("", cores=1, ctas=1), words("owl", cores=1, ctas=1)
    assert run.cycles == plain.cycles
    assert counted(run, "held_back") == 0
