"""`__launch_bounds__` and `.maxnreg` limit the registers of a kernel that came as PTX, as ptxas limits them."""

import re

import pytest

import simtlab as sl
from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.parser import parse
from simtlab.program.register_limit import register_limit

MANY_LIVE = """extern "C" __global__ void BOUNDS k(float *x)
{
    float v[200];
#pragma unroll
    for (int i = 0; i < 200; i++) v[i] = x[i * 7 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 200; i++) v[i] = v[i] * v[(i * 37 + 1) % 200] + v[(i * 11 + 5) % 200];
#pragma unroll
    for (int i = 0; i < 200; i++) x[i * 5 + threadIdx.x] = v[i];
}
"""
BOUNDS = [(1024, 1), (1024, 2), (512, 2), (256, 3), (96, 7), (128, 16), (640, 1), (100, 5), (33, 20), (256, 5), (64, 12)]


@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
def test_a_kernel_that_needs_more_has_what_ptxas_gives_it(architecture):
    for threads, ctas in BOUNDS:
        source = MANY_LIVE.replace("BOUNDS", f"__launch_bounds__({threads}, {ctas})")
        compiled = compile_cuda(source, architecture=architecture, count_registers=True)
        module = parse(compiled.ptx)
        given = compiled.registers.by_name["k"]
        limit = register_limit(module.functions["k"], module.target[0])
        assert given <= limit <= max(given, 128), (threads, ctas)  # of registers beyond 128 ptxas may find some needless
        assert sl.Gpu().load(compiled.ptx)["k"].registers == min(limit, sl.Gpu().load(unbounded(compiled.ptx))["k"].registers)


def unbounded(ptx):
    return re.sub(r"\.(maxntid|minnctapersm) [\d, ]+", "", ptx)


def test_maxnreg_says_it_outright():
    ptx = unbounded(compile_cuda(MANY_LIVE.replace("BOUNDS", "")).ptx)
    assert sl.Gpu().load(ptx)["k"].registers > 150
    assert sl.Gpu().load(re.sub(r"\n\{", "\n.maxnreg 40\n{", ptx, count=1))["k"].registers == 40


def test_a_kernel_that_needs_few_has_few():
    ptx = ".version 7.8 .target sm_80 .address_size 64 .entry k() .maxntid 32 { .reg .b32 %r<3>; mov.u32 %r1, 1; ret; }"
    assert sl.Gpu().load(ptx)["k"].registers == 1
