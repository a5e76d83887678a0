"""Which instructions are in a loop: those from whose block a way leads back to it."""

import pytest

from simtlab.lab.tables import in_loops
from simtlab.program.cfg import ControlFlowGraph, Flow

GO = Flow()
END = Flow(falls_through=False, leaves=True)


def jump(target: int) -> Flow:
    return Flow((target,), falls_through=False)


def branch(target: int) -> Flow:
    return Flow((target,))


@pytest.mark.parametrize(
    ("flows", "looped"),
    [
        ([GO, GO, END], [0, 0, 0]),
        ([GO, branch(3), GO, END], [0, 0, 0, 0]),  # a branch forward is no loop
        ([GO, GO, branch(1), END], [0, 1, 1, 0]),
        ([GO, branch(1), END], [0, 1, 0]),  # a block that leads to itself
        ([GO, branch(4), GO, jump(1), END], [0, 1, 1, 1, 0]),  # the test at the top
        ([GO, GO, branch(2), branch(1), END], [0, 1, 1, 1, 0]),  # a loop in a loop
        ([GO, branch(3), GO, GO, branch(1), END], [0, 1, 1, 1, 1, 0]),  # both sides of a branch in a loop
        ([GO, branch(4), GO, branch(2), END], [0, 0, 1, 1, 0]),  # a loop beside the way
    ],
)
def test_instructions_that_may_come_again_are_in_a_loop(flows, looped):
    assert in_loops(ControlFlowGraph(flows)) == [bool(one) for one in looped]
