"""Liveness: a register is live where some later instruction reads what it holds."""

from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.liveness import Usage, before, live_out

GO_ON, LEAVE = Flow(), Flow(falls_through=False, leaves=True)


def use(reads=(), writes=(), always=True):
    return Usage(frozenset(reads), frozenset(writes), always)


def live(flows, usages):
    return live_out(ControlFlowGraph(flows), usages)


def test_a_value_lives_from_its_write_to_its_last_read():
    usages = [use(writes=[0]), use([0], [1]), use([0], [2]), use([1, 2])]
    assert live([GO_ON] * 3 + [LEAVE], usages) == [{0}, {0, 1}, {1, 2}, set()]


def test_a_value_that_nobody_reads_is_never_live():
    assert live([GO_ON, GO_ON, LEAVE], [use(writes=[0]), use(writes=[0]), use([0])]) == [set(), {0}, set()]


def test_a_guarded_write_keeps_the_old_value_alive():
    usages = [use(writes=[0]), use(writes=[1]), use([1], [0], always=False), use([0])]
    assert live([GO_ON] * 3 + [LEAVE], usages) == [{0}, {0, 1}, {0}, set()]


def test_a_loop_carries_values_around():
    #  0: write 0, 1   1: read 0, write 0   2: branch to 1   3: read 1
    flows = [GO_ON, GO_ON, Flow((1,)), LEAVE]
    assert live(flows, [use(writes=[0, 1]), use([0], [0]), use(), use([1])]) == [{0, 1}, {0, 1}, {0, 1}, set()]


def test_what_one_side_of_a_branch_reads_is_live_before_it():
    #  0: branch to 3   1: read 0   2: jump to 4   3: read 1   4: leave
    flows = [Flow((3,)), GO_ON, Flow((4,), falls_through=False), GO_ON, LEAVE]
    assert live(flows, [use(), use([0]), use(), use([1]), use()]) == [{0, 1}, set(), set(), set(), set()]


def test_reading_and_writing_one_register():
    assert before(use([0], [0]), frozenset({0})) == {0}
    assert before(use([], [0]), frozenset({0, 1})) == {1}
    assert before(use([], [0], always=False), frozenset({0, 1})) == {0, 1}
