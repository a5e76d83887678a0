"""Floating-point and conversion instructions of machine code give the words that an H200 gave for the PTX they came from."""

import re

import numpy as np
import pytest

import simtlab as sl
from tests.isa.hardware_vectors import Recorded, hardware_result, inputs, recorded
from tests.isa.test_hardware_vectors import describe
from tests.program.sass.assembly import kernel, run

FLOATS = [shape for shape in recorded() if re.search(r"\.b?f(16|32|64)", shape.text)]
NOT_BEFORE_AMPERE = re.compile(r"bf16|\.NaN|(min|max)\.f16|(abs|neg)\.f16")  # of PTX, or of its machine code
STEP = 9  # of the everyday tests


def compiled_for(isa: str, shapes: list[Recorded]):
    gpu = sl.Gpu(isa=isa)
    return gpu, gpu.compile("".join(kernel(f"k{shape.id}", shape.text, shape.ins, shape.out) for shape in shapes))


def compare(isa: str, shapes: list[Recorded]) -> None:
    gpu, module = compiled_for(isa, shapes)
    for shape in shapes:
        expected = hardware_result(shape)
        got = run(gpu, module, f"k{shape.id}", inputs(shape), shape.ins, expected.dtype)
        wrong = np.flatnonzero(expected != got)
        assert not len(wrong), describe(shape, wrong, expected, got)


def on(isa: str) -> list[Recorded]:
    return [shape for shape in FLOATS if isa != "sm_75" or not NOT_BEFORE_AMPERE.search(shape.text)]


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_machine_code_gives_the_words_of_the_hardware(isa):
    compare(isa, on(isa)[::STEP])


@pytest.mark.slow
@pytest.mark.parametrize("rest", range(1, STEP))
@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_all_of_the_machine_code_gives_the_words_of_the_hardware(isa, rest):
    compare(isa, on(isa)[rest::STEP])


def test_special_functions_give_the_words_of_the_hardware():
    compare("sm_90", [shape for shape in FLOATS if re.search(r"\.(approx|full)", shape.text)])


def test_divisions_and_roots_take_both_ways_and_give_the_words_of_the_hardware():
    compare("sm_90", [shape for shape in FLOATS if re.match(r"(div|rcp|sqrt)\.rn", shape.text)])
