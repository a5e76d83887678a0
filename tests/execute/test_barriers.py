"""CTA barriers in PTX: numbers in registers, thread counts, predicates combined."""

import numpy as np
import pytest

import simtlab as sl

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
KERNEL = """
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<20>;
    .reg .b64 %rd<6>;
    .reg .pred %p<6>;
    .shared .align 4 .b8 buffer[4096];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, buffer;
    add.u32 %r4, %r4, %r3;
    {code}
    st.global.u32 [%rd1], %r2;
    ret;
}}
"""


def run(code, threads):
    gpu = sl.Gpu(threads=1)
    out = gpu.zeros(threads, "u4")
    gpu.load(HEADER + KERNEL.format(code=code))["k"](1, threads, [out])
    return out.numpy()


@pytest.mark.parametrize("threads", [33, 1024])
def test_a_barrier_separates_stores_from_loads_of_all_warps(threads):
    code = """
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    mov.u32 %r5, %ntid.x;
    add.u32 %r6, %r1, 32;
    rem.u32 %r6, %r6, %r5;
    shl.b32 %r6, %r6, 2;
    mov.u32 %r7, buffer;
    add.u32 %r7, %r7, %r6;
    ld.shared.u32 %r2, [%r7];
"""
    np.testing.assert_array_equal(run(code, threads), (np.arange(threads) + 32) % threads)


def test_the_number_and_count_may_be_in_registers():
    code = """
    setp.ge.u32 %p1, %r1, 64;
    @%p1 bra END;
    mov.u32 %r5, 9;
    mov.u32 %r6, 64;
    st.shared.u32 [%r4], %r1;
    barrier.sync %r5, %r6;
    xor.b32 %r7, %r3, 128;
    mov.u32 %r8, buffer;
    add.u32 %r8, %r8, %r7;
    ld.shared.u32 %r2, [%r8];
END:
"""
    t = np.arange(128)
    np.testing.assert_array_equal(run(code, 128), np.where(t < 64, t ^ 32, 0))


@pytest.mark.parametrize("threads", [64, 50])
@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("bar.red.popc.u32 %r2, 0, %p1;", 10),
        ("bar.red.popc.u32 %r2, 3, !%p1;", -10),
        ("bar.red.and.pred %p2, 0, %p1; selp.u32 %r2, 1, 0, %p2;", 0),
        ("bar.red.or.pred %p2, 0, %p1; selp.u32 %r2, 1, 0, %p2;", 1),
        ("bar.red.and.pred %p2, 0, !%p3; selp.u32 %r2, 1, 0, %p2;", 1),
        ("bar.red.or.pred %p2, 0, %p3; selp.u32 %r2, 1, 0, %p2;", 0),
    ],
)
def test_predicates_are_combined_over_the_block(instruction, expected, threads):
    code = "setp.lt.u32 %p1, %r1, 10; setp.gt.u32 %p3, %r1, 5000;" + instruction
    np.testing.assert_array_equal(run(code, threads), expected if expected >= 0 else threads + expected)


def test_two_counts_in_a_row_do_not_mix():
    code = """
    setp.lt.u32 %p1, %r1, 10;
    bar.red.popc.u32 %r5, 0, %p1;
    bar.red.popc.u32 %r6, 0, %p1;
    bar.red.popc.u32 %r7, 0, !%p1;
    mul.lo.u32 %r5, %r5, 10000;
    mad.lo.u32 %r5, %r6, 100, %r5;
    add.u32 %r2, %r5, %r7;
"""
    np.testing.assert_array_equal(run(code, 96), 10 * 10000 + 10 * 100 + 86)


def test_arriving_does_not_wait():
    code = """
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra FIRST;
    bar.sync 5, 64;
    ld.shared.u32 %r2, [buffer];
    bra END;
FIRST:
    mov.u32 %r5, 77;
    st.shared.u32 [buffer], %r5;
    bar.arrive 5, 64;
    mov.u32 %r2, 1;
END:
"""
    np.testing.assert_array_equal(run(code, 64), np.repeat([1, 77], 32))


def test_threads_that_have_ended_count_as_arrived():
    code = """
    setp.ge.u32 %p1, %r1, 40;
    @%p1 exit;
    bar.sync 0;
    mov.u32 %r2, 3;
"""
    np.testing.assert_array_equal(run(code, 128), np.where(np.arange(128) < 40, 3, 0))
