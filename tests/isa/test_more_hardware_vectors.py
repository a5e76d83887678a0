"""Carries from additions into subtractions, half-precision comparisons, video instructions, as an H200 computed them.

PTX's text leaves these open or says otherwise: a CC that passes from `add.cc` to `subc`, a `vadd` that saturates.
"""

from functools import cache

import numpy as np
import pytest

from simtlab.isa.build import provide
from tests.isa import hardware_vectors
from tests.isa.hardware_vectors import DATA, hardware_result, instructions, recorded, simulated_result

MORE = DATA.with_name("ptx_more_vectors.npz")
OPCODES = [
    *("add", "sub", "mad", "mad24", "lop3", "setp", "set", "slct", "vmad", "vshl", "vshr", "vavrg2", "vavrg4"),
    *(f"v{name}{count}" for name in ("add", "sub", "absdiff", "min", "max", "set") for count in ("", "2", "4")),
]


@cache
def more() -> dict[str, np.ndarray]:
    with np.load(MORE) as file:
        return {key: file[key] for key in file.files}


@cache
def shapes():
    return recorded.__wrapped__()


@pytest.fixture
def more_data(monkeypatch):
    monkeypatch.setattr(hardware_vectors, "data", more)


def opcode(shape) -> str:
    """The opcode the shape is about: the last that is not the selp that shows a predicate."""
    spellings = [spelling for spelling in shape.spellings if not spelling.startswith("selp")]
    first, last = spellings[0].partition(".")[0], spellings[-1].partition(".")[0]
    return first if last in ("addc", "subc", "madc") else last


def test_every_opcode_is_tested(more_data):
    assert {opcode(shape) for shape in shapes()} == set(OPCODES)


@pytest.mark.parametrize("name", OPCODES)
def test_opcode_matches_the_hardware_bit_for_bit(name, more_data):
    chosen = [shape for shape in shapes() if opcode(shape) == name]
    provide(step for shape in chosen for step, _ in instructions(shape))
    wrong = [shape.text for shape in chosen if (hardware_result(shape) != simulated_result(shape)).any()]
    assert not wrong
