"""PTX with convergence barriers on a timed machine: the same results, the barriers' instructions beside, and turns by a policy."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from simtlab.program.action import Action
from tests.execute.test_ptx_barriers import expected_trips, trips
from tests.timing.machines import HEAD
from tests.timing.test_simt_stack import LOCK, trace

WITH = {"core.reconvergence": "barriers", "core.cores": 1}
BARRIERS = (Action.MEET, Action.CONVERGE)


def timed(changes: dict = WITH, **policies: str) -> sl.Gpu:
    return sl.Gpu("caps-gtx480", set=changes, memory_bytes=1 << 24, **policies)


@pytest.mark.parametrize("scale", [1, 7])
def test_only_the_barriers_instructions_are_added(scale):
    """Each instruction of the program is issued as often, for as many lanes, as with the stack."""
    issued = {}
    for how in ("stack", "barriers"):
        out, run = trips(timed({**WITH, "core.reconvergence": how}), scale)
        assert out == expected_trips(scale)
        counts = zip(run.program.lowered, run.timing.counts_by_instruction[:, [Stall.ISSUED, Work.LANES]].tolist(), strict=True)
        issued[how] = [(one.origin.position, count) for one, count in counts if one.action not in BARRIERS]
    assert issued["barriers"] == issued["stack"]


def test_a_machine_says_how_its_lanes_meet():
    assert timed().reconvergence == "barriers"
    assert timed({}).reconvergence == "stack"
    assert sl.Gpu("caps-gtx480", reconvergence="barriers").reconvergence == "barriers"


def test_blocks_of_figure_3_4_run_once_with_their_lanes():
    stack, barriers = (trace(timed({**WITH, "core.reconvergence": how}), [1, 1, 1, 0], [1, 0, 0, 0], iterations=2)
                       for how in ("stack", "barriers"))  # fmt: skip
    assert sorted(barriers) == sorted(stack)


def test_the_lock_of_figure_3_5_ends():
    device = timed()
    mutex, inside = device.zeros(1, "i4"), device.zeros(1, "i4")
    device.compile(LOCK)["k"](1, 4, [mutex, inside])
    assert (mutex[0], inside[0]) == (0, 4)


def test_lanes_that_spin_give_way_after_as_many_backward_branches_as_the_machine_says():
    """Each lane but the last to get the lock waits until the others have gone back 32 times as often as `core.yield_after` says."""
    turns = {}
    for yield_after in (1, 2, 4):
        device = timed({**WITH, "core.yield_after": yield_after})
        kernel = device.compile(LOCK)["k"]
        turns[yield_after] = kernel(1, 4, [device.zeros(1, "i4"), device.zeros(1, "i4")]).instructions
    branch = next(k for k, row in enumerate(kernel.program.code) if row.action == Action.SPLIT and row.target <= k)
    of_the_loop = branch - int(kernel.program.code[branch].target) + 1  # instructions
    assert turns[2] - turns[1] == (4 - 1) * 32 * of_the_loop
    assert turns[4] - turns[2] == (4 - 1) * 64 * of_the_loop


# Whose turn it is -----------------------------------------------------------------------------------------------------

LANES_OF = [2, 3, 7, 20]  # of the four ways of a switch
WAYS = f"""{HEAD}.visible .entry k(.param .u64 order, .param .u64 out) {{
 .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<5>; ld.param.u64 %d1, [order]; ld.param.u64 %d2, [out];
 mov.u32 %r1, %tid.x; set.ge.u32.u32 %r2, %r1, 2; set.ge.u32.u32 %r3, %r1, 5; set.ge.u32.u32 %r4, %r1, 12;
 add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; neg.s32 %r2, %r2; mul.wide.u32 %d3, %r2, 4; add.u64 %d3, %d1, %d3;
 T: .branchtargets A, B, C, D; brx.idx %r2, T;
A: atom.global.add.u32 %r5, [%d1], 1; add.u32 %r6, %r1, 10; bra E;
B: atom.global.add.u32 %r5, [%d1], 1; mul.lo.u32 %r6, %r1, 20; bra E;
C: atom.global.add.u32 %r5, [%d1], 1; sub.u32 %r6, %r1, 30; bra E;
D: atom.global.add.u32 %r5, [%d1], 1; xor.b32 %r6, %r1, 40;
E: st.global.u32 [%d3+4], %r5; mul.wide.u32 %d4, %r1, 4; add.u64 %d2, %d2, %d4; st.global.u32 [%d2], %r6; ret; }}"""


def ways(**policies: str) -> tuple[list[int], list[int]]:
    """In which order the four ways of a switch ran, and what the lanes computed."""
    device = timed(**policies)
    order, out = device.zeros(5, "u4"), device.zeros(32, "u4")
    device.load(WAYS)["k"](1, 32, [order, out])
    return [int(way) for way in np.argsort(order.numpy()[1:])], out.numpy().tolist()


def test_a_policy_says_which_split_goes_on_and_never_what_it_computes():
    """As the lanes come in the switch; then, after the first way, those with the most lanes first."""
    usual, policy = ways(), ways(divergence="most-lanes")
    assert (usual[0], policy[0]) == ([0, 1, 2, 3], [0, 3, 2, 1])
    t = np.arange(32, dtype=np.uint32)
    assert usual[1] == policy[1] == np.repeat([0, 1, 2, 3], LANES_OF).choose([t + 10, t * 20, t - 30, t ^ 40]).tolist()


def test_a_policy_is_asked_with_splits_that_can_go_on(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text("from simtlab.policies.hook import hook\n\n@hook\ndef turn(warp, own, could, cycle):\n    return 31\n")
    with pytest.raises(sl.PolicyError, match=r"turn answered 31 in the GPU, .*of the set `could`, or NO_SPLIT \(-1\); the set was"):
        ways(divergence=str(path))


def test_a_policy_that_chooses_nobody_changes_nothing(tmp_path):
    path = tmp_path / "nobody.py"
    path.write_text("from simtlab.policies.hook import hook\n\n@hook\ndef turn(warp, own, could, cycle):\n    return -1\n")
    assert ways(divergence=str(path)) == ways()


@pytest.mark.parametrize("policy", [{}, {"divergence": "most-lanes"}], ids=["longest waiting", "most lanes"])
def test_a_small_split_comes_to_its_turn_between_two_large_ones_that_spin(policy):
    device = timed(**policy)
    flags, out = device.zeros(2, "i4"), device.zeros(32, "i4")
    device.compile("""extern "C" __global__ void k(volatile int *flags, int *out) {
    int t = threadIdx.x;
    if (t < 15) { while (!flags[0]) {} out[t] = 1; }
    else if (t < 30) { while (!flags[1]) {} out[t] = 2; }
    else { out[t] = 3; flags[0] = 1; flags[1] = 1; }
}""")["k"](1, 32, [flags, out])
    assert out.numpy().tolist() == [1] * 15 + [2] * 15 + [3] * 2
