"""A compilation without optimisation leaves no trace in the next one."""

from uuid import uuid4

import pytest

import simtlab as sl
from simtlab.errors import CompileError

SOURCE = """
struct Table { int of[132]; };
extern "C" __global__ void look_up(int *out, Table table) { out[threadIdx.x] = table.of[threadIdx.x]; }
"""


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
def test_what_is_compiled_after_something_for_a_debugger_is_optimised(isa):
    gpu = sl.Gpu(isa=isa, threads=1)

    def compiled(*options):
        module = gpu.compile(f"// {uuid4()}{SOURCE}", options=options)  # which no cache has
        return module.ptx if isa == "ptx" else module.sass

    plain = compiled()
    assert compiled("-G") != plain
    assert compiled() == plain


def test_an_error_of_such_a_compilation_is_told_as_any_other():
    with pytest.raises(CompileError, match="undefined"):
        sl.Gpu(threads=1).compile("__global__ void f() { nothing(); }", options=["-G"])
