"""The SIMT stack of BOOK Fig 3.4, step by step: which lanes run which block, and what is on the stack as they begin.

Masks are written as the book does, thread 0 on the left. A stack is written from its bottom to its top, each entry as
reconvergence block, next block, mask; the top is the entry that runs.
"""

import pytest

import simtlab as sl
from simtlab.execute.cta import start
from simtlab.execute.grid import Slot, Worker
from simtlab.execute.simt_stack import pop
from simtlab.execute.state import WarpStatus
from simtlab.execute.warp import run_warp
from simtlab.host.arguments import pack
from simtlab.host.launch import prepare

KERNEL = """.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 data1, .param .u64 data2, .param .u32 n) {
    .reg .b32 %r<20>; .reg .b64 %d<6>; .reg .pred %p<4>;
    ld.param.u64 %d1, [data1]; ld.param.u64 %d2, [data2]; ld.param.u32 %r9, [n];
    mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
A:  ld.global.u32 %r3, [%d1];
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra F;
B:  ld.global.u32 %r5, [%d2];
    setp.eq.u32 %p2, %r5, 0;
    @%p2 bra D;
C:  add.u32 %r6, %r6, 1;
    bra E;
D:  add.u32 %r7, %r7, 2;
E:  bra G;
F:  add.u32 %r8, %r8, 3;
G:  add.u32 %r2, %r2, 1;
    setp.lt.u32 %p3, %r2, %r9;
    @%p3 bra A;
    ret;
}"""


def steps(order: str, data1: list[int], data2: list[int], n: int = 1) -> list[tuple[str, str]]:
    gpu = sl.Gpu(push_order=order, memory_bytes=1 << 20)
    return walk(gpu, KERNEL, len(data1), [gpu.array(data1, "u4"), gpu.array(data2, "u4"), n])


def walk(gpu: sl.Gpu, kernel: str, lanes: int, arguments: list) -> list[tuple[str, str]]:
    """Every block that begins, with its lanes, and the stack at that time. One warp, one instruction at a time."""
    program = gpu.load(kernel)["k"].program
    launch, *kept = prepare(gpu, program, (1, 1, 1), (lanes, 1, 1), 0, pack(program, arguments, gpu.memory))
    gpu.memory.show_to(launch[0])
    slot, worker = Slot(launch), Worker(program)
    start(launch[0], slot.record[0], 0)
    warp = slot.record[0].warps[0]
    labels = {pc: name for name, pc in program.functions["k"].lowering.labels.items()}
    found = []
    while warp.status != WarpStatus.DONE:
        if warp.pc == warp.reconverge:
            pop(warp)
            continue
        if warp.pc in labels:
            found.append((f"{labels[int(warp.pc)]}/{bits(warp.mask, lanes)}", drawn(slot.record[0], labels, lanes)))
        run_warp(launch[0], program.table[0], worker.record[0], slot.record[0], warp, 1)
    del kept  # the launch has their addresses
    return found


def bits(mask: int, lanes: int) -> str:
    return f"{int(mask):0{lanes}b}"[::-1]


def drawn(cta, labels: dict[int, str], lanes: int) -> str:
    warp = cta.warps[0]
    below = [cta.flow[0].stack[k] for k in range(warp.depth)]
    return " ".join(f"{labels.get(int(e.reconverge), '-')}{labels[int(e.pc)]}{bits(e.mask, lanes)}" for e in [*below, warp])


FIGURE = {
    "taken": [
        ("A/1111", "-A1111"),
        ("B/1110", "-G1111 GF0001 GB1110"),  # Fig 3.4c
        ("C/1000", "-G1111 GF0001 GE1110 ED0110 EC1000"),  # Fig 3.4d
        ("D/0110", "-G1111 GF0001 GE1110 ED0110"),
        ("E/1110", "-G1111 GF0001 GE1110"),  # Fig 3.4e
        ("F/0001", "-G1111 GF0001"),
        ("G/1111", "-G1111"),
    ],
    "most-lanes": [
        ("A/1111", "-A1111"),
        ("F/0001", "-G1111 GB1110 GF0001"),
        ("B/1110", "-G1111 GB1110"),
        ("C/1000", "-G1111 GE1110 ED0110 EC1000"),  # the upper entries of Fig 3.4d, "we follow this order"
        ("D/0110", "-G1111 GE1110 ED0110"),
        ("E/1110", "-G1111 GE1110"),
        ("G/1111", "-G1111"),
    ],
    "fewest-lanes": [
        ("A/1111", "-A1111"),
        ("B/1110", "-G1111 GF0001 GB1110"),  # Fig 3.4c, "we used the opposite order"
        ("D/0110", "-G1111 GF0001 GE1110 EC1000 ED0110"),
        ("C/1000", "-G1111 GF0001 GE1110 EC1000"),
        ("E/1110", "-G1111 GF0001 GE1110"),
        ("F/0001", "-G1111 GF0001"),
        ("G/1111", "-G1111"),
    ],
}


@pytest.mark.parametrize("order", FIGURE)
def test_blocks_lanes_and_stack_of_figure_3_4(order):
    """The figure itself follows neither count: its lanes that fall through always run first."""
    assert steps(order, [1, 1, 1, 0], [1, 0, 0, 0]) == FIGURE[order]


@pytest.mark.parametrize("order", FIGURE)
def test_every_turn_of_the_loop_begins_together(order):
    assert steps(order, [1, 1, 1, 0], [1, 0, 0, 0], n=3) == 3 * FIGURE[order]


@pytest.mark.parametrize("order", FIGURE)
def test_of_equal_halves_the_lanes_that_fall_through_run_first(order):
    blocks = [block for block, _ in steps(order, [1, 1, 0, 0], [1, 1, 0, 0])]
    assert blocks == ["A/1111", "B/1100", "C/1100", "E/1100", "F/0011", "G/1111"]


@pytest.mark.parametrize("order", FIGURE)
def test_lanes_that_stay_together_push_nothing(order):
    assert steps(order, [1, 1, 1, 1], [1, 1, 1, 1]) == [(f"{block}/1111", f"-{block}1111") for block in "ABCEG"]


def test_without_a_word_the_side_with_the_most_lanes_is_pushed_first():
    gpu = sl.Gpu(memory_bytes=1 << 20)
    assert walk(gpu, KERNEL, 4, [gpu.array([1, 1, 1, 0], "u4"), gpu.array([1, 0, 0, 0], "u4"), 1]) == FIGURE["most-lanes"]


def leave_one_by_one(lanes: int) -> str:
    """Lane 0 goes its own way, then lane 1, and so on; all meet at the end."""
    tests = "\n".join(f"B{k}: setp.eq.u32 %p1, %r1, {k};\n @%p1 bra L{k};" for k in range(lanes - 1))
    ways = "\n".join(f"L{k}: add.u32 %r2, %r2, {k};\n bra Z;" for k in range(lanes - 1))
    return f""".version 7.8
.target sm_75
.address_size 64
.visible .entry k() {{ .reg .b32 %r<4>; .reg .pred %p<2>; mov.u32 %r1, %tid.x;
{tests}
R: bra Z;
{ways}
Z: ret; }}"""


def test_the_stack_stays_shallow_if_the_most_lanes_are_pushed_first():
    """The book's reason for that order. The other one leaves an entry behind for every lane."""
    deepest = {}
    for order in FIGURE:
        found = walk(sl.Gpu(push_order=order, memory_bytes=1 << 20), leave_one_by_one(16), 16, [])
        assert len(found) == 15 + 15 + 1 + 1, "each lane's own block, the tests, R and Z, whatever the order"
        deepest[order] = max(len(stack.split()) for _, stack in found)
    waiting_at_z, running = 1, 1
    assert deepest["most-lanes"] == waiting_at_z + 1 + running
    assert deepest["fewest-lanes"] == deepest["taken"] == waiting_at_z + 15 + running


def test_an_unknown_order_is_refused_by_name():
    with pytest.raises(sl.SimtlabError, match=r"push_order is 'random'; it must be one of most-lanes, fewest-lanes, taken"):
        sl.Gpu(push_order="random")
