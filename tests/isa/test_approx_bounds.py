"""`.approx` and `.full` functions stay within their stated bound of what an H200 gave; special values are its own."""

import numpy as np
import pytest

from simtlab.isa.approx import BOUNDS, bounds_of
from simtlab.isa.table import rows
from tests.isa.hardware_vectors import hardware_result, inputs, recorded, simulated_result
from tests.isa.native import run
from tests.isa.test_hardware_vectors import is_approximate

FLOAT = {2: np.float16, 4: np.float32, 8: np.float64}
APPROXIMATE = [shape for shape in recorded() if is_approximate(shape)]


def test_every_recorded_approximation_has_a_bound():
    assert APPROXIMATE
    assert not [shape.text for shape in APPROXIMATE if not bounds_of(shape.spellings[0])]


def test_every_approximation_of_the_table_has_a_bound_and_no_bound_is_idle():
    patterns = {row.pattern for row in rows() if ".approx" in row.pattern or ".full" in row.pattern}
    assert patterns == {bound.pattern for bound in BOUNDS}


def distance(kind, hardware, ours):
    """How far two columns of bits are apart, in the measure of a bound."""
    if kind == "ulp":
        return abs(place(hardware) - place(ours)).astype(float)
    true, got = (column.view(FLOAT[column.itemsize]).astype(float) for column in (hardware, ours))
    apart = abs(true - got)
    if kind == "absolute":
        return apart
    return np.where(apart == 0, 0.0, apart / np.where(true == 0, 1e-300, abs(true)))


def place(bits):
    """Which number of its format it is, counted from zero."""
    sign = 1 << (8 * bits.itemsize - 1)
    return np.array([-(int(v) - sign) if v & sign else int(v) for v in bits.tolist()], dtype=object)


@pytest.mark.parametrize("shape", APPROXIMATE, ids=lambda shape: f"{shape.id}-{shape.spellings[0]}")
def test_result_is_within_the_bound_of_the_hardware(shape):
    hardware, ours = hardware_result(shape), simulated_result(shape)
    finite = np.isfinite(hardware.view(FLOAT[hardware.itemsize])) & np.isfinite(ours.view(FLOAT[ours.itemsize]))
    assert np.array_equal(hardware[~finite], ours[~finite])
    operand = inputs(shape)[0]
    operand = operand.view(FLOAT[operand.itemsize])
    remaining = finite
    for bound in bounds_of(shape.spellings[0]):
        held = remaining & ((bound.low < operand) & (operand < bound.high) | (bound.low == -np.inf))
        assert np.all(distance(bound.kind, hardware[held], ours[held]) <= bound.limit)
        remaining = remaining & ~held
    assert not remaining.any()


def test_zero_and_subnormal_operands_give_the_hardware_bits():
    for shape in APPROXIMATE:
        operand = inputs(shape)[0]
        tiny = abs(operand.view(FLOAT[operand.itemsize])) < np.finfo(FLOAT[operand.itemsize]).tiny
        if len(shape.ins) == 1 and shape.spellings[0].partition(".")[0] in ("sin", "cos", "ex2", "tanh"):
            assert np.array_equal(hardware_result(shape)[tiny], simulated_result(shape)[tiny])


def test_a_huge_angle_is_reduced_as_the_hardware_does():
    """1e10 radians: the product with 1/(2 pi) has no bits left below a turn, so the sine is that of whole turns."""
    angle = np.array([1e10, -1e10, 3e38, 0.0], np.float32).view(np.uint32)
    assert [hex(v) for v in run("sin.approx.f32", [angle], np.uint32)] == ["0x0", "0x80000000", "0x0", "0x0"]
    assert set(run("cos.approx.f32", [angle], np.uint32)) == {0x3F800000}
