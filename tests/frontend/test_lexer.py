"""Tokens: what belongs together, where it stands, and what is no token at all."""

import contextlib
import time

import pytest

from simtlab.errors import PtxError
from simtlab.frontend.ast import Position
from simtlab.frontend.lexer import END, Cursor, Tokens, is_name


def tokens(text):
    found = Tokens(text, "test.ptx").texts
    while found and found[-1] == END:
        found.pop()
    return found


def failure(text):
    with pytest.raises(PtxError) as caught:
        Tokens(text, "test.ptx")
    return caught.value


def test_an_opcode_keeps_its_modifiers_and_a_special_register_its_component():
    opcode = "ld.global.L2::128B.v4.u32"
    assert tokens(f"{opcode} %r1, [%rd1+4];") == [opcode, "%r1", ",", "[", "%rd1", "+", "4", "]", ";"]
    assert tokens("mov.u32 %r1,%tid.x;") == ["mov.u32", "%r1", ",", "%tid.x", ";"]
    assert tokens("tex.2d.v4.f32.f32") == ["tex.2d.v4.f32.f32"]


def test_directives_and_names_are_single_tokens():
    assert tokens(".reg .b32 %r<10>;") == [".reg", ".b32", "%r", "<", "10", ">", ";"]
    assert tokens("$L__BB0_2: _a $str$1") == ["$L__BB0_2", ":", "_a", "$str$1"]


def test_numbers_of_every_kind_are_single_tokens():
    numbers = [
        "0",
        "12U",
        "0x1F",
        "0b101",
        "017",
        "1.5",
        "1.",
        ".5",
        "2.5e-3",
        "1e10",
        "0f3F800000",
        "0d3FF0000000000000",
    ]
    assert tokens(" ".join(numbers)) == numbers


def test_two_character_operators_are_single_tokens():
    operators = ["<<", ">>", "<=", ">=", "==", "!=", "&&", "||"]
    assert tokens(" ".join(operators)) == operators
    assert tokens("a|b") == ["a", "|", "b"]


def test_comments_and_space_separate_and_vanish():
    assert tokens("a// b\nc/* d\n* / e */f\t\r\ng") == ["a", "c", "f", "g"]
    assert tokens("/**/ /***/ // x") == []


def test_places_count_lines_and_columns_from_one_with_either_line_end():
    found = Tokens("a b\r\n\tc\n\nd", "test.ptx")
    places = [(1, 1), (1, 3), (2, 2), (4, 1)]
    assert [found.position(index) for index in range(4)] == [Position(*place) for place in places]


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("add\n  #", 2, 3, "unexpected character '#'"),
        ("a £ # b", 1, 3, "unexpected character '£'"),
        ("a \\ b", 1, 3, "unexpected character '\\\\'"),
        ("x\n /* open", 2, 2, "this comment is not closed: expected '*/'"),
        ('.file 1 "open\n"', 1, 9, "this string is not closed: expected '\"' on the same line"),
    ],
)
def test_what_is_no_token_is_named_with_its_place(text, line, column, problem):
    error = failure(text)
    assert (error.line, error.column, error.problem) == (line, column, problem)
    assert str(error) == f"test.ptx:{line}:{column}: {problem}"


def test_names_are_what_ptx_can_declare():
    assert all(is_name(text) for text in ("x", "_x", "$x", "%r1", "_", "_Z3sumIfLi4EEvPT_"))
    assert not any(is_name(text) for text in ("", "%", "1x", ".b32", "add.s32", "+"))


def test_the_cursor_never_moves_past_the_end():
    cursor = Cursor(Tokens("a", "test.ptx"))
    assert [cursor.take() for _ in range(4)] == ["a", END, END, END]


@pytest.mark.parametrize("text", ["/*" * 200_000, '"' * 200_001, "a.b" * 100_000, "1e+" * 100_000, "/* *" * 100_000])
def test_no_text_takes_more_than_linear_time(text):
    start = time.process_time()
    with contextlib.suppress(PtxError):
        Tokens(text, "test.ptx")
    assert time.process_time() - start < 2
