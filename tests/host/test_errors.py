"""Errors go from one process to another."""

import pickle
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import simtlab
import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.lab.sweep.loop import Summary, SweepFailed
from simtlab.machine.machine import Interrupted
from simtlab.workloads.errors import InputFileError, WrongResult

MADE_WITH = {
    "PtxError": ("expected ';'", 3, 14, "k.ptx"),
    "UnknownInstruction": ("unknown instruction", 3, 14),
    "CycleLimit": ("not done after 10 cycles", None, {"cycles": 10}),
    InputFileError.__name__: ("graph.txt", 7, "expected a number"),
    WrongResult.__name__: ("y", 3, "3 of 10 elements of 'y' are wrong"),
    SweepFailed.__name__: (Summary(),),
}


def kinds(kind):
    for one in kind.__subclasses__():
        yield one
        yield from kinds(one)


def all_errors():
    for module in walk_packages(simtlab.__path__, "simtlab."):
        if module.name.endswith(("errors", "answer", "loop")):
            import_module(module.name)
    return [SimtlabError, *sorted({kind for kind in kinds(SimtlabError) if kind.__module__.startswith("simtlab")}, key=str)]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_an_error_comes_back_as_it_went(kind):
    error = kind(*MADE_WITH.get(kind.__name__, ("what is wrong",)))
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), back.args) == (kind, str(error), error.args)
    assert repr(vars(back)) == repr(vars(error))


def test_the_list_has_all_kinds_of_errors():
    assert {"PtxError", "CycleLimit", "DeviceFault", "WrongResult", "StoreError"} <= {kind.__name__ for kind in all_errors()}


def test_a_limit_of_cycles_keeps_what_was_counted_and_leaves_the_program_behind():
    gpu = sl.Gpu("caps-gtx480", max_cycles=50)
    kernel = gpu.compile("__global__ void k(int *p) { for (int i = 0; i < 1000; i++) p[threadIdx.x] += i; }")["k"]
    with pytest.raises(sl.CycleLimit, match=r"^kernel 'k' is not done after 50 cycles") as raised:
        kernel(1, 32, [gpu.zeros(32, "i4")])
    error = raised.value
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.run.cycles, back.run.counters) == (str(error), error.run.cycles, error.run.counters)
    assert error.program is not None
    assert back.program is None


def test_an_interrupt_keeps_what_was_counted():
    gpu = sl.Gpu("caps-gtx480")
    kernel = gpu.compile("__global__ void k(int *p) { p[threadIdx.x] = 1; }")["k"]
    run = kernel(1, 32, [gpu.zeros(32, "i4")])

    class Launch:
        program = kernel.program

    error = Interrupted(Launch(), run.timing, 7)
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (Interrupted, f"kernel 'k' was stopped after {run.cycles} cycles")
    assert (back.run.cycles, back.earlier_cycles, back.program) == (run.cycles, 7, None)
    np.testing.assert_array_equal(back.run.stalls_by_scheduler, run.timing.stalls_by_scheduler)


def test_a_real_error_in_ptx_comes_back():
    with pytest.raises(sl.PtxError) as raised:
        sl.Gpu().load(".version 7.8\n.target sm_75\n.address_size 64\n.entry k() { ret }")
    back = pickle.loads(pickle.dumps(raised.value))
    assert (str(back), back.line, back.column) == (str(raised.value), raised.value.line, raised.value.column)
