"""Random CUDA programs as machine code give what PTX gives, and what NumPy and plain Python say that they must."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simtlab as sl
from tests.properties import OPTIONS, examples
from tests.properties.cuda_flow import PRELUDE_C, THREADS, Kernel, evaluated, kernels
from tests.properties.expressions import Tree, any_tree, kernel_source, random_inputs
from tests.properties.reference import TYPES
from tests.properties.test_expressions import describe, differences

BATCH = 24  # expressions of a kernel
KERNELS = 10  # of a source
OTHERS = ["sm_75", "sm_120"]

several_kernels = st.tuples(*(kernels(f"k{number}") for number in range(KERNELS)))


# Expressions ----------------------------------------------------------------------------------------------------------


def computed(isa: str, expressions: list[Tree], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    gpu = sl.Gpu(isa=isa, memory_bytes=1 << 22)
    threads = inputs["u4"].shape[1]
    out = gpu.zeros((len(expressions), threads), "u8")
    module = gpu.compile(kernel_source(expressions), options=["-fmad=false"])
    module["k"](1, threads, [threads, out, *(gpu.array(inputs[type]) for type in TYPES)])
    return [row.view(e.type)[:: 8 // int(e.type[1])] for row, e in zip(out.numpy(), expressions, strict=True)]


def check_expressions(isas: list[str], expressions: list[Tree], seed: int) -> None:
    inputs, problems = random_inputs(seed, 64), []
    for isa in isas:
        for expression, got in zip(expressions, computed(isa, expressions, inputs), strict=True):
            wrong = differences(expression, inputs, got)
            if len(wrong):
                problems.append(f"{isa}: {describe(expression, inputs, got, wrong[0])}")
    assert not problems, "\n".join(problems)


@settings(max_examples=examples(2), **OPTIONS)
@given(expressions=st.lists(any_tree, min_size=BATCH, max_size=BATCH), seed=st.integers(0, 1 << 30))
def test_expressions_are_numpys_as_machine_code_and_as_ptx(expressions, seed):
    check_expressions(["ptx", "sm_90"], expressions, seed)


@pytest.mark.slow
@settings(max_examples=examples(30), **OPTIONS)
@given(expressions=st.lists(any_tree, min_size=BATCH, max_size=BATCH), seed=st.integers(0, 1 << 30))
def test_many_expressions_are_numpys_on_every_layout_of_machine_code(expressions, seed):
    check_expressions(["sm_90", *OTHERS], expressions, seed)


# Control flow ---------------------------------------------------------------------------------------------------------


def check_kernels(isas: list[str], drawn: tuple[Kernel, ...], seed: int) -> None:
    inputs = np.random.default_rng(seed).integers(0, 1 << 32, (THREADS, 2), np.uint32) >> np.uint32([[24, 0]])
    expected = [evaluated(kernel, inputs) for kernel in drawn]
    for isa in isas:
        gpu = sl.Gpu(isa=isa, memory_bytes=1 << 22)
        module = gpu.compile(PRELUDE_C + "".join(kernel.c for kernel in drawn))
        for number, (kernel, (words, sums)) in enumerate(zip(drawn, expected, strict=True)):
            if isa == "ptx" and kernel.ends_early:
                continue  # on a SIMT stack __syncwarp() does not wait for lanes that have parted (docs/deviations.md, 2)
            out, total = gpu.zeros((THREADS, 4), "u4"), gpu.zeros(2, "u4")
            module[f"k{number}"](1, THREADS, [out, total, gpu.array(inputs)])
            wrong = np.argwhere(out.numpy() != words)
            assert not len(wrong), f"{isa}, thread and variable {wrong[0]}, {len(wrong)} wrong:\n{kernel}"
            assert list(total) == list(sums), f"{isa}, sums:\n{kernel}"


@settings(max_examples=examples(2), **OPTIONS)
@given(drawn=several_kernels, seed=st.integers(0, 1 << 30))
def test_control_flow_ends_as_each_thread_alone_would_as_machine_code_and_as_ptx(drawn, seed):
    check_kernels(["ptx", "sm_90"], drawn, seed)


@pytest.mark.slow
@settings(max_examples=examples(40), **OPTIONS)
@given(drawn=several_kernels, seed=st.integers(0, 1 << 30))
def test_much_control_flow_ends_as_each_thread_alone_would_on_every_layout_of_machine_code(drawn, seed):
    check_kernels(["sm_90", *OTHERS], drawn, seed)
