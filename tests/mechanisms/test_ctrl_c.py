"""Ctrl-C: loads whose lines are not used again go around the L1, as a control loop for each load says (BOOK 4.4.3)."""

import numpy as np

import simtlab as sl
from simtlab.machine.core.state import core_t
from simtlab.machine.record import new_records
from simtlab.policies.mechanism import ctrl_c

KERNELS = """
extern "C" __global__ void table_and_stream(const int *table, const float *stream, float *out, int n) {
    int i = threadIdx.x, warp = i / 32, lane = i % 32;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        int swapped = i ^ table[(k + warp * 6) % 96 * 32 + lane];
        sum += stream[k * blockDim.x + swapped];
    }
    out[i] = sum;
}
extern "C" __global__ void again(const float *a, float *out, int lines, int n) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0;
    for (int r = 0; r < n; r++)
        for (int k = 0; k < lines; k++) sum += a[(warp * lines + k) * 32 + lane];
    out[threadIdx.x] = sum;
}
"""
THREADS = np.arange(512)


def table_and_stream(n: int = 256, **policies) -> sl.Run:
    """16 warps read a table of 96 lines, each from another place on, and after each line one that nobody reads again."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1}, **policies)
    table, stream = np.arange(96 * 32, dtype=np.int32) // 5 % 4, np.arange(n * 512, dtype=np.float32).reshape(n, 512) % 7
    out = gpu.zeros(512)
    run = gpu.compile(KERNELS)["table_and_stream"](1, 512, [gpu.array(table), gpu.array(stream), out, n])
    lines = ((k + THREADS // 32 * 6) % 96 for k in range(n))
    assert np.array_equal(out.numpy(), sum(stream[k, THREADS ^ table[line * 32 + THREADS % 32]] for k, line in enumerate(lines)))
    return run


def again(lines: int, n: int = 8, **policies) -> sl.Run:
    """16 warps, each of which reads lines of its own over and over."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1}, **policies)
    a, out = np.arange(512 * lines, dtype=np.float32).reshape(16, lines, 32) % 7, gpu.zeros(512)
    run = gpu.compile(KERNELS)["again"](1, 512, [gpu.array(a), out, lines, n])
    assert np.array_equal(out.numpy(), n * a.sum(1).ravel())
    return run


def level_after(uses_of_lines: list[int], level: int = 0) -> int:
    """The level of a load whose lines are evicted after so many uses each, with the default parameters."""
    core, own = new_records(1, core_t)[0], np.zeros(1, ctrl_c.state).view(np.recarray)[0]
    for name, value in ctrl_c.parameters.items():
        own[name] = value
    own.load[7].level = level
    core.l1d.owner[3].pc = 7
    for uses in uses_of_lines:
        core.l1d.owner[3].uses = uses
        ctrl_c.on_l1_evict.function(core, own, 3, 0)
    assert not any(own.load[k].level for k in range(ctrl_c.LOADS) if k != 7)
    return int(own.load[7].level)


def test_the_level_rises_with_each_sample_of_lines_without_enough_uses_and_falls_with_others():
    assert level_after([0] * 15) == 0
    assert level_after([0] * 16) == 5
    assert level_after([1] * 7 + [0] * 9) == 5  # 44 uses for each hundred lines: not 50
    assert level_after([1] * 8 + [0] * 8) == 0
    assert level_after([0] * 16 * 9) == 15  # never all sixteen sixteenths
    assert level_after([1] * 16, level=15) == 10
    assert level_after([0] * 16 + [4] * 16) == 0


def test_a_stream_goes_around_the_l1_and_leaves_a_table_in_it():
    """The table is three quarters of the L1, but by the time a line of it is wanted again the stream has evicted
    it, and a trip to the L2 comes before each to DRAM."""
    plain, mechanism = table_and_stream(), table_and_stream(mechanism="ctrl-c")
    assert mechanism.counters["l1_hits"] > 3 * plain.counters["l1_hits"]
    assert mechanism.counters["mechanism.ctrl-c.bypassed"] > 2500  # of the stream's 4,096
    assert mechanism.cycles < 0.9 * plain.cycles


def test_of_reuse_beyond_the_cache_a_part_is_kept():
    """Twice the lines that the L1 has, in order: least recently used, none is ever there; with most of them bypassed, some are."""
    plain, mechanism = again(16), again(16, mechanism="ctrl-c")
    assert plain.counters["l1_hits"] == 0
    assert mechanism.counters["l1_hits"] > 300
    assert mechanism.cycles < plain.cycles


def test_lines_that_fit_are_left_alone():
    plain, mechanism = again(4), again(4, mechanism="ctrl-c")
    assert mechanism.cycles == plain.cycles
    assert mechanism.counters["mechanism.ctrl-c.bypassed"] == mechanism.counters["mechanism.ctrl-c.raised"] == 0


def test_a_load_is_tried_again_after_a_while():
    """With a short period levels fall as fast as they rise, and the stream stays in the L1 more often."""
    seldom, often = (table_and_stream(mechanism=f"ctrl-c,period={period}") for period in (4096, 256))
    assert often.counters["mechanism.ctrl-c.bypassed"] < 0.9 * seldom.counters["mechanism.ctrl-c.bypassed"]
