"""What the parser gives for each construct of PTX."""

import time
from pathlib import Path

import pytest

from simtlab.frontend.ast import (
    Address,
    Arguments,
    Float,
    Guard,
    Instruction,
    Integer,
    Label,
    Negated,
    Pair,
    Position,
    Register,
    Sink,
    SourceLine,
    SpecialRegister,
    Symbol,
    TextureAddress,
    Vector,
)
from simtlab.frontend.parser import parse

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .pred %p<4>;"
OTHERS = "\n.global .u32 other[4];\n.func f() { ret; }\n"
SAMPLES = sorted((Path(__file__).parent.parent / "data" / "ptx").glob("*.ptx"))


def module(text):
    return parse(HEADER + text, "test.ptx")


def kernel(body, outside=""):
    return module(f"{outside}\n.entry k(.param .u64 out) {{ {REGISTERS}\n{body}\n}}").functions["k"]


def instructions(body, outside=""):
    return [statement for statement in kernel(body, outside).body if isinstance(statement, Instruction)]


def operands(text, outside=""):
    (instruction,) = instructions(f"test.b32 {text};", outside)
    return instruction.operands


def variable(text):
    """The first variable of a module that also has another one and a function."""
    return next(iter(module(text + OTHERS).variables.values()))


def r(number):
    return Register(f"%r{number}", "b32", f"%r{number}")


def rd(number):
    return Register(f"%rd{number}", "b64", f"%rd{number}")


def p(number):
    return Register(f"%p{number}", "pred", f"%p{number}")


# Module ---------------------------------------------------------------------------------------------------------------


def test_the_header():
    found = parse(".version 9.4\n.target sm_90a, texmode_independent, debug\n.address_size 64\n", "name.ptx")
    assert found.version == (9, 4)
    assert found.target == ("sm_90a", "texmode_independent", "debug")
    assert found.address_size == 64
    assert found.source_name == "name.ptx"
    assert found.functions == {} == found.variables


def test_the_address_size_is_64_unless_said():
    assert parse(".version 7.0 .target sm_75").address_size == 64


def test_a_text_may_end_with_a_nul_and_have_carriage_returns():
    text = (HEADER + ".entry k() {\n ret;\n}\n").replace("\n", "\r\n") + "\0"
    (instruction,) = parse(text).functions["k"].body
    assert instruction.position == Position(5, 2)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_samples_parse(sample):
    found = parse(sample.read_text(), sample.name)
    assert any(function.is_kernel and function.body for function in found.functions.values())


def test_twenty_thousand_lines_take_about_a_second():
    body = REGISTERS + "\n" + "@%p1 fma.rn.f32 %f1, %f2, 0f3F800000, %f3;\n.loc 1 2 3\nst.u32 [%rd1+4], %r1;\n" * 7000
    start = time.process_time()
    found = module(f'.entry k() {{ {body} }}\n.file 1 "a.cu"')
    assert time.process_time() - start < 3  # 0.5 s on an idle core; the rest is room for busy ones
    assert len(found.functions["k"].body) == 14_000


# Variables ------------------------------------------------------------------------------------------------------------


def shape(text):
    found = variable(text)
    return found.space, found.type, found.align, found.count, found.size


def test_scalars_arrays_and_vectors():
    assert shape(".global .u32 x;") == ("global", "u32", 4, None, 4)
    assert shape(".visible .const .align 16 .f64 x;") == ("const", "f64", 16, None, 8)
    assert shape(".global .align 2 .b8 x[12];") == ("global", "b8", 2, 12, 12)
    assert shape(".shared .s16 x[2][3][4];") == ("shared", "s16", 2, 24, 48)
    assert shape(".global .v4 .f32 x;") == ("global", "f32", 16, 4, 16)
    assert shape(".global .v2 .u8 x[3];") == ("global", "u8", 2, 6, 6)
    assert shape(".global .u32 x[2 * (3 + 1)];") == ("global", "u32", 4, 8, 32)
    assert shape(".common .global .attribute(.unified(19, 95)) .u32 x;") == ("global", "u32", 4, None, 4)


def test_an_extern_array_without_length_counts_zero():
    found = variable(".extern .shared .align 16 .b8 x[];")
    assert (found.extern, found.count, found.size) == (True, 0, 0)


def test_opaque_variables():
    assert shape(".global .texref x;") == ("global", "texref", 8, None, 8)
    assert shape(".global .samplerref x = { filter_mode = nearest };") == ("global", "samplerref", 8, None, 8)
    assert shape(".tex .u64 x;")[:2] == ("tex", "u64")


def test_several_variables_in_one_declaration():
    assert list(module(".global .u32 a, b[2] = {1}, c;").variables) == ["a", "b", "c"]


def test_a_variable_knows_where_its_name_stands():
    assert variable(".global .u32 x;").position == Position(4, 14)


def test_an_extern_declaration_yields_to_the_definition():
    found = module(".extern .global .u32 x;\n.global .u32 x = 5;\n.extern .global .u32 x;").variables["x"]
    assert (found.extern, found.initial) == (False, ((0, b"\5\0\0\0"),))


def test_a_huge_array_costs_nothing():
    assert variable(".global .b8 x[1000000000000];").size == 10**12


INITIALISERS = [
    (".u32 x = 258", ((0, b"\2\1\0\0"),)),
    (".s16 x = -2", ((0, b"\xfe\xff"),)),
    (".u8 x = 0xFF", ((0, b"\xff"),)),
    (".u64 x = -5", ((0, b"\xfb" + b"\xff" * 7),)),
    (".u32 x = (4*3)+1", ((0, b"\x0d\0\0\0"),)),
    (".u32 x = WARP_SZ", ((0, b"\x20\0\0\0"),)),
    (".f32 x = 0f3F800000", ((0, b"\0\0\x80\x3f"),)),
    (".f32 x = -1.5", ((0, b"\0\0\xc0\xbf"),)),
    (".f32 x = 2", ((0, b"\0\0\0\x40"),)),
    (".f32 x = 1e300", ((0, b"\0\0\x80\x7f"),)),
    (".f32 x = 0d3FF8000000000000", ((0, b"\0\0\xc0\x3f"),)),
    (".f64 x = 0d3FF8000000000000", ((0, b"\0" * 6 + b"\xf8\x3f"),)),
    (".b32 x = 0f3F800000", ((0, b"\0\0\x80\x3f"),)),
    (".b8 x[4] = {1, 2}", ((0, b"\1\2"),)),
    (".b8 x[4] = {}", ()),
    (".b8 x[4] = \"hi\"", ((0, b"hi"),)),
    (".u32 x = {7}", ((0, b"\7\0\0\0"),)),
    (".u8 x[2][2] = {{1}, {2, 3}}", ((0, b"\1"), (2, b"\2\3"))),
    (".u8 x[2][2] = {1, 2, 3, 4}", ((0, b"\1\2\3\4"),)),
    (".v2 .u8 x[2] = {{1, 2}, {3, 4}}", ((0, b"\1\2\3\4"),)),
    (".u64 x = other", ((0, Symbol("other")),)),
    (".u64 x = other+4", ((0, Symbol("other", 4)),)),
    (".u64 x = generic(other)", ((0, Symbol("other", 0, generic=True)),)),
    (".u64 x = generic(other)+4", ((0, Symbol("other", 4, generic=True)),)),
    (".u64 x = generic(other+4)", ((0, Symbol("other", 4, generic=True)),)),
    (".u64 x[3] = {1, f, 2}", ((0, b"\1" + b"\0" * 7), (8, Symbol("f")), (16, b"\2" + b"\0" * 7))),
    (".b8 x[3] = {7, 0xFF(other), 0xFF00(other)}", (
        (0, b"\7"), (1, Symbol("other", mask=0xFF)), (2, Symbol("other", mask=0xFF00)))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "initial"), INITIALISERS)
def test_initialisers(text, initial):
    assert variable(f".global {text};").initial == initial


def test_eight_masked_bytes_are_one_address():
    masks = ", ".join(f"{0xFF << shift:#x}(generic(other)+4)" for shift in range(0, 64, 8))
    found = variable(f".global .b8 x[10] = {{1, {masks}, 2}};")
    assert found.initial == ((0, b"\1"), (1, Symbol("other", 4, generic=True)), (9, b"\2"))


def test_an_open_dimension_is_counted_from_the_values():
    assert variable(".global .u32 x[] = {1, 2, 3};").count == 3
    assert variable(".global .s8 x[][2] = {{-1, 0}, {0, -1}, {1, 0}};").count == 6
    assert variable(".global .s8 x[][2] = {1, 2, 3};").count == 4
    assert variable('.global .b8 x[] = "abc";').initial == ((0, b"abc\0"),)


# Functions ------------------------------------------------------------------------------------------------------------


def test_a_kernel_with_parameters_and_directives():
    function = module(
        ".visible .entry k(.param .u64 .ptr .global .align 8 a, .param .align 8 .b8 b[24], .param .f32 c)\n"
        '.maxntid 256, 1, 1 .minnctapersm 2 .reqnctapercluster 2 .explicitcluster .pragma "unroll"; { ret; }'
    ).functions["k"]
    assert function.is_kernel
    assert [(each.name, each.space, each.type, each.count, each.align) for each in function.parameters] == [
        ("a", "param", "u64", None, 8),
        ("b", "param", "b8", 24, 8),
        ("c", "param", "f32", None, 4),
    ]
    assert [each.pointer_space for each in function.parameters] == ["global", None, None]
    assert list(function.directives.items()) == [
        ("maxntid", (256, 1, 1)),
        ("minnctapersm", (2,)),
        ("reqnctapercluster", (2,)),
        ("explicitcluster", ()),
    ]
    assert function.pragmas == ("unroll",)


def test_a_kernel_may_have_no_parameter_list():
    assert module(".entry k { ret; }").functions["k"].parameters == ()


def test_register_parameters_are_registers_of_the_function():
    function = module(".func (.reg .b32 s) f (.reg .b32 a, .param .b32 b) { mov.b32 s, a; ret; }").functions["f"]
    assert [(each.name, each.space) for each in function.parameters] == [("a", "reg"), ("b", "param")]
    assert [(each.name, each.space) for each in function.returns] == [("s", "reg")]
    assert function.registers == {"s": Register("s", "b32", "s"), "a": Register("a", "b32", "a")}


def test_declarations_have_no_body_and_yield_to_the_definition():
    found = module(
        ".extern .func (.param .b32 s) vprintf (.param .b64 a, .param .b64 b);\n"
        ".func f (.param .b32 x);\n.func f (.param .b32 x) { ret; }\n.func f (.param .b32 x);\n"
    ).functions
    assert (found["vprintf"].body, found["vprintf"].extern, found["vprintf"].is_kernel) == (None, True, False)
    assert len(found["f"].body) == 1
    assert found["f"].position == Position(6, 7)


def test_an_alias_is_the_same_function_under_another_name():
    found = module(".func f() { ret; }\n.func g();\n.alias g, f;").functions
    assert found["g"].body is found["f"].body
    assert found["g"].name == "g"


# Statements -----------------------------------------------------------------------------------------------------------


def test_an_instruction():
    (found,) = instructions("@!%p1 add.rn.f32 %f1, %f2, 0f3F800000;")
    assert (found.opcode, found.modifiers, found.spelling) == ("add", ("rn", "f32"), "add.rn.f32")
    assert found.operands == (Register("%f1", "f32", "%f1"), Register("%f2", "f32", "%f2"), Float(0x3F800000, 32))
    assert found.guard == Guard(p(1), True)
    assert found.position == Position(6, 1)
    assert found.source is None


def test_modifiers_keep_their_spelling_and_may_stand_apart():
    (load,) = instructions("ld.global.L1::no_allocate.L2::128B.v4.u32 %r1, [%rd1];")
    assert load.modifiers == ("global", "L1::no_allocate", "L2::128B", "v4", "u32")
    assert instructions("add .s32 %r1, %r1, %r1;")[0].modifiers == ("s32",)


def test_labels_and_several_statements_on_a_line():
    body = kernel("a: b: bra a; @%p0 bra c; ; c:").body
    assert body[0] == Label("a", Position(6, 1))
    assert [type(statement) for statement in body] == [Label, Label, Instruction, Instruction, Label]
    assert [body[2].operands, body[3].operands] == [(Symbol("a"),), (Symbol("c"),)]


def test_only_registers_in_use_are_listed():
    assert set(kernel("add.s32 %r1, %r7, %r1;").registers) == {"%r1", "%r7"}


def test_a_million_registers_cost_nothing():
    body = "{ .reg .b32 %x<1000000>; mov.b32 %x999999, 0; }"
    assert set(kernel(body).registers) == {"%x999999@2"}


def test_inner_scopes_shadow_registers_labels_and_variables():
    function = kernel(
        """.reg .b32 x; .local .b32 v;
        mov.b32 x, v;
        { .reg .b64 x; .local .b64 v; L: mov.b64 x, v; bra L; { .reg .b32 %r<2>; mov.b32 %r1, %r2; bra E; } }
        { .reg .b16 x; L: mov.b16 x, 1; bra L; }
        E: mov.b32 x, %r1;"""
    )
    found = [statement.operands for statement in function.body if isinstance(statement, Instruction)]
    assert found == [
        (Register("x", "b32", "x"), Symbol("v")),
        (Register("x@2", "b64", "x"), Symbol("v@2")),
        (Symbol("L@2"),),
        (Register("%r1@3", "b32", "%r1"), r(2)),
        (Symbol("E"),),
        (Register("x@4", "b16", "x"), Integer(1)),
        (Symbol("L@4"),),
        (Register("x", "b32", "x"), r(1)),
    ]
    assert [each.name for each in function.body if isinstance(each, Label)] == ["L@2", "L@4", "E"]
    assert [(name, each.type) for name, each in function.variables.items()] == [("v", "b32"), ("v@2", "b64")]


def test_source_lines_hold_until_the_next_one():
    body = """ret; .loc 1 10 3
    ret; ret; .loc 2 20 5, function_name $name+12, inlined_at 1 10 3
    ret; .loc 9 1 1
    ret;"""
    function = module(f'.entry k() {{ {body} }}\n.file 1 "a.cu"\n.file 2 "b.cuh", 1234, 56').functions["k"]
    a, b = SourceLine("a.cu", 10), SourceLine("b.cuh", 20)
    assert [statement.source for statement in function.body] == [None, a, a, b, None]


def test_source_lines_end_with_their_function():
    found = module('.file 1 "a.cu"\n.func f() { .loc 1 1 1\nret; }\n.func g() { ret; }').functions
    assert found["g"].body[0].source is None


def test_sections_are_passed_over():
    found = module(".section .debug_info {\n.b32 .debug_abbrev\n.b8 1,2\nL: .b64 {x}\n}\n.global .u32 y;")
    assert list(found.variables) == ["y"]


def test_tables_of_targets():
    body = "t: .branchtargets a, b; brx.idx %r1, t; a: b: c: .calltargets f, g; call %rd1, (), c;"
    function = kernel(body, OTHERS + ".func g();")
    table, calls = function.branch_targets["t"], function.branch_targets["c"]
    assert (table.kind, table.targets, table.position) == ("branch", ("a", "b"), Position(9, 1))
    assert (calls.kind, calls.targets) == ("call", ("f", "g"))


def test_prototypes():
    function = kernel("p: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[8]) .noreturn;")
    found = function.prototypes["p"]
    assert [each.type for each in found.returns] == ["b32"]
    assert [each.size for each in found.parameters] == [8, 8]


CALLS = [
    ("call f", (Arguments(()), Symbol("f"), Arguments(()))),
    ("call.uni f, (%r1, 5)", (Arguments(()), Symbol("f"), Arguments((r(1), Integer(5))))),
    ("call (%r1), f", (Arguments((r(1),)), Symbol("f"), Arguments(()))),
    ("call (%r1), f, (%r2)", (Arguments((r(1),)), Symbol("f"), Arguments((r(2),)))),
    ("call (_), f, ()", (Arguments((Sink(),)), Symbol("f"), Arguments(()))),
    ("call (%r1), %rd1, (a), proto", (Arguments((r(1),)), rd(1), Arguments((Symbol("a"),)), Symbol("proto"))),
    ("call %rd1, proto", (Arguments(()), rd(1), Arguments(()), Symbol("proto"))),
]


@pytest.mark.parametrize(("text", "expected"), CALLS)
def test_calls_have_returns_callee_and_arguments(text, expected):
    body = f".param .b32 a; proto: .callprototype _ (.param .b32 _); {text};"
    assert instructions(body, OTHERS)[0].operands == expected


# Operands -------------------------------------------------------------------------------------------------------------

OPERANDS = [
    ("%r1", r(1)),
    ("%tid.x", SpecialRegister("tid.x")),
    ("%cluster_nctaid.w", SpecialRegister("cluster_nctaid.w")),
    ("%lanemask_lt", SpecialRegister("lanemask_lt")),
    ("%clock64", SpecialRegister("clock64")),
    ("%envreg31", SpecialRegister("envreg31")),
    ("%pm7_64", SpecialRegister("pm7_64")),
    ("WARP_SZ", Integer(32)),
    ("WARP_SZ*2", Integer(64)),
    ("-WARP_SZ", Integer(-32)),
    ("_", Sink()),
    ("!%p1", Negated(p(1))),
    ("-%r1", Negated(r(1))),
    ("%p1|%p2", Pair(p(1), p(2))),
    ("_|%p2", Pair(Sink(), p(2))),
    ("{%r1, _, %r2}", Vector((r(1), Sink(), r(2)))),
    ("{%r1, %r2}|%p1", Pair(Vector((r(1), r(2))), p(1))),
    ("out", Symbol("out")),
    ("other+8", Symbol("other", 8)),
    ("other-8", Symbol("other", -8)),
    ("f", Symbol("f")),
    ("[%rd1]", Address(rd(1), 0)),
    ("[%rd1+4]", Address(rd(1), 4)),
    ("[%rd1+-4]", Address(rd(1), -4)),
    ("[%rd1-4]", Address(rd(1), -4)),
    ("[%rd1+4*(2+1)]", Address(rd(1), 12)),
    ("[out]", Address(Symbol("out"), 0)),
    ("[other+8]", Address(Symbol("other"), 8)),
    ("[64]", Address(None, 64)),
    ("[image, {%r1, %r2}]", TextureAddress(Symbol("image"), None, (r(1), r(2)))),
    ("[%rd1, sampler, {%r1}]", TextureAddress(rd(1), Symbol("sampler"), (r(1),))),
    ("[image, %rd2, %r1]", TextureAddress(Symbol("image"), rd(2), (r(1),))),
    ("[image, %r1]", TextureAddress(Symbol("image"), None, (r(1),))),
]


@pytest.mark.parametrize(("text", "expected"), OPERANDS)
def test_operands(text, expected):
    assert operands(text, OTHERS + ".global .texref image; .global .samplerref sampler;") == (expected,)


NUMBERS = [
    ("0", 0),
    ("42U", 42),
    ("-7", -7),
    ("+7", 7),
    ("0x1F", 31),
    ("0XFFU", 255),
    ("0b101", 5),
    ("017", 15),
    ("18446744073709551615", 2**64 - 1),
    ("~0", -1),
    ("!3", 0),
    ("!0", 1),
    ("- -3", 3),
    ("(4*3)+1", 13),
    ("1+2*3", 7),
    ("10-4-3", 3),
    ("-7/2", -3),
    ("-7 % 3", -1),
    ("1<<4|3", 19),
    ("6&3^1", 3),
    ("3<4", 1),
    ("3>=4", 0),
    ("1==1 && 2!=2 || 1", 1),
    ("1 ? 2 : 3", 2),
    ("0 ? 2 : 0 ? 3 : 4", 4),
    ("1 << 70", 0),
    ("0xFFFFFFFFFFFFFFFF + 2", 1),
    ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
    ("(.u64)-1", 2**64 - 1),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_integers_and_constant_expressions(text, value):
    assert operands(text) == (Integer(value),)


@pytest.mark.parametrize(
    ("text", "bits", "width"),
    [
        ("0f3F800000", 0x3F800000, 32),
        ("0F7f800001", 0x7F800001, 32),
        ("0dFFF0000000000001", 0xFFF0000000000001, 64),
        ("1.0", 0x3FF0000000000000, 64),
        ("-1.5e0", 0xBFF8000000000000, 64),
        (".5", 0x3FE0000000000000, 64),
        ("-0f00000000", 0x80000000, 32),
    ],
)
def test_floating_literals_keep_their_bits(text, bits, width):
    assert operands(text) == (Float(bits, width),)
