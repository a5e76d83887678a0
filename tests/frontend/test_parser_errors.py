"""What the parser says about text that is not PTX: the words, the line and the column."""

import contextlib
import time

import pytest

from simtlab.errors import PtxError
from simtlab.frontend.parser import parse

HEADER = ".version 7.8\n.target sm_80\n.address_size 64\n"


def failure(text):
    with pytest.raises(PtxError) as caught:
        parse(text, "test.ptx")
    return caught.value.line, caught.value.column, caught.value.problem


def in_module(text):
    """The problem of a text that starts on line 4."""
    return failure(HEADER + text)


def in_body(text):
    """The problem of a text that starts on line 5."""
    return failure(HEADER + ".entry k(.param .u64 out) { .reg .b32 %r<8>, x; .reg .pred p;\n" + text + "\n}")


def test_the_message_starts_with_the_place():
    with pytest.raises(PtxError) as caught:
        parse("\n  hello", "some.ptx")
    assert str(caught.value) == "some.ptx:2:3: expected '.version' at the start of the module, found 'hello'"


HEADERS = [
    ("", 1, 1, "expected '.version' at the start of the module, found the end of the text"),
    (".version x", 1, 10, "expected a version such as '7.8', found 'x'"),
    (".version 7.8\n.entry", 2, 1, "expected '.target' after the version, found '.entry'"),
    (".version 7.8 .target 5", 1, 22, "expected a target such as 'sm_75', found '5'"),
    (".version 7.8 .target sm_80 .address_size 16", 1, 42, "expected '32' or '64', found '16'"),
]


@pytest.mark.parametrize(("text", "line", "column", "problem"), HEADERS)
def test_headers(text, line, column, problem):
    assert failure(text) == (line, column, problem)


MODULES = [
    ("add.s32 %r1;", 4, 1, "expected a variable, a function or a directive, found 'add.s32'"),
    (".global x;", 4, 9, "expected a type such as '.u32', found 'x'"),
    (".global .u32 .foo x;", 4, 14, "expected the name of the variable, found '.foo'"),
    (".global .u32 5;", 4, 14, "expected the name of the variable, found '5'"),
    (".global .u32 x y;", 4, 16, "expected ',' or ';' after the variable, found 'y'"),
    (".global .u32 x[2;", 4, 17, "expected ']' to close the dimension, found ';'"),
    (".global .u32 x[-1];", 4, 16, "an array cannot have -1 elements"),
    (".global .u32 x[1]" + "[1]" * 8 + ";", 4, 42, "an array has at most 8 dimensions"),
    (".global .b64 x[1000000000000];", 4, 29, "'x' is larger than 1099511627776 bytes"),
    (".global .align 3 .u32 x;", 4, 16, "the alignment 3 is not a power of two up to 1048576"),
    (".global .u32 x = ;", 4, 18, "expected an integer constant, found ';'"),
    (".global .u32 x = 1.5;", 4, 18, "a '.u32' cannot start as a floating-point value"),
    (".global .u32 x[2] = 5;", 4, 21, "expected '{' to open the initialiser, found '5'"),
    (".global .u32 x[2] = {1, 2, 3};", 4, 21, "too many values: there is room for 2"),
    (".global .u32 x[2] = {{1}};", 4, 22, "expected a value, found '{'"),
    (".global .u32 x[2] = {1 2};", 4, 24, "expected ',' or '}' in the initialiser, found '2'"),
    (".global .u32 x[][] = {1};", 4, 22, "only the first dimension may be left open"),
    ('.global .b8 x[2] = "abc";', 4, 20, "too many values: there is room for 2"),
    ('.global .u32 x[2] = "abc";', 4, 21, "only an array of bytes can start as a string"),
    (".global .u64 x = 0xF0F(y);", 4, 18, "a mask selects one byte: 0xFF, 0xFF00, 0xFF0000, …"),
    (".global .u64 x = nowhere;", 4, 18, "'nowhere' is not declared: no register, variable, function or label"),
    (".global .u32 x;\n.global .u32 x;", 5, 14, "'x' is already declared in this module"),
    (".func f() { ret; }\n.func f() { ret; }", 5, 7, "'f' is already declared in this module"),
    (".func f();\n.global .u32 f;", 5, 14, "'f' is already declared in this module"),
    (".global .u32 f;\n.func f();", 5, 7, "'f' is already declared in this module"),
    (".alias a, b;", 4, 11, "the function 'b' is not declared"),
    (".entry (.param .u32 x) k();", 4, 8, "expected the name of the function, found '('"),
    (".entry k(.u32 x) {}", 4, 10, "expected '.param' or '.reg', found '.u32'"),
    (".entry k(.param .u32) {}", 4, 21, "expected the name of the parameter, found ')'"),
    (".entry k(.param .u32 x .param .u32 y) {}", 4, 24, "expected ',' or ')' after the parameter, found '.param'"),
    (".entry k(.param .u32 x, .param .u32 x) {}", 4, 37, "'x' is already declared in this scope"),
    (".entry k() .maxntid {", 4, 21, "expected a number, found '{'"),
    (".entry k() .fast {", 4, 12, "expected the body of the function or a directive such as '.maxntid', found '.fast'"),
    (".entry k() ret;", 4, 12, "expected ';' or '{' after the head of the function, found 'ret'"),
    (".entry k() {\nret;\n", 4, 12, "the body of 'k' is not closed: expected '}'"),
    (".entry k() {{ ret; }", 4, 12, "the body of 'k' is not closed: expected '}'"),
    (".entry k() { ret; }}", 4, 20, "expected a variable, a function or a directive, found '}'"),
    (".section .debug {\n{ }", 4, 17, "the section is not closed: expected '}'"),
    (".file x", 4, 7, "expected the number of the file, found 'x'"),
    (".file 1 x", 4, 9, "expected the name of the file, found 'x'"),
    (".pragma nounroll;", 4, 9, "expected a pragma in quotes, found 'nounroll'"),
]


@pytest.mark.parametrize(("text", "line", "column", "problem"), MODULES)
def test_modules(text, line, column, problem):
    assert in_module(text) == (line, column, problem)


UNDECLARED = "is not declared: no register, variable, function or label"
BODIES = [
    ("add.s32 %r1, %r2, %r3\nadd.s32 %r1, %r2, %r3;", 6, 1, "expected ';' after the instruction, found 'add.s32'"),
    ("add.s32 %r1, %r2,;", 5, 18, "expected an operand, found ';'"),
    ("add.s32 %r1 + 4;", 5, 13, "expected ';' after the instruction, found '+'"),
    ("add.s32 %r1, mul.lo;", 5, 14, "expected an operand, found 'mul.lo'"),
    ("add.s32 %r1, .u32;", 5, 14, "expected an operand, found '.u32'"),
    ("  add.s32 %r1, %r8, 1;", 5, 16, "the register '%r8' is not declared"),
    ("add.s32 %r01, 1;", 5, 9, "the register '%r01' is not declared"),
    ("add.s32 %r1, %tid, 1;", 5, 14, "the register '%tid' is not declared"),
    ("add.s32 x, y, 1;", 5, 12, f"'y' {UNDECLARED}"),
    ("mov.b32 x, -y;", 5, 13, "the register 'y' is not declared"),
    ("bra nowhere;", 5, 5, f"'nowhere' {UNDECLARED}"),
    ("{ inner: ret; }\nbra inner;", 6, 5, f"'inner' {UNDECLARED}"),
    ("{ .reg .b32 y; }\nmov.b32 y, 1;", 6, 9, f"'y' {UNDECLARED}"),
    ("@q ret;", 5, 2, "the register 'q' is not declared"),
    ("@p;", 5, 3, "expected an instruction after the guard, found ';'"),
    ("@!;", 5, 3, "expected a predicate register, found ';'"),
    ("%r1 = 5;", 5, 1, "expected an instruction, found '%r1'"),
    ("5;", 5, 1, "expected an instruction, found '5'"),
    (".global2 x;", 5, 1, "expected an instruction or a declaration, found '.global2'"),
    (".reg .b32 %r5;", 5, 11, "'%r5' is already declared in this scope"),
    (".reg .b32 x;", 5, 11, "'x' is already declared in this scope"),
    (".reg .b32 y1; .reg .b32 y<2>;", 5, 25, "'y<2>' declares 'y1' again in this scope"),
    (".reg .b32 %r<2>;", 5, 11, "'%r<2>' declares '%r0' again in this scope"),
    (".reg .b32 y1<5>; .reg .b32 y<11>;", 5, 28, "'y<11>' declares 'y10' again in this scope"),
    (".local .b32 x;", 5, 13, "'x' is already declared in this scope"),
    ("a: a:", 5, 4, "'a' is already declared in this scope"),
    ("x: ret;", 4, 46, "'x' is already declared in this scope"),  # a label is known from the start of its scope
    (".reg .b32 y<999999999>;", 5, 11, "999999999 registers are too many: at most 16777216 in one declaration"),
    (".reg .b32 y<2;", 5, 14, "expected '>' after the number of registers, found ';'"),
    (".reg .v4 .f32 y;", 5, 15, "vector registers are not supported: declare one register for each element"),
    (".reg .b33 y;", 5, 6, "expected a type such as '.u32', found '.b33'"),
    ("ld.u32 x, [%r1;", 5, 15, "expected ']' to close the address, found ';'"),
    ("ld.u32 x, [];", 5, 12, "expected an address, found ']'"),
    ("ld.u32 x, [%r1+%r2];", 5, 16, "expected an integer constant, found '%r2'"),
    ("ld.u32 x, [%rd9];", 5, 12, "the register '%rd9' is not declared"),
    ("mov.b64 {x, %r1;", 5, 16, "expected ',' or '}' in the vector, found ';'"),
    ("mov.b64 {x, {x}};", 5, 13, "expected an operand, found '{'"),
    ("tex.2d.f32 x, [out, {x, x];", 5, 26, "expected ',' or '}' in the coordinates, found ']'"),
    ("mov.b32 x, 0f3F80;", 5, 12, "'0f3F80' needs 8 hexadecimal digits after '0f'"),
    ("mov.b32 x, 0x;", 5, 12, "'0x' is not a number"),
    ("mov.b32 x, 089;", 5, 12, "'089' is not a number"),
    ("mov.b32 x, 1_000;", 5, 12, "'1_000' is not a number"),
    ("mov.b32 x, 18446744073709551616;", 5, 12, "the integer '18446744073709551616' does not fit in 64 bits"),
    ("mov.b32 x, 1 / (2 - 2);", 5, 14, "division by zero in a constant expression"),
    ("mov.b32 x, (1 + 2;", 5, 18, "expected ')' to close the expression, found ';'"),
    ("mov.b32 x, 1 ? 2;", 5, 17, "expected ':' in the conditional expression, found ';'"),
    ("call (x) f;", 5, 10, "expected ',' after the return values, found 'f'"),
    ("call (x), (x);", 5, 11, "expected a function to call, found '('"),
    ("call nowhere, (x);", 5, 6, f"'nowhere' {UNDECLARED}"),
    ("call out, (x), p;", 5, 16, "'p' is a register: expected a variable, a function or a label"),
    ("t: .branchtargets ;", 5, 19, "expected an operand, found ';'"),
    ("t: .callprototype (.param .b32 _);", 5, 34, "expected '_' in the prototype, found ';'"),
    (".loc 1 x 3", 5, 8, "expected a line number, found 'x'"),
    (".loc 1 2 3, inlined_at 1 2 3", 5, 13, "expected 'function_name', found 'inlined_at'"),
    (".extern .reg .b32 y;", 5, 9, "expected a state space such as '.shared', found '.reg'"),
]


@pytest.mark.parametrize(("text", "line", "column", "problem"), BODIES)
def test_bodies(text, line, column, problem):
    assert in_body(text) == (line, column, problem)


def test_a_long_token_is_shortened():
    assert in_body("mov.b32 x, " + "9" * 5000 + ";")[2] == f"the integer '{'9' * 40}…' does not fit in 64 bits"


@pytest.mark.parametrize(
    "text",
    ["{" * 10_000, "mov.b32 x, " + "(" * 10_000, "mov.b32 x, " + "-" * 10_000 + "1;", "mov.b32 x, " + "1?" * 10_000],
)
def test_deep_nesting_is_an_error_not_a_crash(text):
    assert "deep" in in_body(text)[2]


@pytest.mark.parametrize(
    "text",
    [
        "".join(f".reg .b32 a{number}_<9>;" for number in range(20_000)),
        "".join(f"L{number}: " for number in range(20_000)),
        "".join(f"bra L{number}; " for number in range(20_000)),
        "".join(map(chr, range(0x4E00, 0x9000))) * 4,
        "mov.b32 x, {" + "x," * 50_000,
        "mov.b32 x, 1" + "+1" * 50_000 + ";",
    ],
    ids=["ranges", "labels", "branches", "characters", "vector", "sum"],
)
def test_long_texts_take_no_more_than_linear_time(text):
    start = time.process_time()
    with contextlib.suppress(PtxError):
        parse(HEADER + ".entry k() { .reg .b32 x;\n" + text)
    assert time.process_time() - start < 3


def test_deep_nesting_in_an_initialiser_is_an_error_not_a_crash():
    assert in_module(".global .u32 x[1] = " + "{" * 10_000)[2] == "expected a value, found '{'"
