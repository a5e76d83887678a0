"""MRPB: the lowest warp's requests go first, and misses in a set without a free line go around the L1 (BOOK 4.4.3)."""

import numpy as np

import simtlab as sl
from simtlab.machine.core.state import core_t
from simtlab.machine.record import new_records
from simtlab.policies.mechanism import mrpb

ROWS = """
extern "C" __global__ void rows(const float *a, float *out, int n, int pitch) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * pitch + k];
    out[i] = sum;
}
"""

SPIN = """
extern "C" __global__ void spin(volatile int *flags, int *out) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
    if (warp == blockDim.x / 32 - 1) {
        #pragma unroll 1
        for (int k = 0; k < 64; k++) sum += flags[(lane * 8 + k) % 32 * 32 + 1];
        flags[lane * 32] = 1 + sum;
    } else {
        while (flags[lane * 32] == 0);
    }
    out[threadIdx.x] = flags[lane * 32];
}
"""
ONE_SET = 1024  # elements, or 32 sets of lines, from one row to the next


def rows(threads: int, n: int, pitch: int = 32, **policies) -> sl.Run:
    """Each thread adds up n elements of a row of its own: each load of a warp touches 32 lines, and 32 loads the same ones."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1, "l1d.index": "linear"}, **policies)
    a = np.arange(threads * pitch, dtype=np.float32).reshape(threads, pitch) % 7
    out = gpu.zeros(threads)
    run = gpu.compile(ROWS)["rows"](max(threads // 256, 1), min(threads, 256), [gpu.array(a), out, n, pitch])
    assert np.array_equal(out.numpy(), a[:, :n].sum(1))
    return run


def order_of_service(warps: list[int], reorder: int = 1, cycle: int = 100) -> list[int]:
    """The places in the queue, in order of arrival, as they are served; each was issued a cycle after the last, from 0 on."""
    core, own = new_records(1, core_t)[0], np.zeros(1, mrpb.state).view(np.recarray)[0]
    own.reorder, own.patience, left = reorder, 1000, list(range(len(warps)))
    core.ldst_queue.limit, served = 16, []
    for op, warp in enumerate(warps):
        core.ops[op].slot, core.ops[op].issued = warp, op
    while left:
        core.ldst_queue.items[: len(left)] = left
        served.append(left.pop(mrpb.ldst_queue_next.function(core, own, len(left), cycle)))
    return served


def test_the_lowest_warps_queue_is_drained_first_and_each_in_order_of_arrival():
    """Six instructions came from warps 5, 2, 7, 2, 0, 5: warp 0's goes first, then both of warp 2, of warp 5, that of warp 7."""
    assert order_of_service([5, 2, 7, 2, 0, 5]) == [4, 1, 3, 0, 5, 2]


def test_without_reordering_they_are_served_as_they_came():
    assert order_of_service([5, 2, 7, 2, 0, 5], reorder=0) == [0, 1, 2, 3, 4, 5]


def test_those_that_have_waited_too_long_go_first_in_order_of_issue():
    """After 1,002 cycles that is so of the two issued first."""
    assert order_of_service([5, 2, 7, 2, 0, 5], cycle=1002) == [0, 1, 4, 3, 5, 2]


def test_warps_that_spin_do_not_keep_the_one_they_wait_for_from_the_l1():
    """18 warps read 32 lines over and over, which keeps the L1 busy, until the last warp, after 64 loads, writes them."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1}, max_cycles=2_000_000, mechanism="mrpb,patience=1000")
    out = gpu.zeros(608, np.int32)
    gpu.compile(SPIN)["spin"](1, 608, [gpu.zeros(1024, np.int32), out])
    assert (out.numpy() == 1).all()


def test_reordering_keeps_the_lines_of_the_lowest_warps_in_a_cache_that_all_of_them_thrash():
    """16 warps with 32 lines each share an L1 of 128 lines: in turn, nobody ever hits; warp by warp, most of them do."""
    plain, alone = rows(512, 32), rows(512, 32, mechanism="mrpb,bypass=0")
    assert plain.counters["l1_hits"] == 0
    assert alone.counters["l1_hits"] > 4000
    assert alone.counters["mechanism.mrpb.reordered"] > 100
    assert alone.counters["mechanism.mrpb.bypassed"] == 0
    assert alone.cycles < 0.8 * plain.cycles
    assert rows(512, 32, mechanism="mrpb").cycles < 0.8 * plain.cycles


def test_bypassing_lets_32_misses_to_one_set_go_at_once():
    """One warp's 32 lines are all of one set of four: without it four are in flight at a time, and eight trips make a load."""
    plain, alone = rows(32, 128, ONE_SET), rows(32, 128, ONE_SET, mechanism="mrpb,reorder=0")
    assert plain.counters["l1_fail_tag"] > 100 * alone.counters["l1_fail_tag"]
    assert alone.counters["mechanism.mrpb.bypassed"] > 3000
    assert alone.cycles < 0.4 * plain.cycles
    both = rows(32, 128, ONE_SET, mechanism="mrpb")
    assert both.cycles == alone.cycles


def test_one_warp_whose_lines_have_room_is_left_as_it_is():
    plain, mechanism = rows(32, 4), rows(32, 4, mechanism="mrpb")
    assert mechanism.cycles == plain.cycles
    assert mechanism.counters["mechanism.mrpb.reordered"] == mechanism.counters["mechanism.mrpb.bypassed"] == 0
