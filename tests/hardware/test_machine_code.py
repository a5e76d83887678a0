"""Whole kernels as machine code of sm_90 give the words an H200 gave: ptxas compiles their PTX, simtlab executes what it made.

None of the 300 is left out: the assembler in nvJitLink 13.4 compiles all of them as their PTX says.
"""

import numpy as np
import pytest

import simtlab as sl
from tests.hardware.test_programs import BLOCKS, PROGRAMS, THREADS, WORDS, describe, recorded

BATCH = 25


def simulated(ptx: str, table: np.ndarray) -> np.ndarray:
    gpu = sl.Gpu(isa="sm_90", memory_bytes=1 << 20)
    out = gpu.zeros((BLOCKS, THREADS, WORDS), "u4")
    gpu.load(ptx)["k"](BLOCKS, THREADS, [out, gpu.array(table)])
    return out.numpy()


def wrong_in(number: int) -> str:
    """What a program got wrong; nothing if it got all its words right."""
    texts, words, table = recorded()
    try:
        got = simulated(texts[number], table)
    except sl.SimtlabError as problem:
        return f"program {number}: {problem}"
    wrong = np.argwhere(got != words[number])
    return describe(number, wrong, words[number], got) if len(wrong) else ""


def test_every_fiftieth_program_writes_the_words_the_hardware_wrote():
    assert [said for said in map(wrong_in, range(0, PROGRAMS, 50)) if said] == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_programs_write_the_words_the_hardware_wrote(first):
    assert [said for said in map(wrong_in, range(first, first + BATCH)) if said] == []
