"""Calls: windows and frames, guards, exits inside functions, how deep they may go."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.state import MAX_CALLS

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
BODY = """
{{
    .reg .b32 %r<20>;
    .reg .b64 %rd<6>;
    .reg .pred %p<6>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    {code}
    st.global.u32 [%rd1], %r2;
    ret;
}}
"""


@pytest.fixture(params=["stack", "barriers"])
def run(request):
    """Runs a kernel that calls functions; with convergence barriers they are inlined."""

    def run(functions, code, threads=32):
        gpu = sl.Gpu(threads=1, reconvergence=request.param)
        module = gpu.load(HEADER + functions + ".visible .entry k(.param .u64 out)" + BODY.format(code=code))
        out = gpu.array(np.full(threads, 99), "u4")
        module["k"](1, threads, [out])
        return out.numpy()

    return run


TWICE = """
.func (.reg .u32 %result) twice(.reg .u32 %given)
{
    .reg .b32 %r<9>;
    mov.u32 %r1, 12345;
    add.u32 %result, %given, %given;
    ret;
}
"""


def test_arguments_and_results_in_registers(run):
    lane = np.arange(32)
    np.testing.assert_array_equal(run(TWICE, "call (%r2), twice, (%r1);"), 2 * lane)
    np.testing.assert_array_equal(run(TWICE, "call (%r2), twice, (21);"), 42)


def test_a_callee_has_registers_of_its_own(run):
    code = "mov.u32 %r5, 7; call (%r2), twice, (%r1); add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r1;"
    np.testing.assert_array_equal(run(TWICE, code), 3 * np.arange(32) + 7)


def test_a_guarded_call_leaves_the_other_lanes_alone(run):
    code = "mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 10; @%p1 call (%r2), twice, (%r1);"
    lane = np.arange(32)
    np.testing.assert_array_equal(run(TWICE, code), np.where(lane < 10, 2 * lane, 5))


def test_lanes_return_from_different_places(run):
    functions = """
.func (.reg .u32 %result) early(.reg .u32 %given)
{
    .reg .pred %p<4>;
    setp.lt.u32 %p1, %given, 8;
    mov.u32 %result, 1;
    @%p1 ret;
    setp.lt.u32 %p2, %given, 16;
    @%p2 bra MIDDLE;
    mov.u32 %result, 3;
    ret;
MIDDLE:
    mov.u32 %result, 2;
    ret;
}
"""
    found = run(functions, "call (%r2), early, (%r1); add.u32 %r2, %r2, 100;")
    np.testing.assert_array_equal(found, np.select([np.arange(32) < 8, np.arange(32) < 16], [101, 102], 103))


def test_lanes_may_end_inside_a_function(run):
    functions = """
.func leave(.reg .u32 %given)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    and.b32 %r1, %given, 1;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 exit;
    ret;
}
"""
    lane = np.arange(32)
    np.testing.assert_array_equal(run(functions, "mov.u32 %r2, 4; call leave, (%r1);"), np.where(lane % 2, 99, 4))


def test_a_call_in_a_loop_that_lanes_leave_at_different_times(run):
    code = """
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
LOOP:
    call (%r4), twice, (%r3);
    add.u32 %r2, %r2, %r4;
    add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r1;
    @%p1 bra LOOP;
"""
    lane = np.arange(32)
    np.testing.assert_array_equal(run(TWICE, code), lane * (lane + 1))


def test_nested_calls_with_arrays_in_their_frames(run):
    functions = """
.func (.param .u32 result) inner(.param .u32 given)
{
    .local .align 4 .b8 own[16];
    .reg .b32 %r<6>;
    ld.param.u32 %r1, [given];
    st.local.u32 [own], %r1;
    st.local.u32 [own+12], %r1;
    ld.local.u32 %r2, [own];
    ld.local.u32 %r3, [own+12];
    add.u32 %r4, %r2, %r3;
    st.param.u32 [result], %r4;
    ret;
}
.func (.param .u32 result) outer(.param .u32 given)
{
    .local .align 4 .b8 own[32];
    .reg .b32 %r<8>;
    ld.param.u32 %r1, [given];
    st.local.u32 [own+4], %r1;
    {
    .param .u32 argument;
    .param .u32 back;
    add.u32 %r2, %r1, 1;
    st.param.u32 [argument], %r2;
    call (back), inner, (argument);
    ld.param.u32 %r3, [back];
    }
    ld.local.u32 %r4, [own+4];
    add.u32 %r5, %r4, %r3;
    st.param.u32 [result], %r5;
    ret;
}
"""
    code = """
    {
    .param .u32 argument;
    .param .u32 back;
    st.param.u32 [argument], %r1;
    call (back), outer, (argument);
    ld.param.u32 %r2, [back];
    }
"""
    np.testing.assert_array_equal(run(functions, code, 40), 3 * np.arange(40) + 2)


DEEP = """
__device__ __noinline__ int sum(int n)  // with a term that keeps the compiler from making a loop of it
{
    if (n == 0) return 0;
    int below = sum(n - 1);
    return below < 0 ? below ^ n : below + n;
}
extern "C" __global__ void deep(int *out, int n, int apart) { out[threadIdx.x] = sum(n + apart * threadIdx.x); }
"""


def test_how_deep_calls_may_be_nested():
    """As far as the call stack goes; less where functions have many registers, or where lanes part at every level."""
    gpu = sl.Gpu()
    kernel = gpu.compile(DEEP)["deep"]
    out = gpu.zeros(32, "i4")
    for first, apart in ((MAX_CALLS - 4, 0), (MAX_CALLS - 40, 1)):
        kernel(1, 32, [out, first, apart])
        n = first + apart * np.arange(32)
        np.testing.assert_array_equal(out.numpy(), n * (n + 1) // 2)
    with pytest.raises(sl.DeviceFault, match="stack overflow"):
        kernel(1, 32, [out, MAX_CALLS + 4, 0])


def test_the_stack_can_be_made_larger():
    source = """
__device__ __noinline__ int fill(int n)
{
    volatile int own[100];
    own[n % 100] = n;
    int below = n == 0 ? 0 : fill(n - 1);
    return below + own[n % 100];
}
extern "C" __global__ void deep(int *out, int n) { out[threadIdx.x] = fill(n); }
"""
    small, large = sl.Gpu(stack_bytes=4096), sl.Gpu(stack_bytes=65536)
    with pytest.raises(sl.DeviceFault, match="stack overflow"):
        small.compile(source)["deep"](1, 32, [small.zeros(32, "i4"), 60])
    out = large.zeros(32, "i4")
    large.compile(source)["deep"](1, 32, [out, 60])
    assert (out.numpy() == 60 * 61 // 2).all()


def test_a_function_that_is_only_declared_is_refused_before_anything_runs(run):
    with pytest.raises(sl.PtxError, match="function 'missing' is declared but not defined"):
        run(".func missing(.reg .u32 %given);", "call missing, (%r1);")


def test_a_function_called_twice_from_a_function_called_twice_has_frames_of_its_own(run):
    functions = TWICE + """
.func (.param .u32 result) both(.param .u32 given)
{
    .local .align 4 .b8 own[8];
    .reg .b32 %r<8>;
    .reg .b64 %rd<3>;
    .reg .pred %p<2>;
    mov.u64 %rd1, own;
    cvta.local.u64 %rd1, %rd1;
    ld.param.u32 %r1, [given];
    st.u32 [%rd1+4], %r1;
    call (%r2), twice, (%r1);
    setp.gt.u32 %p1, %r1, 12;
    @%p1 bra OVER;
    call (%r2), twice, (%r2);
OVER:
    ld.local.u32 %r3, [own+4];
    mad.lo.u32 %r3, %r3, 100, %r2;
    st.param.u32 [result], %r3;
    ret;
}
"""
    code = """
    { .param .u32 given; .param .u32 back; st.param.u32 [given], %r1; call (back), both, (given); ld.param.u32 %r3, [back]; }
    { .param .u32 given; .param .u32 back; st.param.u32 [given], 5; call (back), both, (given); ld.param.u32 %r4, [back]; }
    add.u32 %r2, %r3, %r4;
"""
    lane = np.arange(32)
    np.testing.assert_array_equal(run(functions, code), 100 * lane + np.where(lane > 12, 2, 4) * lane + 520)
