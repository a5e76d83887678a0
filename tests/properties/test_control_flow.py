"""Random control flow (loops of any shape, tables, calls, recursion, early exits) ends as each thread alone would."""

import numpy as np
from hypothesis import given, reject, settings

import simtlab as sl
from tests.properties import OPTIONS, examples
from tests.properties.flow import SLOTS, Interpreter, Program, TooLong
from tests.properties.flow_drawing import programs
from tests.properties.flow_text import program_text

MOST_STEPS = 150_000  # of all threads together


def simulated(ptx: str, threads: int) -> np.ndarray:
    gpu = sl.Gpu(memory_bytes=1 << 20)
    out = gpu.zeros((threads, SLOTS), "u8")
    gpu.load(ptx)["k"](1, threads, [out])
    return out.numpy()


def expected(program: Program) -> np.ndarray:
    return np.frombuffer(Interpreter(program, MOST_STEPS).run(), "u8").reshape(program.threads, SLOTS)


@settings(max_examples=examples(150), **OPTIONS)
@given(program=programs())
def test_threads_end_as_each_alone_would(program):
    try:
        words = expected(program)
    except TooLong:
        reject()
    ptx = program_text(program)
    got = simulated(ptx, program.threads)
    wrong = np.argwhere(got != words)
    assert not len(wrong), describe(ptx, words, got, wrong)


def describe(ptx: str, expected: np.ndarray, got: np.ndarray, wrong: np.ndarray) -> str:
    lines = [f"{len(wrong)} words differ:"]
    for thread, slot in wrong[:4]:
        place = thread, slot
        lines.append(f"  thread {thread}, word {slot}: expected {expected[place]:#x}, simtlab {got[place]:#x}")
    return "\n".join([*lines, ptx])
