"""Workloads whose lanes meet at convergence barriers give what they give with the SIMT stack, bit for bit."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from simtlab.program.action import Action

EVERYDAY = ["BFS", "HST", "MST", "PFF", "SCN"]


def assert_same_memory(name: str) -> None:
    stack, barriers = (sl.workload(name, size="tiny").run(sl.Gpu(reconvergence=how)) for how in ("stack", "barriers"))
    assert barriers.checked
    assert list(stack.outputs) == list(barriers.outputs)
    for array in stack.outputs:
        assert np.asarray(stack.outputs[array]).tobytes() == np.asarray(barriers.outputs[array]).tobytes(), array


@pytest.mark.parametrize("name", EVERYDAY)
def test_some_workloads_give_the_same_with_barriers(name):
    assert_same_memory(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sl.workloads())
def test_every_workload_gives_the_same_with_barriers(name):
    assert_same_memory(name)


def executed(name: str, how: str) -> tuple[list, int, int]:
    """On a machine: how often each instruction of a workload was issued, for how many lanes, the barriers' own beside."""
    run = sl.workload(name, size="tiny").run(sl.Gpu("caps-gtx480", set={"core.reconvergence": how}))
    own, barriers = [], 0
    for launch in run.launches:
        counts = launch.timing.counts_by_instruction[:, [Stall.ISSUED, Work.LANES]].tolist()
        for one, (issued, lanes) in zip(launch.program.lowered, counts, strict=True):
            if one.action in (Action.MEET, Action.CONVERGE):
                barriers += issued
            else:
                own.append((launch.kernel, one.origin.position, issued, lanes))
    return own, barriers, run.instructions


@pytest.mark.parametrize("name", ["BFS", "MUM"])
def test_lanes_meet_where_they_do_with_the_stack(name):
    """So SIMD efficiency is the same but for the barriers' own instructions."""
    stack, barriers = executed(name, "stack"), executed(name, "barriers")
    assert barriers[0] == stack[0]
    assert barriers[2] == stack[2] + barriers[1]
