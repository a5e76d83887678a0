"""The L0 instruction caches: one core of an H200 that executes PTX, whose lines hold 16 instructions of 8 bytes."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import kernel

A_LINE = 16  # instructions
USUAL = {"core.cores": 1, "core.isa": "ptx", "core.launch_cycles": 0, "core.finish_cycles": 0, "l1i.launch_lines": 64,
         "l1i.line_cycles": 0, "l1i.prefetch_lines": 0}  # fmt: skip


def ran(instructions: int, warps: int = 1, **changes):
    """Straight-line code of additions, whose lines the L1 has; keys of l1i are given by their names."""
    device = sl.Gpu("h200", set=USUAL | {f"l1i.{key}": value for key, value in changes.items()}, memory_bytes=1 << 20)
    body = "".join(f"add.u32 %r{k % 8}, %r{k % 8}, {k};\n" for k in range(instructions - 1))  # and RET
    return kernel(device, body)(1, 32 * warps, [np.uint64(0)] * 2)


@pytest.mark.parametrize("latency", [10, 30])
def test_the_first_line_takes_as_long_as_the_l1_needs(latency):
    short, long = (ran(8, l0_miss_cycles=cycles) for cycles in (1, 1 + latency))
    assert long.cycles - short.cycles == latency
    assert (long.counters["l0i_misses"], long.counters["l1i_misses"]) == (1, 0)


def test_without_a_prefetcher_every_line_does():
    lines = 12
    short, long = (ran(lines * A_LINE, l0_miss_cycles=cycles, l0_line_cycles=0, l0_prefetch_lines=0) for cycles in (11, 31))
    assert long.cycles - short.cycles == lines * 20
    assert long.counters["l0i_misses"] == lines


def test_a_stream_prefetcher_hides_all_but_the_first():
    lines = 12
    short, long = (ran(lines * A_LINE, l0_miss_cycles=cycles, l0_line_cycles=1, l0_prefetch_lines=8) for cycles in (1, 21))
    assert long.cycles - short.cycles == 20
    of_kernel = -(-len(long.program.lowered) // A_LINE)
    assert (long.counters["l0i_misses"], long.counters["l1i_hits"]) == (1, of_kernel)  # each once, and nothing beyond the kernel


def test_lines_come_to_an_l0_one_after_the_other():
    """Sixteen additions on eight registers take less than 40 cycles; a line that keeps the next for 40 takes that."""
    few, many = (ran(lines * A_LINE, l0_miss_cycles=45, l0_line_cycles=40, l0_prefetch_lines=8).cycles for lines in (8, 16))
    assert many - few == 8 * 40


@pytest.mark.parametrize(("warps", "misses"), [(1, 1), (4, 4), (8, 4)])
def test_each_sub_core_has_its_own(warps, misses):
    """Warps go to the four sub-cores in turn; two of one share what comes."""
    assert ran(8, warps).counters["l0i_misses"] == misses


def test_a_loop_that_an_l0_holds_is_read_from_the_l1_once():
    device = sl.Gpu("h200", set=USUAL, memory_bytes=1 << 20)
    body = "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 50;\n@%p1 bra L;\n"
    found = kernel(device, body)(1, 32, [np.uint64(0)] * 2).counters
    assert found["l1i_hits"] == found["l0i_misses"] == 1
    assert found["l0i_hits"] >= 50


def test_lines_that_another_warp_has_brought_to_an_l0_can_be_evicted_from_the_l1():
    """Sixteen warps of four sub-cores ask for each line of an L1 that holds two; a line kept for a warp that needs it no longer
    would leave no room for the others."""
    small = {"bytes": 256, "ways": 2, "launch_lines": 0, "mshr_entries": 2, "l0_bytes": 256, "l0_ways": 2, "l0_prefetch_lines": 0}
    assert ran(12 * A_LINE, 16, **small).instructions == 16 * 12 * A_LINE


def test_a_machine_without_them_fetches_from_the_l1():
    found = ran(64, l0_bytes=0).counters
    assert (found["l0i_hits"], found["l0i_misses"]) == (0, 0)
    assert found["l1i_hits"] >= 64 // 2
    papers = sl.Gpu("caps-gtx480", memory_bytes=1 << 20)
    assert kernel(papers, "mov.u32 %r1, 0;")(1, 32, [np.uint64(0)] * 2).counters["l0i_hits"] == 0
