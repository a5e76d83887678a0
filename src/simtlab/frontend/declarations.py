"""Variables, parameters and registers: `.global .align 4 .b8 table[4] = {1, 2};`"""

import math
from typing import NamedTuple

from simtlab.frontend import expressions
from simtlab.frontend.ast import TYPE_BYTES, Position, Symbol, Variable
from simtlab.frontend.initialisers import InitialiserReader
from simtlab.frontend.lexer import Cursor, is_name, shown
from simtlab.frontend.names import MAX_REGISTERS, Redeclared, Scope
from simtlab.frontend.operands import OperandReader

MAX_BYTES = 1 << 40  # of one variable; nothing is allocated by the parser, but a larger size is a mistake
MAX_DIMENSIONS = 8
MAX_ALIGNMENT = 1 << 20
VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
OPAQUE_TYPES = ("texref", "samplerref", "surfref")


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

    def variables(self, space: str, scope: Scope | None, extern: bool = False) -> list[Variable]:
        """Takes `.u32 a, b[4] = {1};` after the state space and declares each name, unless the caller will."""
        cursor = self.cursor
        shape = self.shape(space)
        found = []
        while True:
            position, place = cursor.position(), cursor.index
            name = cursor.name("the name of the variable")
            unique = name if scope is None else self.declare(scope, name, place)
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
                self.refuse_opaque(shape)
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
        self.refuse_opaque(shape)
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

    def refuse_opaque(self, shape: Shape) -> None:
        if shape.type in OPAQUE_TYPES:
            self.cursor.fail(f"a register cannot be a .{shape.type}: a handle is kept in a .b64 register")

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
