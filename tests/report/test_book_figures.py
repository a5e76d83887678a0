"""Figures of the textbook, chapter 3, as a watched core shows them to a lecture."""

import re
from itertools import groupby

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.watch import Watch
from simtlab.report.watch_view import lines_of, stack_text
from tests.timing.test_simt_stack import KERNEL

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out) {
 .reg .f32 %f<9>; .reg .b64 %a; .reg .b32 %t; .reg .b64 %w;
 ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 4; add.u64 %a, %a, %w;
 cvt.rn.f32.u32 %f1, %t;
 add.f32 %f4, %f1, 0f3F800000;
 add.f32 %f5, %f1, 0f40000000;
 fma.rn.f32 %f3, %f1, %f4, %f5;
 st.global.f32 [%a], %f3;
 ret; }
"""


@pytest.fixture(scope="module")
def diverging():
    """Fig 3.4: four threads, seven blocks, the side that is taken pushed first, as the figure draws it."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, memory_bytes=1 << 24, push_order="taken")
    gpu.machine.watch = watch = Watch(0, 0, 20_000, from_issue=True)
    log = gpu.zeros(512, "u4")
    gpu.load(KERNEL.replace("ITERATIONS", "1"))["k"](1, 4, [gpu.array([1, 1, 1, 0], "u4"), gpu.array([1, 0, 0, 0], "u4"), log])
    return watch


def masks(watch):
    """The masks of the SIMT stack from the top, thread 0 on the left, each as long as it stays."""
    stacks = (tuple(entry.mask for entry in cycle.warps[0].stack) for cycle in watch.cycles if cycle.warps)
    return [[f"{mask:04b}"[::-1] for mask in stack] for stack, _ in groupby(stacks)]


def test_figure_3_4_the_stack_at_every_step(diverging):
    found = masks(diverging)
    assert found[0] == ["1111"]
    assert ["1110", "0001", "1111"] in found  # c: after the branch of A, B above F above the reconvergence at G
    assert ["1000", "0110", "1110", "0001", "1111"] in found  # d: after the branch of B, C above D above E
    assert ["1110", "0001", "1111"] in found[found.index(["1000", "0110", "1110", "0001", "1111"]) :]  # e: at E again
    assert max(map(len, found)) == 5


def test_figure_3_4_lanes_meet_where_the_figure_says(diverging):
    """The entries of B and F meet at G, those of C and D at E: two different places."""
    deepest = max((cycle.warps[0].stack for cycle in diverging.cycles if cycle.warps), key=len)
    c, d, e, f, g = deepest
    assert c.reconverge == d.reconverge == e.pc
    assert e.reconverge == f.reconverge == g.pc
    assert g.reconverge is None
    shown = stack_text(next(cycle.warps[0] for cycle in diverging.cycles if cycle.warps and len(cycle.warps[0].stack) == 5))
    assert re.fullmatch(r"\d+ -> \d+: 00000001 \| \d+ -> \d+: 00000006 \| .* -> end: 0000000f", shown)


def test_figure_3_5_a_lock_that_is_never_had_is_told_with_its_lanes():
    """The lane that has the lock waits at the reconvergence point for those that spin."""
    source = """extern "C" __global__ void lock(int *mutex, int *count) {
        while (atomicCAS(mutex, 0, 1) != 0) {}
        *count += 1;
        atomicExch(mutex, 0);
    }"""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, stuck_cycles=60_000)
    gpu.machine.watch = watch = Watch(0, 0, 4000, from_issue=True)
    with pytest.raises(sl.Deadlock):
        gpu.compile(source)["lock"](1, 4, [gpu.zeros(1, "i4"), gpu.zeros(1, "i4")])
    stack = watch.cycles[-1].warps[0].stack
    assert [entry.mask for entry in stack] == [0b1110, 0b1111]  # three lanes spin, the fourth waits below with them


def collecting(changes):
    """A watched run of two warps, and the collector units that held its multiply-add, cycle by cycle."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1, **changes})
    gpu.machine.watch = watch = Watch(0, 0, 20_000, from_issue=True)
    run = gpu.load(PTX)["k"](1, 64, [gpu.zeros(64, "f4")])
    fma = next(pc for pc, one in enumerate(run.program.lowered) if one.origin.opcode == "fma")
    return watch, [(cycle.cycle, one) for cycle in watch.cycles for one in cycle.collectors if one.pc == fma]


def test_figure_3_14_operands_of_one_bank_are_read_one_after_another():
    watch, seen = collecting({"register_file.banks": 1})
    for slot in (0, 1):
        reads = [sum(one.read) for _, one in seen if one.slot == slot]
        assert reads[-1] == 3
        assert set(np.diff(reads)) <= {0, 1}  # never two of them in one cycle
    assert all(len(cycle.banks_read) <= 1 for cycle in watch.cycles)
    text = "\n".join(lines_of(watch))
    assert re.search(r"collector  warp 0 .* bank 0 read, bank 0 read, bank 0 to read", text)
    assert "banks      read: 0.0" in text


@pytest.mark.parametrize(("layout", "shift"), [("naive", 0), ("swizzled", 1)])
def test_figures_3_13_and_3_16_where_the_registers_of_the_next_warp_lie(layout, shift):
    _, seen = collecting({"register_file.banks": 4, "register_file.layout": layout})
    banks = {one.slot: one.banks for _, one in seen}
    assert banks[1] == tuple((bank + shift) % 4 for bank in banks[0])


def test_figure_3_17_banks_are_read_while_others_are_written():
    watch, _ = collecting({"register_file.banks": 4, "register_file.layout": "swizzled"})
    both = [cycle for cycle in watch.cycles if cycle.banks_read and cycle.banks_written]
    assert both
    assert all(not set(cycle.banks_read) & set(cycle.banks_written) for cycle in watch.cycles)  # a bank has one port
