"""Whatever the text, parsing ends in a module or in a PtxError with a place inside the text."""

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simtlab.errors import PtxError
from simtlab.frontend.ast import Module
from simtlab.frontend.parser import parse

SAMPLES = [path.read_text() for path in sorted((Path(__file__).parent.parent / "data" / "ptx").glob("*.ptx"))]
HEADER = ".version 7.8 .target sm_80 .address_size 64\n"
BODY = HEADER + ".entry k(.param .u64 out) { .reg .b32 %r<8>; .reg .pred p;\n"
WORDS = """
    .version .target .address_size .global .const .shared .local .param .reg .extern .visible .weak .common .align
    .u8 .b32 .s64 .f32 .f64 .pred .texref .v2 .v4 .entry .func .maxntid .minnctapersm .noreturn .file .loc .section
    .pragma .alias .branchtargets .calltargets .callprototype .attribute .ptr function_name inlined_at generic
    call call.uni bra ret add.s32 ld.global.v4.u32 mov.b64 tex.2d.v4.f32.f32 setp.lt.s32
    @ ! ~ - + * / % & | ^ << >> < > <= == != && || ? : = , ; ( ) [ ] { } _ . $ " /* */ //
    x y k L: $x p %r1 %r<8> %p1 %tid.x %laneid WARP_SZ sm_80 "text"
    0 1 4 16 0xFF 0xFF( 0f3F800000 0d3FF0000000000000 1.5 7.8 1e9 017 089 0x 999999999999999999999
"""
fuzz = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def error_of(text):
    try:
        assert isinstance(parse(text, "fuzz.ptx"), Module)
    except PtxError as error:
        return error
    return None


def parses_or_says_where(text):
    error = error_of(text)
    if error is not None:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
        assert error.problem


@settings(fuzz, max_examples=300)
@given(st.binary(max_size=300), st.sampled_from(["", HEADER, BODY]))
def test_random_bytes(data, before):
    parses_or_says_where(before + data.decode("latin-1"))


@settings(fuzz, max_examples=600)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=40), st.sampled_from([HEADER, BODY]))
def test_random_tokens(words, before):
    parses_or_says_where(before + " ".join(words))


def mutated(text, kind, first, second, character):
    """The text with one of its tokens changed; the places are fractions of it."""
    spans = [match.span() for match in re.finditer(r"[\w.%$]+|[^\w\s]", text)]
    if not spans:
        return character
    start, end = spans[int(first * (len(spans) - 1))]
    other_start, other_end = spans[int(second * (len(spans) - 1))]
    other = text[other_start:other_end]
    return {
        "delete": text[:start] + text[end:],
        "duplicate": text[:end] + " " + text[start:],
        "replace": text[:start] + other + text[end:],
        "insert": text[:start] + other + " " + text[start:],
        "cut": text[:start],
        "flip": text[:start] + character + text[start + 1 :],
    }[kind]


MUTATIONS = st.tuples(
    st.sampled_from(["delete", "duplicate", "replace", "insert", "cut", "flip"]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.characters(max_codepoint=255),
)


@settings(fuzz, max_examples=600)
@given(st.sampled_from(SAMPLES), st.lists(MUTATIONS, min_size=1, max_size=4))
def test_real_ptx_with_a_few_changes(text, mutations):
    for mutation in mutations:
        text = mutated(text, *mutation)
    parses_or_says_where(text)
