"""Integer, logic and bit instructions of machine code give the words that an H200 gave for the PTX they came from."""

import numpy as np
import pytest

from tests.isa.hardware_vectors import Recorded, hardware_result, inputs, recorded
from tests.isa.test_hardware_vectors import describe
from tests.program.sass.assembly import run
from tests.program.sass.test_recorded_floats import FLOATS, compiled_for

INTEGERS = [shape for shape in recorded() if shape not in FLOATS]
STEP = 4  # of the everyday tests


def compare(isa: str, shapes: list[Recorded]) -> None:
    gpu, module = compiled_for(isa, shapes)
    for shape in shapes:
        expected = hardware_result(shape)
        got = run(gpu, module, f"k{shape.id}", inputs(shape), shape.ins, expected.dtype)
        wrong = np.flatnonzero(expected != got)
        assert not len(wrong), describe(shape, wrong, expected, got)


def test_integers_and_floats_are_all_that_was_recorded():
    assert (len(INTEGERS), len(FLOATS)) == (len(recorded()) - 481, 481)


def test_machine_code_gives_the_words_of_the_hardware():
    compare("sm_90", INTEGERS[::STEP])


@pytest.mark.slow
@pytest.mark.parametrize("rest", range(STEP))
@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_all_of_the_machine_code_gives_the_words_of_the_hardware(isa, rest):
    compare(isa, INTEGERS[rest::STEP])
