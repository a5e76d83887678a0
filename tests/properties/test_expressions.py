"""Random expressions compiled from CUDA C++ give, bit for bit, what NumPy and exact arithmetic give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simtlab as sl
from tests.properties import OPTIONS, examples
from tests.properties.expressions import Tree, alone, any_tree, kernel_source, random_inputs
from tests.properties.operations import OPERATIONS
from tests.properties.reference import TYPES

THREADS = 64
CANONICAL_NAN = 0x7FFFFFFF
BATCH = 24  # expressions of a kernel
EXAMPLES = examples(25)


def simulated(expressions: list[Tree], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    gpu = sl.Gpu(memory_bytes=1 << 22)
    threads = inputs["u4"].shape[1]
    out = gpu.zeros((len(expressions), threads), "u8")
    module = gpu.compile(kernel_source(expressions), options=["-fmad=false"])
    module["k"](1, threads, [threads, out, *(gpu.array(inputs[type]) for type in TYPES)])
    return [row.view(e.type)[:: 8 // int(e.type[1])] for row, e in zip(out.numpy(), expressions, strict=True)]


def differences(expression: Tree, inputs: dict[str, np.ndarray], got: np.ndarray) -> np.ndarray:
    """Threads whose result is wrong. One NaN is as good as another, unless the operation promises its pattern."""
    with np.errstate(all="ignore"):
        expected = expression.value(inputs)
    pattern = f"u{expression.type[1]}"
    same = expected.view(pattern) == got.view(pattern)
    if expression.type[0] == "f":
        fitting = np.isnan(got)
        if expression.operation.canonical_nan:
            fitting = got.view(pattern) == CANONICAL_NAN
        same |= np.isnan(expected) & fitting
    return np.flatnonzero(~same)


def check(expressions: list[Tree], inputs: dict[str, np.ndarray]) -> None:
    problems = []
    for expression, got in zip(expressions, simulated(expressions, inputs), strict=True):
        wrong = differences(expression, inputs, got)
        if len(wrong):
            problems.append(describe(expression, inputs, got, wrong[0]))
    assert not problems, "\n".join(problems)


def describe(expression: Tree, inputs: dict[str, np.ndarray], got: np.ndarray, thread: int) -> str:
    with np.errstate(all="ignore"):
        expected = expression.value(inputs)
    text = expression.text()
    used = [f"{t}_{c} = {inputs[t][c][thread]!r}" for t in TYPES for c in range(len(inputs[t])) if f"{t}_{c}" in text]
    return f"{text}\n  thread {thread}: {', '.join(used)}\n  expected {expected[thread]!r}, simtlab {got[thread]!r}"


@pytest.mark.parametrize("part", range(4))
def test_every_operation_alone(part):
    check([alone(operation) for operation in OPERATIONS[part::4]], random_inputs(part, 512))


@settings(max_examples=EXAMPLES, **OPTIONS)
@given(expressions=st.lists(any_tree, min_size=BATCH, max_size=BATCH), seed=st.integers(0, 1 << 30))
def test_random_expressions(expressions, seed):
    check(expressions, random_inputs(seed, THREADS))
