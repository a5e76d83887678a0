"""`__launch_bounds__` and `.maxnreg` limit the registers of a kernel that came as PTX, as ptxas limits them."""

import re

import pytest

import simtlab as sl
from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.parser import parse
from simtlab.program.register_limit import register_limit

MANY_LIVE = """extern "C" __global__ void BOUNDS k(float *x)
{
    float v[120];
#pragma unroll
    for (int i = 0; i < 120; i++) v[i] = x[i * 7 + threadIdx.x];
#pragma unroll
    for (int j = 0; j < 3; j++) {
#pragma unroll
        for (int i = 0; i < 120; i++) v[i] = v[i] * v[(i * 37 + 1) % 120] + v[(i * 11 + 5) % 120];
    }
#pragma unroll
    for (int i = 0; i < 120; i++) x[i * 5 + threadIdx.x] = v[i];
}
"""
BOUNDS = [(1024, 1), (1024, 2), (256, 3), (96, 7), (33, 20), (256, 5), (100, 5)]


def compiled(bounds, architecture="compute_75"):
    return compile_cuda(MANY_LIVE.replace("BOUNDS", bounds), architecture=architecture, count_registers=True)


@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
def test_the_limit_is_the_one_that_ptxas_keeps_to(architecture):
    needed = compiled("", architecture).registers.by_name["k"]
    for threads, ctas in BOUNDS:
        given = compiled(f"__launch_bounds__({threads}, {ctas})", architecture)
        module = parse(given.ptx)
        limit = register_limit(module.functions["k"], module.target[0])
        assert given.registers.by_name["k"] == min(limit, needed), (threads, ctas)


def test_a_kernel_that_came_as_ptx_has_no_more_registers_than_its_bounds_leave_it():
    ptx = compiled("__launch_bounds__(1024)").ptx
    assert sl.Gpu().load(ptx)["k"].registers == 64
    assert sl.Gpu().load(unbounded(ptx))["k"].registers > 64


def unbounded(ptx):
    return re.sub(r"\.(maxntid|minnctapersm) [\d, ]+", "", ptx)


def test_maxnreg_says_it_outright():
    ptx = unbounded(compile_cuda(MANY_LIVE.replace("BOUNDS", "")).ptx)
    assert sl.Gpu().load(re.sub(r"\n\{", "\n.maxnreg 40\n{", ptx, count=1))["k"].registers == 40


def test_a_kernel_that_needs_few_has_few():
    ptx = ".version 7.8 .target sm_80 .address_size 64 .entry k() .maxntid 32 { .reg .b32 %r<3>; mov.u32 %r1, 1; ret; }"
    assert sl.Gpu().load(ptx)["k"].registers == 1
