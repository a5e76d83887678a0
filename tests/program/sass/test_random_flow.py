"""Random control flow (loops of any shape, tables, calls, recursion, exits) as machine code ends as each thread alone would."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings

import simtlab as sl
from tests.properties import OPTIONS, examples
from tests.properties.flow import SLOTS, Call, Graph, Program, TooLong
from tests.properties.flow_drawing import programs
from tests.properties.flow_text import program_text
from tests.properties.test_control_flow import describe, expected


def for_ptxas(program: Program) -> Program:
    """The same without what ptxas refuses: a guard on the access to a call's arguments."""

    def plain(graph: Graph) -> Graph:
        return tuple(tuple(replace(i, through_memory=False) if isinstance(i, Call) and i.guard else i for i in block)
                     for block in graph)  # fmt: skip

    functions = tuple(replace(function, blocks=plain(function.blocks)) for function in program.functions)
    return replace(program, functions=functions, graphs=tuple(plain(graph) for graph in program.graphs))


def check(isas: list[str], drawn: Program) -> None:
    program = for_ptxas(drawn)
    try:
        words = expected(program)
    except TooLong:
        reject()
    ptx = program_text(program).replace(".target sm_90", ".target sm_75")
    for isa in isas:
        gpu = sl.Gpu(isa=isa, memory_bytes=1 << 20)
        out = gpu.zeros((program.threads, SLOTS), "u8")
        gpu.load(ptx)["k"](1, program.threads, [out])
        wrong = np.argwhere(out.numpy() != words)
        assert not len(wrong), f"{isa}: {describe(ptx, words, out.numpy(), wrong)}"


@settings(max_examples=examples(8), **OPTIONS)
@given(program=programs())
def test_threads_end_as_each_alone_would(program):
    check(["sm_90"], program)


@pytest.mark.slow
@settings(max_examples=examples(100), **OPTIONS)
@given(program=programs())
def test_threads_end_as_each_alone_would_on_every_layout_of_machine_code(program):
    check(["sm_75", "sm_90", "sm_120"], program)
