"""What a variable starts as: `= {1, 0f3F800000, generic(x)+4}` becomes bytes and addresses to fill in later."""

import math

from simtlab.frontend import expressions
from simtlab.frontend.ast import TYPE_BYTES, Float, Symbol
from simtlab.frontend.lexer import Cursor, is_name
from simtlab.frontend.operands import OperandReader

FLOAT_BITS = {"f16": 16, "f32": 32, "f64": 64}
ADDRESS_BYTES = 8


class InitialiserReader:
    """Reads `= {…}` into (byte offset, bytes or Symbol) pieces."""

    def __init__(self, cursor: Cursor, reader: OperandReader, type: str):
        self.cursor = cursor
        self.reader = reader
        self.type = type
        self.width = TYPE_BYTES[type]
        self.pieces: list[tuple[int, bytes | Symbol]] = []
        self.run = bytearray()  # constants not yet made a piece
        self.run_start = 0

    def read(self, lengths: list[int]) -> tuple[tuple[tuple[int, bytes | Symbol], ...], list[int]]:
        """Gives the pieces and the lengths, the first one counted from the values where it was left open."""
        cursor = self.cursor
        open_ended = bool(lengths) and lengths[0] == 0
        if open_ended and 0 in lengths[1:]:
            cursor.fail("only the first dimension may be left open")
        if cursor.peek() == "{":
            end = self.braced([(1 << 62) if open_ended else lengths[0], *lengths[1:]] if lengths else [1], 0)
        elif cursor.peek()[:1] == '"':
            end = self.string(lengths)
        elif lengths:
            cursor.expected("'{' to open the initialiser")
        else:
            self.value(0)
            end = 1
        if open_ended:
            lengths = [-(-end // math.prod(lengths[1:])), *lengths[1:]]
        self.close_run()
        return tuple(join_address_bytes(self.pieces)), lengths

    def braced(self, lengths: list[int], first: int) -> int:
        """Takes `{ … }` for an array of these lengths whose elements start at `first`; gives where the values end."""
        cursor = self.cursor
        opening = cursor.index
        cursor.index += 1
        room, part = math.prod(lengths), math.prod(lengths[1:])
        place = first
        if cursor.accept("}"):
            return place
        while True:
            if cursor.peek() == "{":
                if len(lengths) == 1:
                    cursor.expected("a value")
                place = first + -(-(place - first) // part) * part if part else place
                self.check_room(place - first, room, opening)
                self.braced(lengths[1:], place)
                place += part
            else:
                self.check_room(place - first, room, opening)
                self.value(place * self.width)
                place += 1
            if cursor.accept("}"):
                return place
            cursor.expect(",", "or '}' in the initialiser")

    def check_room(self, used: int, room: int, opening: int) -> None:
        if used >= room:
            self.cursor.fail(f"too many values: there is room for {room}", opening)

    def string(self, lengths: list[int]) -> int:
        """A string fills an array of bytes; what is left of the array is zero."""
        cursor = self.cursor
        place = cursor.index
        data = cursor.string("a string").encode("utf-8", "replace")
        if self.width != 1 or len(lengths) != 1:
            cursor.fail("only an array of bytes can start as a string", place)
        if lengths[0] == 0:
            data += b"\0"
        elif len(data) > lengths[0]:
            cursor.fail(f"too many values: there is room for {lengths[0]}", place)
        self.put(0, data)
        return len(data)

    # Values ----------------------------------------------------------------------------------------------------------

    def value(self, offset: int) -> None:
        cursor = self.cursor
        text, following = cursor.peek(), cursor.texts[cursor.index + 1]
        if is_name(text) and text != expressions.WARP_SIZE_NAME:
            self.put(offset, self.symbol())
        elif text[:1].isdigit() and following == "(":
            self.put(offset, self.masked_symbol())
        else:
            self.put(offset, self.constant())

    def symbol(self, mask: int | None = None) -> Symbol:
        """`x`, `x+4`, `generic(x)`, `generic(x)+4`."""
        cursor = self.cursor
        generic = cursor.peek() == "generic" and cursor.texts[cursor.index + 1] == "("
        if generic:
            cursor.index += 2
        name = self.reader.symbol_name()
        offset = self.reader.offset()
        if generic:
            cursor.expect(")", "after the name")
            offset += self.reader.offset()
        return Symbol(name, offset, generic, mask)

    def masked_symbol(self) -> Symbol:
        """`0xFF00(x)`: the byte of the address that the mask selects."""
        cursor = self.cursor
        place = cursor.index
        mask = expressions.integer(cursor, "a mask")
        if mask not in [0xFF << shift for shift in range(0, 64, 8)]:
            cursor.fail("a mask selects one byte: 0xFF, 0xFF00, 0xFF0000, …", place)
        cursor.index += 1
        symbol = self.symbol(mask)
        cursor.expect(")", "after the name")
        return symbol

    def constant(self) -> bytes:
        cursor = self.cursor
        place = cursor.index
        negative = cursor.peek() == "-"
        sign = 1 if negative or cursor.peek() == "+" else 0
        text = cursor.texts[cursor.index + sign]
        if expressions.starts_number(text):
            cursor.index += sign
            value = expressions.number(cursor)
            if isinstance(value, Float):
                return self.float_bytes(expressions.negative(value) if negative else value, place)
        cursor.index = place
        number = expressions.constant(cursor)
        if self.type in FLOAT_BITS:
            width = FLOAT_BITS[self.type]
            return expressions.float_bits(float(number), width).to_bytes(width // 8, "little")
        return (number & ((1 << 8 * self.width) - 1)).to_bytes(self.width, "little")

    def float_bytes(self, value: Float, place: int) -> bytes:
        """A floating literal is rounded to a floating type, and gives its bits to an untyped one of its width."""
        width = FLOAT_BITS.get(self.type)
        if width is not None:
            bits = value.bits if width == value.width else expressions.float_bits(expressions.float_value(value), width)
            return bits.to_bytes(width // 8, "little")
        if self.type[0] != "b" or self.width * 8 != value.width:
            self.cursor.fail(f"a '.{self.type}' cannot start as a floating-point value", place)
        return value.bits.to_bytes(self.width, "little")

    # Pieces ----------------------------------------------------------------------------------------------------------

    def put(self, offset: int, value: bytes | Symbol) -> None:
        if isinstance(value, Symbol):
            self.close_run()
            self.pieces.append((offset, value))
            return
        if self.run and offset != self.run_start + len(self.run):
            self.close_run()
        if not self.run:
            self.run_start = offset
        self.run += value

    def close_run(self) -> None:
        if self.run:
            self.pieces.append((self.run_start, bytes(self.run)))
            self.run = bytearray()


def join_address_bytes(pieces: list[tuple[int, bytes | Symbol]]) -> list[tuple[int, bytes | Symbol]]:
    """Makes one address of the eight bytes `0xFF(x), 0xFF00(x), …` that a pointer in a packed struct is written as."""
    joined: list[tuple[int, bytes | Symbol]] = []
    for offset, value in pieces:
        joined.append((offset, value))
        tail = joined[-ADDRESS_BYTES:]
        start, first = tail[0]
        if not isinstance(first, Symbol) or first.mask != 0xFF or len(tail) < ADDRESS_BYTES:
            continue
        ladder = [
            (start + byte, Symbol(first.name, first.offset, first.generic, 0xFF << 8 * byte))
            for byte in range(ADDRESS_BYTES)
        ]
        if tail == ladder:
            joined[-ADDRESS_BYTES:] = [(start, Symbol(first.name, first.offset, first.generic))]
    return joined
