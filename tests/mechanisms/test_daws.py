"""Divergence-aware warp scheduling: predictions that fit, by hand; rows that each lane walks along for itself; loops left alone."""

import numpy as np

import simtlab as sl
from tests.mechanisms.records import Example

ROWS = r"""
extern "C" __global__ void rows(const float *in, float *out, const int *length, int row) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, n = length[thread];
    float sum = 0;
    for (int k = 0; k < n; k++) sum += in[thread * row + k];
    out[thread] = sum;
}
extern "C" __global__ void columns(const float *in, float *out, const int *length, int row) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, n = length[thread];
    float sum = 0;
    for (int k = 0; k < n; k++) sum += in[k * 1024 + thread];
    out[thread] = sum;
}
extern "C" __global__ void gather(const float *in, float *out, int turns) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32, lane = threadIdx.x % 32;
    float sum = 0;
    #pragma unroll 1
    for (int k = 0; k < turns; k++) sum += in[warp * 96 + lane % 3 * 32 + k];
    out[thread] = sum;
}
"""
ROW = 64


def sums(kernel, lanes=32, **policies):
    """32 warps on one core add up rows of 64 numbers; of each warp the first lanes do, the others stop after one number."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, **policies)
    data = (np.arange(1024 * ROW) % 13).astype(np.float32)
    length = np.where(np.arange(1024) % 32 < lanes, ROW, 1).astype(np.int32)
    out = gpu.zeros(1024)
    run = gpu.compile(ROWS)[kernel](4, 256, [gpu.array(data), out, gpu.array(length), ROW])
    rows = data.reshape(1024, ROW) if kernel == "rows" else data.reshape(ROW, 1024).T
    assert np.array_equal(out.numpy(), np.where(np.arange(ROW) < length[:, None], rows, 0).sum(1))
    return run


def test_the_oldest_warps_that_fit_together_load():
    """An L1 of 8 lines, four warps whose loops want 4 lines each: two fit. When three lanes of warp 0 have left, three more lines
    are free, which are not enough for warp 2; at a barrier warp 1 wants none."""
    example = Example("daws", warps=4, share=100)
    core, own = example.core, example.own
    own.lines[:4] = 4
    example.tell("on_tick", 1, cycle=32)
    assert (own.held, own.throttled) == (0b1100, 2 * 32)
    own.lines[0] = 1
    example.tell("on_tick", 2, cycle=64)
    assert own.held == 0b1100
    core.barrier = 0b0010
    example.tell("on_tick", 3, cycle=96)
    assert own.held == 0b1000
    own.lines[0] = 100
    example.tell("on_tick", 4, cycle=128)
    assert own.held == 0b1100  # one may load, however much it wants


def test_a_warp_that_does_not_fit_goes_first_in_turn():
    example = Example("daws", warps=4, share=100, relief=2)
    own = example.own
    own.lines[:4] = 8
    seen = []
    for tick in range(1, 9):
        example.tell("on_tick", tick, cycle=32 * tick)
        seen.append(int(own.held))
    assert seen == [0b1110, 0b1101, 0b1101, 0b1011, 0b1011, 0b0111, 0b0111, 0b1110]


def test_rows_that_thrash_gain_and_more_than_with_lost_locality():
    """A warp's 32 lanes each use a line 32 times; four warps fill the L1, and 32 warps without the mechanism hit hardly ever. It
    knows after the first turns, where ccws has to lose locality first and forgets."""
    without, run = sums("rows", warp_scheduler="gto"), sums("rows", warp_scheduler="gto", mechanism="daws")
    assert run.cycles < 0.5 * without.cycles
    assert without.counters["l1_hits"] < 1_000
    assert run.counters["l1_hits"] > 40_000
    assert min(run.counters["mechanism.daws.predicted"], run.counters["mechanism.daws.throttled"]) > 0
    assert run.cycles < sums("rows", warp_scheduler="gto", mechanism="ccws").cycles


def test_it_gains_with_a_two_level_scheduler():
    assert sums("rows", mechanism="daws").cycles < 0.5 * sums("rows").cycles


def test_few_active_lanes_want_few_lines():
    """The same loop with one lane a warp: 32 lines, of which the L1 has 128, so that nobody is held back."""
    without, run = sums("rows", lanes=1), sums("rows", lanes=1, mechanism="daws")
    assert run.cycles == without.cycles
    assert run.counters["mechanism.daws.predicted"] > 0
    assert run.counters["mechanism.daws.throttled"] == 0


def test_a_loop_that_uses_no_line_again_is_left_alone():
    without, run = sums("columns"), sums("columns", mechanism="daws")
    assert run.cycles == without.cycles
    assert run.counters["mechanism.daws.predicted"] == run.counters["mechanism.daws.throttled"] == 0


def test_a_gather_from_few_lines_wants_no_more_than_those():
    """The 32 lanes of each of 32 warps read from three lines, again and again: 96 lines, which fit, so that nobody is held back."""
    runs = []
    for policies in ({}, {"mechanism": "daws"}):
        gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, **policies)
        data, out = (np.arange(32 * 96) % 13).astype(np.float32), gpu.zeros(1024)
        runs.append(gpu.compile(ROWS)["gather"](4, 256, [gpu.array(data), out, 32]))
        sums_of_lines = data.reshape(32, 3, 32).sum(2)
        assert np.array_equal(out.numpy().reshape(32, 32), sums_of_lines[:, np.arange(32) % 3])
    without, run = runs
    assert run.counters["mechanism.daws.predicted"] > 0
    assert run.counters["mechanism.daws.throttled"] == 0
    assert run.cycles == without.cycles
