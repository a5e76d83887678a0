"""What a functional run counts by instruction is what the machine counts."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.grid import GridRun
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from tests.sampling.kernels import BLOCK, SOURCE

TOUCH = r"""
extern "C" __global__ void touch(const float *x, float *y, int stride) { y[threadIdx.x] = x[threadIdx.x * stride]; }
"""


@pytest.fixture
def counted(monkeypatch):
    """All functional launches, which count from now on."""
    seen, plain = [], GridRun.__init__

    def begin(self, *given, **named):
        plain(self, *given, **{**named, "counts": True})
        seen.append(self)

    monkeypatch.setattr(GridRun, "__init__", begin)
    return seen


def irregular(gpu):
    x, y = gpu.array(np.ones(32768, np.float32)), gpu.zeros(20 * BLOCK)
    return gpu.compile(SOURCE)["irregular"](20, BLOCK, [x, y])


@pytest.mark.parametrize(("isa", "machine"), [("ptx", "caps-gtx480"), ("sm_90", "h200")])
def test_executions_and_lanes_by_instruction_are_those_of_the_machine(counted, isa, machine):
    timed = irregular(sl.Gpu(machine, set={"core.cores": 2})).timing
    irregular(sl.Gpu(isa=isa, threads=2))
    found = counted[-1].counts
    assert np.array_equal(found["executed"], timed.counts_by_instruction[:, Stall.ISSUED])
    assert np.array_equal(found["lanes"], timed.counts_by_instruction[:, Work.LANES])


def test_lines_are_those_that_neighbouring_lanes_do_not_share(counted):
    gpu = sl.Gpu(threads=1)
    kernel, x, y = gpu.compile(TOUCH)["touch"], gpu.zeros(32 * 64), gpu.zeros(32)
    for stride, lines in ((1, 1), (16, 16), (32, 32)):
        kernel(1, 32, [x, y, np.int32(stride)])
        assert counted[-1].counts["lines"].sum() == lines + 1  # and the store's one


def test_cold_lines_are_those_that_a_cta_touches_for_the_first_time(counted):
    """Four CTAs of two warps, all on the same line twice: each CTA's first access is cold, whichever host thread runs it."""
    gpu = sl.Gpu(threads=2)
    kernel = gpu.compile("""extern "C" __global__ void twice(const volatile float *x, float *y)
                            { y[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x & 31] + x[threadIdx.x & 31]; }""")["twice"]
    kernel(4, 64, [gpu.zeros(32), gpu.zeros(256)])
    found = counted[-1].counts
    loads = found["lines"] == 8
    assert (found["cold"][loads].sum(), found["lines"][loads].sum()) == (4 + 8, 3 * 8)  # and both of the warps' stores


def test_nothing_is_counted_where_nobody_asks(monkeypatch):
    seen, plain = [], GridRun.run
    monkeypatch.setattr(GridRun, "run", lambda self, threads: (plain(self, threads), seen.append(self)))
    irregular(sl.Gpu(threads=1))
    assert len(seen[-1].counts) == 0
