"""Floating-point spellings beyond the recorded vectors, on special operands: 441 of them, computed on an H200.

NaNs of both signs and kinds with payloads, zeros, subnormals, infinities and the largest numbers, in all combinations.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simtlab.isa.build import provide
from tests.isa.native import run, shape_of

DATA = Path(__file__).parents[1] / "data" / "hardware" / "float_edges.npz"


@cache
def data():
    with np.load(DATA) as file:
        return {key: file[key] for key in file.files}


def families():
    """The spellings by opcode: one test each."""
    grouped = {}
    for spelling, sources, _ in json.loads(str(data()["shapes"])):
        grouped.setdefault(spelling.partition(".")[0], []).append((spelling, sources))
    return grouped


@pytest.mark.parametrize("opcode", [pytest.param(one, marks=pytest.mark.slow) if one == "cvt" else one for one in families()])
def test_special_operands_give_the_hardware_bits(opcode):
    cases = []
    for spelling, sources in families()[opcode]:
        cases.append((spelling, [data()[f"in/{','.join(sources)}/{k}"] for k in range(len(sources))], data()[f"out/{spelling}"]))
    provide(shape_of(spelling, columns, expected.dtype) for spelling, columns, expected in cases)  # compiled together
    for spelling, columns, expected in cases:
        got = run(spelling, columns, expected.dtype)
        wrong = np.flatnonzero(got != expected)
        first = [[hex(c[k]) for c in (*columns, expected, got)] for k in wrong[:3]]
        assert not len(wrong), f"{spelling}: operands, hardware, simtlab: {first}"


def test_operands_cover_every_kind_of_number():
    singles = data()["in/f32,f32/0"].view(np.float32)
    assert np.isnan(singles).any()
    assert np.isinf(singles).any()
    assert ((singles != 0) & (abs(singles) < np.finfo(np.float32).tiny)).any()
