"""Workloads whose lanes meet at convergence barriers give what they give with the SIMT stack, bit for bit."""

import numpy as np
import pytest

import simtlab as sl

CALLS = {"PFF": "__internal_trig_reduction_slowpathd"}  # functions that were not inlined: of the mathematical library
NAMES = [name for name in sl.workloads() if name not in CALLS]
EVERYDAY = ["BFS", "HST", "MST", "NQU", "SCN"]


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
@pytest.mark.parametrize("name", NAMES)
def test_every_workload_gives_the_same_with_barriers(name):
    assert_same_memory(name)


@pytest.mark.parametrize("name", CALLS)
def test_a_workload_with_calls_is_refused_by_the_functions_name(name):
    with pytest.raises(sl.SimtlabError, match=f"'{CALLS[name]}' is called: with reconvergence = 'barriers'"):
        sl.workload(name, size="tiny").run(sl.Gpu(reconvergence="barriers"))
