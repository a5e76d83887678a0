"""PTX whose lanes meet at convergence barriers (BOOK 3.1.2) in place of the SIMT stack: the same results, and locks that end."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.cta import start
from simtlab.execute.grid import Slot, Worker
from simtlab.execute.simt_stack import pop
from simtlab.execute.state import WarpStatus
from simtlab.execute.warp import run_warp
from simtlab.host.arguments import pack
from simtlab.host.launch import prepare
from simtlab.program.action import Action
from tests.execute import test_splits as splits
from tests.execute.test_simt_stack import KERNEL, leave_one_by_one
from tests.execute.test_splits import (  # noqa: F401  what machine code computes, asked of PTX
    test_a_lane_that_waits_for_another_of_its_warp_sees_it_come,
    test_a_reduction_in_steps_of_one_warp,
    test_an_assertion_names_what_failed,
    test_barriers_that_count_and_combine,
    test_both_sides_of_a_branch_go_on_in_turn,
    test_every_lane_of_a_warp_gets_the_lock,
    test_lanes_allocate_and_free,
    test_lanes_go_to_all_cases_of_a_switch_and_meet_behind_it,
    test_lanes_shuffle_and_vote_within_one_side,
    test_lanes_that_break_out_of_a_loop_meet_behind_it,
    test_lanes_that_return_out_of_nested_loops_meet_behind_the_call,
    test_machine_code_prints,
    test_nested_divergence_meets_at_both_barriers,
    test_splits_of_one_warp_come_to_the_barrier_of_the_block_by_different_ways,
    test_warps_with_fewer_than_32_lanes,
)


@pytest.fixture(scope="module")
def machine():
    return splits.Machine("ptx", reconvergence="barriers")


HEAD = ".version 7.8\n.target sm_75\n.address_size 64\n"
BARRIERS = (Action.MEET, Action.CONVERGE)


def functional(how: str = "barriers", **more) -> sl.Gpu:
    return sl.Gpu(memory_bytes=1 << 20, reconvergence=how, **more)


def steps(gpu: sl.Gpu, text: str, lanes: int, arguments: list) -> list[tuple[str, Action, int]]:
    """What one warp executes: the PTX of each instruction, what it does, for which lanes."""
    program = gpu.load(text)["k"].program
    launch, *kept = prepare(gpu, program, (1, 1, 1), (lanes, 1, 1), 0, pack(program, arguments, gpu.memory))
    gpu.memory.show_to(launch[0])
    slot, worker = Slot(launch), Worker(program)
    start(launch[0], slot.record[0], 0)
    warp = slot.record[0].warps[0]
    found = []
    while warp.status != WarpStatus.DONE:
        if warp.pc == warp.reconverge:
            pop(warp)
            continue
        one = program.lowered[int(warp.pc)]
        found.append((f"{one.origin.position.line}: {one.origin.spelling}", one.action, int(warp.mask)))
        run_warp(launch[0], program.table[0], worker.record[0], slot.record[0], warp, 1)
    del kept  # the launch has their addresses
    return found


def without_barriers(found: list[tuple[str, Action, int]]) -> list[tuple[str, int]]:
    return sorted((text, mask) for text, action, mask in found if action not in BARRIERS)


# The same instructions for the same lanes -----------------------------------------------------------------------------


@pytest.mark.parametrize("data1", [[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], ids=str)
@pytest.mark.parametrize("data2", [[1, 0, 0, 0], [0, 1, 1, 0]], ids=str)
def test_figure_3_4_takes_the_stacks_instructions_and_the_barriers(data1, data2):
    found = {}
    for how in ("stack", "barriers"):
        gpu = functional(how)
        found[how] = steps(gpu, KERNEL, 4, [gpu.array(data1, "u4"), gpu.array(data2, "u4"), 3])
    assert without_barriers(found["barriers"]) == without_barriers(found["stack"])
    loop, every_turn = 2, 3 * 2  # MEET and CONVERGE: of the loop, of the outer branch
    inner = 3 * 2 * any(data1)  # of the branch in block B
    arrivals = 3 * ((len(set(data1)) == 2) + (len({b for a, b in zip(data1, data2, strict=True) if a}) == 2))  # CONVERGE, twice
    assert len(found["barriers"]) - len(found["stack"]) == loop + every_turn + inner + arrivals


def test_branches_with_one_reconvergence_point_have_one_barrier():
    found = {how: steps(functional(how), leave_one_by_one(16), 16, []) for how in ("stack", "barriers")}
    assert without_barriers(found["barriers"]) == without_barriers(found["stack"])
    assert sum(action == Action.MEET for _, action, _ in found["barriers"]) == 1
    assert sum(action == Action.CONVERGE for _, action, _ in found["barriers"]) == 16


TRIPS = HEAD + """.visible .entry k(.param .u64 out, .param .u32 scale) {
 .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<4>;
 ld.param.u64 %d1, [out]; ld.param.u32 %r8, [scale]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;
OUTER: rem.u32 %r4, %r1, 3; add.u32 %r4, %r4, %r3; mul.lo.u32 %r4, %r4, %r8; setp.eq.u32 %p1, %r4, 0; @%p1 bra NEXT;
INNER: add.u32 %r2, %r2, %r1; sub.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra INNER;
NEXT: add.u32 %r3, %r3, 1; rem.u32 %r5, %r1, 4; add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r3, %r5; @%p3 bra OUTER;
 mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r2; ret; }"""


def trips(gpu: sl.Gpu, scale: int) -> tuple[list[int], sl.Run]:
    out = gpu.zeros(32, "u4")
    run = gpu.load(TRIPS)["k"](1, 32, [out, scale])
    return out.numpy().tolist(), run


def expected_trips(scale: int) -> list[int]:
    return [t * scale * sum(t % 3 + j for j in range(t % 4 + 1)) for t in range(32)]


def test_nested_loops_with_trips_of_their_own_execute_what_the_stack_does():
    found = {}
    for how in ("stack", "barriers"):
        gpu = functional(how)
        found[how] = steps(gpu, TRIPS, 32, [gpu.zeros(32, "u4"), 2])
    assert without_barriers(found["barriers"]) == without_barriers(found["stack"])


@pytest.mark.parametrize("scale", [1, 7, 300])
def test_nested_loops_with_trips_of_their_own_give_the_same(scale):
    assert trips(functional(), scale)[0] == trips(functional("stack"), scale)[0] == expected_trips(scale)


def test_lanes_of_a_loop_are_waited_for_as_long_as_32_yields():
    """Behind a loop they are together again if the last lane goes back 16 × 32 - 1 times in its turn, and not if once more."""
    text = HEAD + """.visible .entry k(.param .u32 most) { .reg .b32 %r<4>; .reg .pred %p<2>; ld.param.u32 %r3, [most];
 mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r1, %r3, 1;
L: sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;
 mul.lo.u32 %r1, %r1, 3; ret; }"""
    behind = {}
    for turns in (512, 513):  # the first branch back parts the lanes: the last lane waits for its turn then
        found = steps(functional(), text, 2, [turns])
        behind[turns] = [mask for what, action, mask in found if "mul.lo" in what and action not in BARRIERS]
    assert behind == {512: [3], 513: [1, 2]}


# Unstructured flow ----------------------------------------------------------------------------------------------------


def test_a_loop_with_two_entries_ends_with_the_stacks_results():
    """Half of the lanes jump into its middle."""
    text = HEAD + """.visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<4>;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; and.b32 %r2, %r1, 1;
 mov.u32 %r3, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra MIDDLE;
TOP: mad.lo.u32 %r3, %r3, 5, %r1;
MIDDLE: xor.b32 %r3, %r3, 9; add.u32 %r2, %r2, 1; setp.gt.u32 %p2, %r2, %r1; @%p2 bra OUT; setp.eq.u32 %p3, %r2, 7; @%p3 bra MIDDLE;
 bra TOP;
OUT: st.global.u32 [%d1], %r3; ret; }"""
    assert_same(text)


def assert_same(text: str) -> None:
    """The kernel, which writes a word for each thread, gives the same both ways."""
    found = []
    for how in ("stack", "barriers"):
        gpu = functional(how)
        out = gpu.zeros(64, "u4")
        gpu.load(text)["k"](2, 32, [out])
        found.append(out.numpy().tolist())
    assert found[0] == found[1]


def spaghetti(seed: int, blocks: int = 9) -> str:
    """Blocks that go to any others, as each lane's number says, until its fuel is spent; some lanes end on the way."""
    rng = np.random.default_rng(seed)
    lines = []
    for b in range(blocks):
        bit, first, second = rng.integers(0, 8), *rng.integers(0, blocks, 2)
        lines.append(f"B{b}: mad.lo.u32 %r2, %r2, {2 * rng.integers(1, 99) + 1}, {b}; sub.u32 %r3, %r3, 1;")
        lines.append(" setp.eq.u32 %p1, %r3, 0; @%p1 bra OUT;")
        if rng.random() < 0.2:
            lines.append(" setp.eq.u32 %p2, %r3, 7; @%p2 bra STOP;" if seed % 2 else " setp.eq.u32 %p2, %r3, 7; @%p2 exit;")
        lines.append(f" shr.u32 %r4, %r2, {bit + 3}; and.b32 %r4, %r4, 3; setp.eq.u32 %p3, %r4, 0;")
        if rng.random() < 0.3:
            targets = ", ".join(f"B{t}" for t in rng.integers(0, blocks, 4))
            lines.append(f" T{b}: .branchtargets {targets}; brx.idx %r4, T{b};")
        else:
            lines.append(f" @%p3 bra B{first};")
            lines.append(f" bra B{second};" if rng.random() < 0.4 else "")
    return HEAD + """.visible .entry k(.param .u64 out) { .reg .b32 %r<6>; .reg .b64 %d<3>; .reg .pred %p<4>;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r1, %r5, 32, %r1; mul.wide.u32 %d2, %r1, 4;
 add.u64 %d1, %d1, %d2; mad.lo.u32 %r2, %r1, 77773, 5; mov.u32 %r3, 60;
""" + "\n".join(lines) + "\nOUT: st.global.u32 [%d1], %r2;\nSTOP: ret; }"


@pytest.mark.parametrize("seed", range(40))
def test_any_flow_gives_the_stacks_results(seed):
    assert_same(spaghetti(seed))


# Lanes that name each other -------------------------------------------------------------------------------------------


def test_lanes_come_to_a_shuffle_after_different_numbers_of_turns_and_shuffle_together():
    """Without a convergence barrier in between: the branch of the loop is said to be uniform and is not."""
    text = HEAD + """.visible .entry k(.param .u64 out) { .reg .b32 %r<6>; .reg .b64 %d<3>; .reg .pred %p<2>;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1;
L: sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra.uni L;
 shfl.sync.bfly.b32 %r3, %r1, 31, 31, MASK;
 mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r3; ret; }"""
    gpu, out = functional(), None
    for mask in ("-1", "%r5"):
        out = gpu.zeros(32, "u4")
        gpu.load(text.replace("MASK", mask).replace("add.u32 %r2,", "mov.u32 %r5, -1; add.u32 %r2,"))["k"](1, 32, [out])
        assert out.numpy().tolist() == list(range(31, -1, -1))


@pytest.mark.parametrize("how", ["stack", "barriers"])
def test_lanes_at_different_shuffles_exchange_nothing(how):
    """docs/deviations.md, 2: on an H200, and in machine code, they do."""
    machine, data = splits.Machine("ptx", reconvergence=how), np.arange(32)
    given = np.where(data & 1, 3 * data, data + 500)
    from_another = np.roll(given, -1)
    out = machine.run("shuffles_from_two_sides", 32, 64, data)
    assert list(out[:32]) == [1000 if t & 1 else -1000 for t in range(32)]
    assert from_another.all()


def test_tiles_of_a_warp_wait_for_their_own_lanes():
    """The upper tile comes to its shuffle only when the lower one has left its: a wait for all would never end."""
    text = """extern "C" __global__ void k(int *out) {
    __shared__ volatile int flag;
    int t = threadIdx.x, y;
    unsigned mask = t < 16 ? 0xFFFFu : 0xFFFF0000u;
    if (t == 0) flag = 0;
    __syncwarp();
    if (t >= 20) while (!flag) {}
    y = __shfl_xor_sync(mask, 3 * t, 5);
    if (t < 16) flag = 1;
    out[t] = y;
}"""
    gpu = functional()
    out = gpu.zeros(32, "i4")
    gpu.compile(text)["k"](1, 32, [out])
    assert out.numpy().tolist() == [3 * (t ^ 5) for t in range(32)]


def test_one_wait_serves_the_shuffles_of_a_block():
    gpu = functional()
    program = gpu.compile("""extern "C" __global__ void k(int *out) {
    int x = out[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xFFFFFFFF, x, d);
    out[threadIdx.x] = x;
}""")["k"].program
    assert sum(one.spelling.startswith("shfl") for one in program.lowered) == 5
    assert sum(one.action == Action.WARP_SYNC for one in program.lowered) == 1


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "words"), [("recursion", "'.*fib.*' calls itself"), ("pointers", "is called by its address")])
def test_a_call_that_cannot_be_inlined_is_refused_with_what_to_do(machine, name, words):
    with pytest.raises(sl.SimtlabError, match=rf"{words}, and with reconvergence = 'barriers' .*use .*'stack'.*isa = 'sm_90'"):
        machine.module[name]


def deep(levels: int) -> str:
    """Branches nested so deep, each with a reconvergence point of its own."""
    begin = "\n".join(f"setp.gt.u32 %p1, %r1, {k}; @%p1 bra L{k}; add.u32 %r2, %r2, %r1;" for k in range(levels))
    end = "\n".join(f"L{k}: mad.lo.u32 %r2, %r2, 3, {k};" for k in reversed(range(levels)))
    return HEAD + f""".visible .entry k(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<2>;
 ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
{begin}
{end}
 mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r2; ret; }}"""


def test_sixteen_nested_branches_have_a_barrier_each():
    assert_same(deep(16))
    program = functional().load(deep(16))["k"].program
    assert {one.operands[0].value for one in program.lowered if one.action == Action.MEET} == set(range(16))


def test_seventeen_nested_branches_are_refused():
    with pytest.raises(sl.SimtlabError, match=r"nested more than 16 deep here: a warp has no more .*'stack'"):
        functional().load(deep(17))["k"]


def test_branches_one_after_another_share_a_barrier():
    one = "setp.gt.u32 %p1, %r1, {0}; @%p1 bra M{0}; add.u32 %r2, %r2, {0};\nM{0}: mul.lo.u32 %r2, %r2, 3;"
    body = "\n".join(one.format(k) for k in range(40))
    text = deep(1).replace("setp.gt", body + "\nsetp.gt", 1)
    assert {one.operands[0].value for one in functional().load(text)["k"].program.lowered if one.action == Action.MEET} == {0}
    assert_same(text)


def test_an_index_beyond_the_list_of_targets_is_a_fault():
    text = HEAD + """.visible .entry k() { .reg .b32 %r<3>; mov.u32 %r1, %tid.x;
 T: .branchtargets A, B; brx.idx %r1, T; A: exit; B: exit; }"""
    functional().load(text)["k"](1, 2, [])
    with pytest.raises(sl.DeviceFault, match=r"indirect branch with index 2 beyond its list of targets .*thread \(2, 0, 0\)"):
        functional().load(text)["k"](1, 3, [])


def test_lanes_that_name_each_other_in_one_direction_only_never_meet():
    """Odd lanes name a pair, even ones all: an H200 hangs."""
    text = HEAD + """.visible .entry k() { .reg .b32 %r<5>; .reg .pred %p; mov.u32 %r1, %laneid; and.b32 %r2, %r1, 1;
 setp.eq.u32 %p, %r2, 0; sub.u32 %r3, %r1, %r2; shl.b32 %r4, 3, %r3; @%p mov.b32 %r4, -1; bar.warp.sync %r4; ret; }"""
    with pytest.raises(sl.DeviceFault, match="lanes of a warp wait for each other at different places, for ever"):
        functional().load(text)["k"](1, 32, [])


def test_an_unknown_reconvergence_is_refused_by_name():
    with pytest.raises(sl.SimtlabError, match=r"reconvergence is 'magic'; it must be 'stack' or 'barriers'"):
        sl.Gpu(reconvergence="magic")


def test_machine_code_is_the_same_whatever_the_reconvergence_of_ptx():
    texts = []
    for how in ("stack", "barriers"):
        gpu = sl.Gpu(isa="sm_90", memory_bytes=1 << 20, reconvergence=how)
        program = gpu.compile('extern "C" __global__ void k(int *x) { if (x[threadIdx.x]) x[threadIdx.x] = 3; }')["k"].program
        texts.append([(one.action, one.operands) for one in program.lowered])
    assert texts[0] == texts[1]


def test_lanes_that_sleep_a_few_times_are_waited_for():
    """Only what sleeps on and on is left behind (core.yield_after): machine code's YIELD is another matter."""
    gpu = sl.Gpu(reconvergence="barriers")
    out = gpu.zeros(32, "u4")
    gpu.compile("""extern "C" __global__ void sleepers(unsigned *out) {
        for (unsigned n = 0; n < (threadIdx.x & 3); n++) __nanosleep(20);
        out[threadIdx.x] = __activemask(); }""")["sleepers"](1, 32, [out])
    assert (out.numpy() == 0xFFFFFFFF).all()
