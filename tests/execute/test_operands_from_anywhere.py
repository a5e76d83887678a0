"""Operands that the executor reads itself may be numbers and special registers too: they are brought into a register first."""

import numpy as np
import pytest

import simtlab as sl

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
REGISTERS = """.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .local .align 16 .b8 in_local[64];
ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd3, %rd1, %rd2;
"""


def run(body, threads=32, functions=""):
    gpu = sl.Gpu(memory_bytes=1 << 24)
    out = gpu.zeros(64, "u8")
    text = f"{HEAD}{functions}.visible .entry k(.param .u64 out)\n{{\n{REGISTERS}{body}\nret;\n}}\n"
    gpu.load(text)["k"](1, threads, [out])
    return out.numpy()[:threads]


@pytest.mark.parametrize(("index", "expected"), [("1", [20] * 4), ("0", [10] * 4), ("%laneid", [10, 20, 30, 10])])
def test_an_indexed_branch_takes_a_number_or_a_special_register(index, expected):
    body = f"""targets: .branchtargets A, B, C, A;
        brx.idx {index}, targets;
        A: mov.u32 %r2, 10; bra.uni END;
        B: mov.u32 %r2, 20; bra.uni END;
        C: mov.u32 %r2, 30;
        END: st.global.u32 [%rd3], %r2;"""
    assert run(body, threads=4).tolist() == expected


def test_a_barrier_takes_special_registers():
    """%warpid is 0 in the one warp, %ntid.x its 32 threads."""
    assert run("bar.sync %smid, %ntid.x; st.global.u32 [%rd3], 7;").tolist() == [7] * 32


def test_a_narrow_special_register_is_stored_as_wide_as_the_store():
    assert run("st.global.u64 [%rd3], %laneid;").tolist() == list(range(32))


@pytest.mark.parametrize(("operands", "expected"), [("%laneid, -1", 31), ("%ntid.x, -1", 32), ("%laneid, %lanemask_eq", None)])
def test_a_reduction_over_the_warp_takes_special_registers(operands, expected):
    found = run(f"redux.sync.max.u32 %r2, {operands}; st.global.u32 [%rd3], %r2;").tolist()
    assert found == ([expected] * 32 if expected else list(range(32)))


def test_a_clock_that_is_stored_is_up_to_date():
    body = """st.global.u64 [%rd3], %clock64; mov.u64 %rd4, %clock64; ld.global.u64 %rd5, [%rd3]; sub.u64 %rd6, %rd4, %rd5;
        st.global.u64 [%rd3], %rd6; setp.eq.u64 %p1, %rd5, 0; @%p1 st.global.u64 [%rd3], 99;"""
    assert set(run(body).tolist()) == {2}  # the store and the move


def test_a_local_address_fits_a_32_bit_register():
    body = "add.u32 %r2, in_local, 8; st.local.u32 [in_local+8], 5; ld.local.u32 %r3, [%r2]; st.global.u32 [%rd3], %r3;"
    assert run(body).tolist() == [5] * 32


def test_arguments_of_calls_may_be_special_registers_and_halves():
    functions = """.func (.param .b32 r) f (.param .b32 a) {
        .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
        .func (.reg .f16x2 r) g (.reg .f16x2 a) { mov.b32 r, a; ret; }
        """
    assert run("call (%r2), f, (%laneid); st.global.u32 [%rd3], %r2;", functions=functions).tolist() == list(range(1, 33))
    found = run("call (%r2), g, (%r1); st.global.u32 [%rd3], %r2;", functions=functions)
    assert np.array_equal(found, np.arange(32))
