"""Literals and constant expressions: C operators on 64-bit integers (PTX ISA, "Constant Expressions")."""

import operator
import struct
from collections.abc import Callable
from functools import lru_cache

from simtlab.frontend.ast import Float, Integer
from simtlab.frontend.lexer import Cursor, shown

MAX_DEPTH = 32  # of parentheses and prefixes; a text that nests deeper is broken or hostile
LONGEST_INTEGER = 64  # digits: a 64-bit literal in binary
IEEE_CODES = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}  # of the struct module: the format and its bits
WARP_SIZE_NAME, WARP_SIZE = "WARP_SZ", 32


class MalformedNumber(Exception):
    """Turned into a PtxError where the place is known."""


class DivisionByZero(Exception):
    """Turned into a PtxError where the place is known."""


@lru_cache(maxsize=8192)
def literal(text: str) -> Integer | Float:
    """The value of a number token; MalformedNumber, with the reason, if it is none."""
    if text[:2] in ("0f", "0F", "0d", "0D"):
        width = 32 if text[1] in "fF" else 64
        if len(text) != 2 + width // 4:
            raise MalformedNumber(f"{shown(text)} needs {width // 4} hexadecimal digits after '{text[:2]}'")
        return Float(digits_value(text, text[2:], 16), width)
    if "." in text or ("e" in text.lower() and text[:2] not in ("0x", "0X")):
        try:
            return Float(float_bits(float(text), 64), 64)
        except ValueError:
            raise MalformedNumber(f"{shown(text)} is not a number") from None
    digits = text[:-1] if text[-1] in "uU" else text
    if digits[:2] in ("0x", "0X"):
        value = digits_value(text, digits[2:], 16)
    elif digits[:2] in ("0b", "0B"):
        value = digits_value(text, digits[2:], 2)
    else:
        value = digits_value(text, digits, 8 if digits[:1] == "0" else 10)
    return Integer(value)


def digits_value(text: str, digits: str, base: int) -> int:
    if "_" in digits:
        raise MalformedNumber(f"{shown(text)} is not a number")
    try:
        value = int(digits, base) if len(digits) <= LONGEST_INTEGER else 1 << 64
    except ValueError:
        raise MalformedNumber(f"{shown(text)} is not a number") from None
    if value >> 64:
        raise MalformedNumber(f"the integer {shown(text)} does not fit in 64 bits")
    return value


def starts_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] == "." and text[1:2].isdigit())


def number(cursor: Cursor) -> Integer | Float:
    """Takes a number token."""
    try:
        value = literal(cursor.peek())
    except MalformedNumber as problem:
        cursor.fail(str(problem))
    cursor.index += 1
    return value


def integer(cursor: Cursor, what: str) -> int:
    """Takes a plain unsigned integer, as directives have them."""
    if not cursor.peek()[:1].isdigit():
        cursor.expected(what)
    value = number(cursor)
    if isinstance(value, Float):
        cursor.index -= 1
        cursor.expected(what)
    return value.value


def float_bits(value: float, width: int) -> int:
    """The IEEE bits of a value, rounded to `width`; too large a value is infinite."""
    code, integer_code = IEEE_CODES[width]
    try:
        packed = struct.pack("<" + code, value)
    except OverflowError:
        packed = struct.pack("<" + code, float("inf") if value > 0 else float("-inf"))
    return int(struct.unpack("<" + integer_code, packed)[0])


def float_value(number: Float) -> float:
    code, integer_code = IEEE_CODES[number.width]
    return float(struct.unpack("<" + code, struct.pack("<" + integer_code, number.bits))[0])


def negative(number: Float) -> Float:
    return Float(number.bits ^ (1 << (number.width - 1)), number.width)


# Operators -----------------------------------------------------------------------------------------------------------


def wrap(value: int) -> int:
    """Keeps a result in 64 bits: unsigned where it was positive, as C's unsigned constants, signed otherwise."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def quotient(left: int, right: int) -> int:
    if right == 0:
        raise DivisionByZero
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


def remainder(left: int, right: int) -> int:
    return left - quotient(left, right) * right


def shift_left(left: int, right: int) -> int:
    return left << right if 0 <= right < 64 else 0


def shift_right(left: int, right: int) -> int:
    return left >> right if 0 <= right < 64 else -int(left < 0)


BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {  # operator: (precedence, meaning)
    "||": (1, lambda left, right: int(bool(left or right))),
    "&&": (2, lambda left, right: int(bool(left and right))),
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, shift_left),
    ">>": (8, shift_right),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, quotient),
    "%": (10, remainder),
}
UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda value: int(not value),
}
CASTS: dict[str, Callable[[int], int]] = {
    ".s64": lambda value: ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63),
    ".u64": lambda value: value & ((1 << 64) - 1),
}


def constant(cursor: Cursor, depth: int = 0) -> int:
    """Takes a whole constant expression, `?:` included."""
    if depth > MAX_DEPTH:
        cursor.fail(f"this expression nests more than {MAX_DEPTH} deep")
    condition = binary(cursor, 1, depth)
    if not cursor.accept("?"):
        return condition
    chosen = constant(cursor, depth + 1)
    cursor.expect(":", "in the conditional expression")
    other = constant(cursor, depth + 1)
    return chosen if condition else other


def binary(cursor: Cursor, lowest: int, depth: int) -> int:
    """Takes operands joined by operators that bind at least as tightly as `lowest`."""
    left = unary(cursor, depth)
    while True:
        place = cursor.index
        precedence, meaning = BINARY.get(cursor.peek(), (0, None))
        if meaning is None or precedence < lowest:
            return left
        cursor.index += 1
        right = binary(cursor, precedence + 1, depth)
        try:
            left = wrap(int(meaning(left, right)))
        except DivisionByZero:
            cursor.fail("division by zero in a constant expression", place)


def unary(cursor: Cursor, depth: int) -> int:
    if depth > MAX_DEPTH:
        cursor.fail(f"this expression nests more than {MAX_DEPTH} deep")
    text = cursor.peek()
    if text in UNARY:
        cursor.index += 1
        return wrap(UNARY[text](unary(cursor, depth + 1)))
    if text == "(":
        cursor.index += 1
        if (cast := CASTS.get(cursor.peek())) is not None:
            cursor.index += 1
            cursor.expect(")", "after the type")
            return cast(unary(cursor, depth + 1))
        value = constant(cursor, depth + 1)
        cursor.expect(")", "to close the expression")
        return value
    if text == WARP_SIZE_NAME:
        cursor.index += 1
        return WARP_SIZE
    return integer(cursor, "an integer constant")
