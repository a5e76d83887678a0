"""Prefetch-aware warp groups: who is in a group, what is prefetched for whom, and that both parts are needed."""

import numpy as np
import pytest

import simtlab as sl

KERNELS = """
#define MORE a0 = a0 * c + v; a1 = a1 * c + v; a2 = a2 * c + v; a3 = a3 * c + v; \\
             a4 = a4 * c + v; a5 = a5 * c + v; a6 = a6 * c + v; a7 = a7 * c + v;
extern "C" __global__ void stream(const float *in, float *out, int turns, float c)
{   // a line for each warp and turn, neighbours beside one another
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7;
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        float v = in[k * n + t];
        MORE MORE MORE MORE
    }
    out[t] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
}
"""


def stream(policy: str, threads: int = 512, turns: int = 8):
    chosen = {"mechanism": policy} if policy else {}
    gpu = sl.Gpu("gtx480", set={"core.cores": 1}, memory_bytes=1 << 26, **chosen)
    out = gpu.zeros(threads, "f4")
    values = np.ones(turns * threads, "f4")
    block = min(threads, 256)
    run = gpu.compile(KERNELS)["stream"](threads // block, block, [gpu.array(values), out, np.int32(turns), np.float32(0.5)])
    sums = np.arange(8, dtype="f4")
    for _ in range(4 * turns):
        sums = sums * np.float32(0.5) + np.float32(1)
    assert np.allclose(out.numpy(), sums.sum())
    return gpu, run


def counted(run, name: str) -> int:
    return run.counters[f"mechanism.prefetch-groups.{name}"]


def members(gpu) -> list[list[int]]:
    groups = gpu.machine._own["mechanism"][0].members
    return [[w for w in range(64) if int(warps) >> w & 1] for warps in groups if warps]


def test_neighbouring_warps_are_in_different_groups():
    """Three groups of a core of 48 warps; without the spread, as two-level scheduling has them."""
    assert members(stream("prefetch_groups")[0]) == [list(range(first, 48, 3)) for first in range(3)]
    assert members(stream("prefetch_groups,spread=0")[0]) == [list(range(16 * k, 16 * k + 16)) for k in range(3)]


@pytest.mark.parametrize("misses", [1, 2, 3])
def test_the_rest_of_a_block_is_prefetched_once_enough_of_it_has_missed(misses):
    """One group and a turn: sixteen warps miss four blocks of four lines. After `misses` of a block the rest is asked for."""
    _, run = stream(f"prefetch_groups,groups=1,misses={misses}", turns=1)
    assert counted(run, "asked") == 4 * (4 - misses)


def test_groups_and_prefetches_gain_together():
    """In round robin all warps reach the load together, and the core has nothing to do until the data come. Groups reach it one
    after the other, and find what the group before has prefetched; with neighbours in a group it comes too late."""
    cycles = {policy: stream(policy)[1].cycles for policy in ("", "prefetch_groups", "prefetch_groups,spread=0")}
    assert cycles["prefetch_groups"] < 0.93 * cycles[""]
    assert cycles["prefetch_groups"] < cycles["prefetch_groups,spread=0"]


def test_groups_alone_hide_latency_and_prefetch_nothing():
    plain, run = stream("")[1], stream("prefetch_groups,prefetch=0")[1]
    assert run.cycles < 0.97 * plain.cycles
    assert counted(run, "asked") == 0
    assert counted(run, "switches") > 5
    assert counted(run, "held_back") > 100


def test_a_warp_alone_runs_as_without_it():
    """One warp has no others to wait for, and misses one line of a block at a time."""
    plain, run = stream("", threads=32, turns=2)[1], stream("prefetch_groups,misses=3", threads=32, turns=2)[1]
    assert run.cycles == plain.cycles
    assert counted(run, "held_back") == counted(run, "asked") == 0
