"""Whole kernels give the words an H200 gave: loops, divergence, shared memory, atomics, calls, votes, all widths."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl

DATA = Path(__file__).parents[1] / "data" / "hardware" / "ptx_programs.npz"
PROGRAMS, BLOCKS, THREADS, WORDS = 300, 2, 96, 8
BATCH = 25  # a test each: small enough to spread over workers


@cache
def recorded() -> tuple[list[str], np.ndarray, np.ndarray]:
    """The PTX texts, the words each wrote, and the table all of them read."""
    with np.load(DATA) as file:
        return json.loads(str(file["ptx"])), file["out"], file["table"]


def simulated(ptx: str, table: np.ndarray) -> np.ndarray:
    gpu = sl.Gpu(memory_bytes=1 << 20)
    out = gpu.zeros((BLOCKS, THREADS, WORDS), "u4")
    gpu.load(ptx)["k"](BLOCKS, THREADS, [out, gpu.array(table)])
    return out.numpy()


def test_every_program_and_its_words_were_recorded():
    texts, words, table = recorded()
    assert len(texts) == PROGRAMS
    assert len(set(texts)) == PROGRAMS
    assert words.shape == (PROGRAMS, BLOCKS, THREADS, WORDS)
    assert table.shape == (1024,)


@pytest.mark.quick
@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_programs_write_the_words_the_hardware_wrote(first):
    texts, words, table = recorded()
    compared = 0
    for number in range(first, min(first + BATCH, PROGRAMS)):
        got = simulated(texts[number], table)
        wrong = np.argwhere(got != words[number])
        assert not len(wrong), describe(number, wrong, words[number], got)
        compared += 1
    assert compared == BATCH


def describe(number: int, wrong: np.ndarray, expected: np.ndarray, got: np.ndarray) -> str:
    lines = [f"program {number}: {len(wrong)} of {expected.size} words differ"]
    for block, thread, word in wrong[:4]:
        place = block, thread, word
        lines.append(f"  block {block}, thread {thread}, word {word}: hardware {expected[place]:#x}, simtlab {got[place]:#x}")
    return "\n".join(lines)
