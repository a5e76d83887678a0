"""Strided and random reads of the h200 preset beside an H200: the same launches of the correlation suite, cycles from empty caches.

None of these kernels is held out. Tolerances are what the machine comes to, rounded up: docs/accuracy.md says what is missing."""

import pytest

from simtlab.correlate.cases import is_held_out
from simtlab.correlate.compare import compare, ratio, read_measured
from simtlab.lab.machines import choose

CYCLES = {"strided.2": 0.05, "strided.8": 0.08, "strided.32": 0.05, "gather.14": 0.16, "gather.20": 0.05}  # of the H200's
SECTORS = {"strided.2": 0.01, "strided.8": 0.03, "strided.32": 0.25, "gather.14": 0.10, "gather.20": 0.03}  # … at the L2
SLOW = ("strided.8", "strided.32", "gather.20")


@pytest.mark.parametrize("kernel", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CYCLES])
def test_strided_and_random_reads_take_the_cycles_of_an_h200(kernel):
    assert not is_held_out(kernel)
    measured = read_measured("h200")
    (row,) = compare(choose("h200", [], [], measured.isa), measured, [kernel])
    assert row.cycles == pytest.approx(row.measured["cycles"], rel=CYCLES[kernel])
    assert ratio(row, "L1 sectors") == pytest.approx(1, abs=0.001)
    assert ratio(row, "L2 sectors") == pytest.approx(1, abs=SECTORS[kernel])
