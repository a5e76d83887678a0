"""What a functional run counts by instruction is what the machine counts."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.counting import no_counts
from simtlab.execute.grid import GridRun
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from simtlab.sampling import functional
from tests.sampling.kernels import BLOCK, SOURCE, device


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
def test_executions_and_lanes_by_instruction_are_those_of_the_machine(isa, monkeypatch):
    gpu = sl.Gpu("h200" if isa == "sm_90" else "caps-gtx480", set={"core.cores": 2}, threads=1)
    kernel, out = gpu.compile(SOURCE)["irregular"], gpu.zeros(20 * BLOCK)
    x = gpu.array(np.ones(32768, np.float32))
    timed = kernel(20, BLOCK, [x, out]).timing
    seen = []
    original = GridRun.__init__
    monkeypatch.setattr(GridRun, "__init__", lambda self, *a, **k: (original(self, *a, **{**k, "counts": True}), seen.append(self))[0])
    plain = sl.Gpu(isa=isa, threads=2)
    plain.compile(SOURCE)["irregular"](20, BLOCK, [plain.array(np.ones(32768, np.float32)), plain.zeros(20 * BLOCK)])
    found = seen[-1].counts
    assert np.array_equal(found["executed"], timed.counts_by_instruction[:, Stall.ISSUED])
    assert np.array_equal(found["lanes"], timed.counts_by_instruction[:, Work.LANES])
    assert functional.run_ctas


def test_lines_are_those_that_neighbouring_lanes_do_not_share(monkeypatch):
    source = r"""
    extern "C" __global__ void touch(const float *x, float *y, int stride) { y[threadIdx.x] = x[threadIdx.x * stride]; }
    """
    seen = []
    original = GridRun.__init__
    monkeypatch.setattr(GridRun, "__init__", lambda self, *a, **k: (original(self, *a, **{**k, "counts": True}), seen.append(self))[0])
    gpu = sl.Gpu(threads=1)
    kernel, x, y = gpu.compile(source)["touch"], gpu.zeros(32 * 64), gpu.zeros(32)
    for stride, lines in ((1, 1), (16, 16), (32, 32)):
        kernel(1, 32, [x, y, np.int32(stride)])
        assert seen[-1].counts["lines"].sum() == lines + 1  # and the store's one


def test_nothing_is_counted_where_nobody_asks():
    assert len(no_counts(0)) == 0
    gpu = device()
    run = GridRun(gpu.compile(SOURCE)["regular"].program, np.zeros(1), lambda *_: None)
    assert len(run.counts) == 0
