"""Variables, parameters and registers: `.global .align 4 .b8 table[4] = {1, 2};`"""

import math
from typing import NamedTuple

from simtlab.frontend import expressions
from simtlab.frontend.ast import TYPE_BYTES, Float, Position, Symbol, Variable
from simtlab.frontend.lexer import Cursor, is_name, shown
from simtlab.frontend.names import MAX_REGISTERS, Redeclared, Scope
from simtlab.frontend.operands import OperandReader

MAX_BYTES = 1 << 40  # of one variable; nothing is allocated by the parser, but a larger size is a mistake
MAX_DIMENSIONS = 8
MAX_ALIGNMENT = 1 << 20
VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
OPAQUE_TYPES = ("texref", "samplerref", "surfref")
FLOAT_BITS = {"f16": 16, "f32": 32, "f64": 64}
ADDRESS_BYTES = 8


class Shape(NamedTuple):
    """What stands before the name in a declaration."""

    space: str
    type: str
    align: int
    vector: int  # elements, 1 for a scalar type
    pointer_space: str | None


class DeclarationReader:
    """Reads declarations. `reader` knows the scope that the names in initialisers belong to."""

    def __init__(self, cursor: Cursor, reader: OperandReader):
        self.cursor = cursor
        self.reader = reader

    # Before the name -------------------------------------------------------------------------------------------------

    def shape(self, space: str) -> Shape:
        """Takes alignment, type, vector length and pointer attributes, in the orders PTX allows."""
        cursor = self.cursor
        align, vector, type, pointer_space = 0, 1, "", None
        while (text := cursor.peek())[:1] == ".":
            cursor.index += 1
            if text == ".align":
                align = self.alignment()
            elif text in VECTORS:
                vector = VECTORS[text]
            elif text == ".attribute":
                cursor.skip_balanced("(", ")", "the attribute list")
            elif text == ".ptr":
                pointer_space = self.pointer()
            elif text[1:] in TYPE_BYTES and not type:
                type = text[1:]
            else:
                cursor.index -= 1
                cursor.expected("the name of the variable" if type else "a type such as '.u32'")
        if not type and space == "tex":
            type = "texref"
        if not type:
            cursor.expected("a type such as '.u32'")
        return Shape(space, type, align or TYPE_BYTES[type] * vector, vector, pointer_space)

    def pointer(self) -> str:
        """Takes the rest of `.ptr .global .align 8`; the alignment is of what it points to, which nobody needs yet."""
        cursor = self.cursor
        space = "generic"
        if cursor.peek() in (".const", ".global", ".local", ".shared", ".param"):
            space = cursor.take()[1:]
        if cursor.accept(".align"):
            self.alignment()
        return space

    def alignment(self) -> int:
        cursor = self.cursor
        place = cursor.index
        value = expressions.integer(cursor, "an alignment")
        if value & (value - 1) or not 0 < value <= MAX_ALIGNMENT:
            cursor.fail(f"the alignment {value} is not a power of two up to {MAX_ALIGNMENT}", place)
        return value

    # The name and after ----------------------------------------------------------------------------------------------

    def variables(self, space: str, scope: Scope, extern: bool = False) -> list[Variable]:
        """Takes `.u32 a, b[4] = {1};` after the state space and declares each name."""
        cursor = self.cursor
        shape = self.shape(space)
        found = []
        while True:
            position, place = cursor.position(), cursor.index
            name = cursor.name("the name of the variable")
            unique = name + scope.suffix if scope.outer is None else self.declare(scope, name, place)
            found.append(self.variable(shape, unique, position, extern))
            if cursor.accept(";"):
                return found
            cursor.expect(",", "or ';' after the variable")

    def declare(self, scope: Scope, name: str, place: int) -> str:
        try:
            return scope.declare_symbol(name)
        except Redeclared:
            self.cursor.fail(f"{shown(name)} is already declared in this scope", place)

    def variable(self, shape: Shape, name: str, position: Position, extern: bool = False) -> Variable:
        """Takes dimensions and initialiser."""
        cursor = self.cursor
        dimensions = self.dimensions()
        lengths = [*dimensions, *([shape.vector] if shape.vector > 1 else [])]
        initial: tuple[tuple[int, bytes | Symbol], ...] = ()
        place = cursor.index
        if cursor.accept("="):
            if shape.type in OPAQUE_TYPES:
                cursor.skip_balanced("{", "}", "the initialiser")
            else:
                initial, lengths = InitialiserReader(cursor, self.reader, shape.type).read(lengths)
        count = math.prod(lengths) if lengths else None
        if (count or 0) * TYPE_BYTES[shape.type] > MAX_BYTES:
            cursor.fail(f"{shown(name)} is larger than {MAX_BYTES} bytes", place - 1)
        return Variable(
            shape.space, name, shape.type, shape.align, count, initial, position, extern, shape.pointer_space
        )

    def dimensions(self) -> list[int]:
        """Takes `[4][2]`; an empty pair of brackets counts 0."""
        cursor = self.cursor
        found: list[int] = []
        while cursor.accept("["):
            if cursor.accept("]"):
                found.append(0)
            else:
                place = cursor.index
                found.append(expressions.constant(cursor))
                if found[-1] < 0:
                    cursor.fail(f"an array cannot have {found[-1]} elements", place)
                cursor.expect("]", "to close the dimension")
            if len(found) > MAX_DIMENSIONS:
                cursor.fail(f"an array has at most {MAX_DIMENSIONS} dimensions")
        return found

    # Parameters ------------------------------------------------------------------------------------------------------

    def parameters(self, scope: Scope | None) -> tuple[Variable, ...]:
        """Takes `(.param .u64 a, .reg .b32 b)`, declared in `scope` unless it is a prototype's list."""
        cursor = self.cursor
        cursor.expect("(", "to open the parameter list")
        if cursor.accept(")"):
            return ()
        found = []
        while True:
            found.append(self.parameter(scope))
            if cursor.accept(")"):
                return tuple(found)
            cursor.expect(",", "or ')' after the parameter")

    def parameter(self, scope: Scope | None) -> Variable:
        cursor = self.cursor
        if cursor.peek() not in (".param", ".reg"):
            cursor.expected("'.param' or '.reg'")
        shape = self.shape(cursor.take()[1:])
        position, place = cursor.position(), cursor.index
        if not is_name(cursor.peek()):
            cursor.expected("the name of the parameter")
        name = cursor.take()
        if scope is not None and name != "_":
            if shape.space == "reg":
                self.declare_register(scope, name, shape.type, place)
            else:
                self.declare(scope, name, place)
        return self.variable(shape, name, position)

    # Registers -------------------------------------------------------------------------------------------------------

    def registers(self, scope: Scope) -> None:
        """Takes `.b32 %r<10>, x;` after `.reg`."""
        cursor = self.cursor
        shape = self.shape("reg")
        if shape.vector > 1:
            cursor.fail("vector registers are not supported: declare one register for each element")
        while True:
            place = cursor.index
            name = cursor.name("the name of the register")
            if cursor.accept("<"):
                self.register_range(scope, name, shape.type, place)
            else:
                self.declare_register(scope, name, shape.type, place)
            if cursor.accept(";"):
                return
            cursor.expect(",", "or ';' after the register")

    def register_range(self, scope: Scope, prefix: str, type: str, place: int) -> None:
        cursor = self.cursor
        count = expressions.integer(cursor, "the number of registers")
        if count > MAX_REGISTERS:
            cursor.fail(f"{count} registers are too many: at most {MAX_REGISTERS} in one declaration", place)
        cursor.expect(">", "after the number of registers")
        try:
            scope.declare_range(prefix, count, type)
        except Redeclared as error:
            cursor.fail(f"{shown(f'{prefix}<{count}>')} declares {shown(str(error))} again in this scope", place)

    def declare_register(self, scope: Scope, name: str, type: str, place: int) -> None:
        try:
            scope.declare_register(name, type)
        except Redeclared:
            self.cursor.fail(f"{shown(name)} is already declared in this scope", place)


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
        if text[:1].isdigit() or (text[:1] == "." and text[1:2].isdigit()):
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
    """Makes one whole address of the eight bytes `0xFF(x), 0xFF00(x), …` that NVRTC writes for a pointer in a struct."""
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
