"""Every recorded shape gives the bits an H200 gave."""

from functools import cache

import numpy as np
import pytest

from simtlab.isa.build import provide
from simtlab.isa.table import find
from tests.isa.hardware_vectors import hardware_result, inputs, instructions, recorded, simulated_result

TOGETHER = 64  # shapes compiled at once, for their tests follow one another; one by one they take twice as long


def test_every_recorded_shape_is_in_the_table():
    missing = [shape.text for shape in recorded() if not all(find(spelling) for spelling in shape.spellings)]
    assert not missing


@cache
def compile_together(first: int) -> None:
    provide(step for shape in recorded()[first : first + TOGETHER] for step, _ in instructions(shape))


@pytest.mark.parametrize("shape", recorded(), ids=lambda shape: f"{shape.id}-{shape.spellings[0]}")
def test_shape_matches_the_hardware_bit_for_bit(shape):
    compile_together(recorded().index(shape) // TOGETHER * TOGETHER)
    expected, got = hardware_result(shape), simulated_result(shape)
    wrong = np.flatnonzero(expected != got)
    assert not len(wrong), describe(shape, wrong, expected, got)


def describe(shape, wrong, expected, got) -> str:
    lines = [f"{shape.text}: {len(wrong)} of {len(expected)} differ"]
    for i in wrong[:4]:
        given = ", ".join(f"{column[i]:#x}" for column in inputs(shape))
        lines.append(f"  inputs {given}: hardware {expected[i]:#x}, simtlab {got[i]:#x}")
    return "\n".join(lines)
