"""Programs that random ones led to: each once was an error, a wrong number or a traceback."""

import copy
from typing import Any

import numpy as np
import pytest

import simtlab as sl
from simtlab.frontend.sass import disassemble
from simtlab.frontend.sass.text import BadOperand, parse_operand

ISAS = ["sm_75", "sm_90", "sm_120"]
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
START = """
 .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<9>;
 ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
"""
NEVER_CALLED = HEAD + """
.func (.param .b32 result) never (.param .b32 a) {
 .reg .b32 %r<9>;
 ld.param.b32 %r1, [a]; and.b32 %r2, %r1, 3;
 T: .branchtargets A0, A1, A2, A3;
 brx.idx %r2, T;
 A0: mul.lo.u32 %r3, %r1, %r1; bra E;
 A1: popc.b32 %r3, %r1; bra E;
 A2: div.u32 %r3, %r1, 3; bra E;
 A3: brev.b32 %r3, %r1;
 E: st.param.b32 [result], %r3; ret;
}
.visible .entry k(.param .u64 out) {""" + START + """
 mul.lo.u32 %r2, %r1, 3; st.global.u32 [%rd1], %r2; ret;
}"""
RECURSION_BY_POINTER = HEAD + """
.func (.param .b32 result) f (.param .b32 n, .param .b64 own) {
 .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<9>;
 ld.param.b32 %r1, [n]; ld.param.b64 %rd1, [own];
 mov.b32 %r2, 1; setp.lt.u32 %p1, %r1, 2; @%p1 bra E;
 sub.u32 %r3, %r1, 1;
 proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
 { .param .b32 back; .param .b32 given0; .param .b64 given1;
 st.param.b32 [given0], %r3; st.param.b64 [given1], %rd1;
 call (back), %rd1, (given0, given1), proto;
 ld.param.b32 %r4, [back]; }
 mul.lo.u32 %r2, %r4, %r1;
 E: st.param.b32 [result], %r2; ret;
}
.visible .entry k(.param .u64 out) {""" + START + """
 mov.u64 %rd3, f; and.b32 %r2, %r1, 7;
 { .param .b32 back; .param .b32 given0; .param .b64 given1;
 st.param.b32 [given0], %r2; st.param.b64 [given1], %rd3;
 call (back), f, (given0, given1);
 ld.param.b32 %r4, [back]; }
 st.global.u32 [%rd1], %r4; ret;
}"""
EARLY_EXIT = HEAD + ".visible .entry k(.param .u64 out) {" + START + """
 and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 1; @%p1 exit;
 st.global.u32 [%rd1], 7; ret;
}"""


def words(isa: str, ptx: str) -> list[int]:
    gpu = sl.Gpu(isa=isa, memory_bytes=1 << 20)
    out = gpu.zeros(32, "u4")
    gpu.load(ptx)["k"](1, 32, [out])
    return out.numpy().tolist()


@pytest.mark.parametrize("isa", ISAS)
def test_a_function_that_nobody_calls_may_lack_its_jump_table(isa):
    assert words(isa, NEVER_CALLED) == list(range(0, 96, 3))


@pytest.mark.parametrize("isa", ISAS)
def test_a_stack_of_unknown_size_is_the_gpus(isa):
    assert words(isa, RECURSION_BY_POINTER) == np.array([1, 1, 2, 6, 24, 120, 720, 5040] * 4).tolist()


def changed(monkeypatch: Any, opcode: str, **fields: str) -> None:
    """From now on nvdisasm says something else of each instruction with an opcode and a guard."""
    listing = disassemble.listing

    def other(content: bytes) -> list[dict]:
        functions = copy.deepcopy(listing(content))
        found = [i for f in functions for i in f["sass-instructions"] if i["opcode"] == opcode and i.get("predicate")]
        assert found
        for instruction in found:
            guard = instruction["predicate"].strip().removeprefix("@")
            instruction.update({key: text.format(guard=guard) for key, text in fields.items()})
        return functions

    monkeypatch.setattr(disassemble, "listing", other)


@pytest.mark.parametrize(("predicate", "operand", "ends"), [
    ("", "{guard}", True), ("@{guard}", "{guard}", True), ("@{guard}", "PT", True), ("@{guard}", "!PT", False),
])  # fmt: skip
def test_an_exit_has_a_predicate_beside_its_guard(monkeypatch, predicate, operand, ends):
    whole = words("sm_90", EARLY_EXIT)
    assert whole == [0 if t % 4 == 1 else 7 for t in range(32)]
    changed(monkeypatch, "EXIT", predicate=predicate, operands=operand)
    assert words("sm_90", EARLY_EXIT) == (whole if ends else [7] * 32)


def ended_by(monkeypatch: Any, last: dict[str, str]) -> None:
    """From now on nvdisasm says that a kernel has NOPs where it ends and behind that, and then this instruction."""
    listing = disassemble.listing

    def other(content: bytes) -> list[dict]:
        functions = copy.deepcopy(listing(content))
        code = functions[0]["sass-instructions"]
        first = next(k for k, i in enumerate(code) if i["opcode"] == "EXIT" and not i.get("predicate"))
        code[first:] = [{"opcode": "NOP"} for _ in code[first:-1]] + [last]
        return functions

    monkeypatch.setattr(disassemble, "listing", other)


def test_a_kernel_that_runs_past_its_code_is_a_fault(monkeypatch):
    ended_by(monkeypatch, {"opcode": "NOP"})
    with pytest.raises(sl.DeviceFault, match="control runs past the end of the kernel's code in kernel 'k'"):
        words("sm_90", EARLY_EXIT)


@pytest.mark.parametrize("last", [{"opcode": "MOV", "operands": "R0,R1"}, {"opcode": "EXIT", "predicate": "@P0"}],
                         ids=["no-branch", "guarded"])  # fmt: skip
def test_code_whose_last_instruction_leads_out_of_it_is_refused(monkeypatch, last):
    ended_by(monkeypatch, last)
    with pytest.raises(sl.SimtlabError, match="kernel 'k' is damaged: control runs past the end of its code"):
        words("sm_90", EARLY_EXIT)


@pytest.mark.parametrize("operand", ["R250", "c[0x0][0xfff0]", "B3", "P0"])
def test_what_a_kernel_does_not_have_is_named(monkeypatch, operand):
    listing = disassemble.listing

    def other(content: bytes) -> list[dict]:
        functions = copy.deepcopy(listing(content))
        first = functions[0]["sass-instructions"][1]
        first.update(opcode="IADD3", operands=f"R0,{operand},RZ,RZ", predicate="")
        return functions

    monkeypatch.setattr(disassemble, "listing", other)
    with pytest.raises(sl.SimtlabError, match=r"'IADD3 R0, .*' at 0x10"):
        words("sm_90", EARLY_EXIT)


@pytest.mark.parametrize("text", ["R255", "R999999", "P7", "B16", "08", "0x" + "1" * 40, "9" * 5000, "[R1+" + "1" * 5000 + "]"],
                         ids=list("abcdefgh"))  # fmt: skip
def test_numbers_that_no_word_has_are_no_operands(text):
    with pytest.raises(BadOperand):
        parse_operand(text)


@pytest.mark.parametrize("isa", ["ptx", "sm_75", "sm_90", "sm_120"])
def test_a_conversion_of_a_64_bit_number_has_its_upper_half_in_the_instruction(isa):
    """I2F.F64.U64 R2, 0x80000000 is of 2**63."""
    source = '''extern "C" __global__ void k(unsigned long long *o) {
        o[0] = __double2uint_rn(__ull2double_rn(0x8000000000000000ull));
        o[1] = __double_as_longlong(__ll2double_rn((long long)0xC000000000000000ull));
        o[2] = __float_as_uint(__ull2float_rn(0x7000000000000000ull)); }'''
    gpu = sl.Gpu(isa=isa)
    out = gpu.zeros(3, "u8")
    gpu.compile(source)["k"](1, 1, [out])
    expected = [0xFFFFFFFF, int(np.float64(-(2.0**62)).view("u8")), int(np.float32(7 * 2.0**60).view("u4"))]
    assert [int(value) for value in out] == expected
