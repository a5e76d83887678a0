"""Cache-conscious warp scheduling: BOOK Fig 5.1 by hand, a loop that thrashes, one that fits, and every kind of scheduler."""

import numpy as np
import pytest

import simtlab as sl
from tests.mechanisms.records import Example

WALK = r"""
extern "C" __global__ void walk(const float *in, float *out, int lines) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const float *mine = in + thread / 32 * lines * 32 + thread % 32;
    float sum = 0;
    for (int turn = 0; turn < 20; turn++)
        for (int line = 0; line < lines; line++) sum += mine[line * 32];
    out[thread] = sum;
}
extern "C" __global__ void tiles(const float *in, float *out) {
    __shared__ float tile[256];
    float sum = 0;
    #pragma unroll 1
    for (int step = 0; step < 16; step++) {
        tile[threadIdx.x] = in[(blockIdx.x * 256 + threadIdx.x) * 16 + step];
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""


def walk(lines, **policies):
    """Each of 64 warps, 32 on a core, walks twenty times through lines of its own."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 2}, **policies)
    data = np.arange(64 * lines * 32, dtype=np.float32) % 61
    out = gpu.zeros(2048)
    run = gpu.compile(WALK)["walk"](8, 256, [gpu.array(data), out, lines])
    assert np.array_equal(out.numpy(), 20 * data.reshape(64, lines, 32).sum(1).reshape(-1))
    return run


def test_lost_locality_of_warp_0_holds_warp_3_back_until_its_score_has_fallen():
    """BOOK Fig 5.1: four warps of score 100, cutoff 400. One lost line in 16 instructions: 1/16 x 8 x 400 = 200."""
    example = Example("ccws", warps=4)
    core, own = example.core, example.own
    for warp in (0, 1, 2, 3) * 4:
        example.tell("on_issue", warp)
    example.tell("on_tick", 0)
    assert own.allowed == 0b1111

    core.l1d.tags[5], core.l1d.owner["warp"][5] = 77, 0
    example.tell("on_l1_evict", 5, cycle=10)
    core.ops["slot"][9], core.ops["lines"][9][0] = 1, 77 * 128
    example.tell("on_l1_miss", 9, cycle=20)
    assert (own.lost, own.allowed) == (0, 0b1111)  # warp 1 misses the line, but it was warp 0 that had it

    core.ops["slot"][9] = 0
    example.tell("on_l1_miss", 9, cycle=20)
    assert (own.lost, own.warp["score"][0], own.allowed) == (1, 200, 0b0111)  # 200 + 100 + 100: warp 3 begins at the cutoff
    example.tell("on_l1_miss", 9, cycle=20)
    assert own.lost == 1  # a victim is found once
    example.tell("on_tick", 1, cycle=21)
    assert own.allowed == 0b1111  # 199 + 100 + 100: it begins below the cutoff again


def test_a_warp_that_ends_takes_its_lost_lines_with_it():
    example = Example("ccws", warps=4)
    own = example.own
    own.issued, own.lost_now, own.warp["issued"][0], own.warp["lost"][0], own.warp["score"][0] = 40, 7, 10, 7, 900
    example.tell("on_warp_end", 0)
    assert (own.issued, own.lost_now, own.warp["score"][0]) == (30, 0, 0)


@pytest.mark.parametrize("scheduler", ["gto", "lrr", "two-level"])
def test_a_loop_that_thrashes_gains(scheduler):
    """8 lines a warp are twice the L1, and used in a circle: without the mechanism hardly an access hits."""
    without, run = walk(8, warp_scheduler=scheduler), walk(8, warp_scheduler=scheduler, mechanism="ccws")
    assert without.counters["l1_hits"] < 100
    assert run.counters["l1_hits"] > 8_000
    assert run.cycles < 0.93 * without.cycles
    assert min(run.counters["mechanism.ccws.lost"], run.counters["mechanism.ccws.throttled"]) > 0


def test_it_comes_near_the_best_static_limit():
    """16 warps of 8 lines fill the L1; the mechanism finds that by itself."""
    best = walk(8, warp_scheduler="static-limit,warps=16")
    assert walk(8, warp_scheduler="gto", mechanism="ccws").cycles < 1.1 * best.cycles


def test_a_loop_that_fits_is_left_alone():
    without, run = walk(2, warp_scheduler="gto"), walk(2, warp_scheduler="gto", mechanism="ccws")
    assert run.cycles == without.cycles
    assert run.counters["mechanism.ccws.lost"] == run.counters["mechanism.ccws.throttled"] == 0


def tiles(**policies):
    """Six CTAs, each of which would fill the L1, meet at barriers."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, **policies)
    data, out = (np.arange(1536 * 16) % 61).astype(np.float32), gpu.zeros(1536)
    run = gpu.compile(WALK)["tiles"](6, 256, [gpu.array(data), out])
    assert np.array_equal(out.numpy(), data.reshape(6, 256, 16).sum(2)[:, ::-1].reshape(-1))
    return run


@pytest.mark.parametrize("mechanism", ["ccws", "daws", "mascar"])
@pytest.mark.parametrize("scheduler", ["gto", "two-level"])
def test_nobody_waits_long_at_a_barrier_for_warps_that_are_held_back(mechanism, scheduler):
    run, without = tiles(warp_scheduler=scheduler, mechanism=mechanism), tiles(warp_scheduler=scheduler)
    assert run.cycles < 1.5 * without.cycles
