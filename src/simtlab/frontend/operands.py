"""What follows an opcode: registers, constants, vectors, addresses, and the argument lists of calls."""

from simtlab.frontend import expressions
from simtlab.frontend.ast import (
    Address,
    Arguments,
    Float,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    TextureAddress,
    Vector,
)
from simtlab.frontend.lexer import NAME_STARTS, Cursor, is_name, shown
from simtlab.frontend.names import SPECIAL_REGISTERS, Scope

SINK = Sink()
ENDS = frozenset(",;]})")


class OperandReader:
    """Reads operands; the names in them are looked up in `scope`, which the parser moves as braces open and close."""

    def __init__(self, cursor: Cursor):
        self.cursor = cursor
        self.scope = Scope(None)
        self.undeclared: list[tuple[str, int]] = []  # names the module may still declare, each with its token

    def operands(self) -> tuple[Operand, ...]:
        """Everything up to and including the semicolon."""
        cursor = self.cursor
        if cursor.accept(";"):
            return ()
        found = []
        while True:
            found.append(self.operand())
            text = cursor.texts[cursor.index]
            if text == ",":
                cursor.index += 1
            elif text == ";":
                cursor.index += 1
                return tuple(found)
            else:
                cursor.expected("';' after the instruction")

    def operand(self) -> Operand:
        cursor = self.cursor
        text = cursor.texts[cursor.index]
        if text == "[":
            return self.address()
        first = self.vector() if text == "{" else self.element()
        if cursor.texts[cursor.index] == "|":
            cursor.index += 1
            return Pair(first, self.element())
        return first

    def element(self) -> Operand:
        """One value: what an operand is, and what a vector or an argument list holds."""
        cursor = self.cursor
        text = cursor.texts[cursor.index]
        if text[:1] in NAME_STARTS:
            named = self.scope.find(text)
            if named is None:
                return self.other_name(text)
            cursor.index += 1
            if cursor.texts[cursor.index] in ENDS or isinstance(named, Register):
                return named
            return Symbol(named.name, self.offset())
        if text in ("-", "!"):
            return self.negated(text)
        return self.number()

    def number(self) -> Operand:
        cursor = self.cursor
        if expressions.starts_number(cursor.peek()):
            value = expressions.number(cursor)
            if cursor.peek() in ENDS or isinstance(value, Float):
                return value
            cursor.index -= 1
        elif cursor.peek() not in ("(", "~", "+"):
            cursor.expected("an operand")
        return Integer(expressions.constant(cursor))

    def other_name(self, text: str) -> Operand:
        """A name no scope declares: a sink, a special register, WARP_SZ, or what the module declares further on."""
        cursor = self.cursor
        if text == "_":
            cursor.index += 1
            return SINK
        if text == expressions.WARP_SIZE_NAME:
            return Integer(expressions.constant(cursor))
        if text[0] == "%":
            if text[1:] not in SPECIAL_REGISTERS:
                cursor.fail(f"the register {shown(text)} is not declared")
            cursor.index += 1
            return SpecialRegister(text[1:])
        name = self.symbol_name()
        return Symbol(name, self.offset())

    def symbol_name(self) -> str:
        """Takes the name of a variable, a function or a label; if no scope has it yet, the module must, in the end."""
        cursor = self.cursor
        name = cursor.name("an operand")
        found = self.scope.find(name)
        if found is None:
            self.undeclared.append((name, cursor.index - 1))
            return name
        if isinstance(found, Register):
            cursor.fail(f"{shown(name)} is a register: expected a variable, a function or a label", cursor.index - 1)
        return found.name

    def negated(self, sign: str) -> Operand:
        cursor = self.cursor
        following = cursor.texts[cursor.index + 1]
        if is_name(following) and following != expressions.WARP_SIZE_NAME:
            cursor.index += 1
            return Negated(self.register("a register"))
        if sign == "-" and expressions.starts_number(following):
            cursor.index += 1
            value = expressions.number(cursor)
            if isinstance(value, Float):
                return expressions.negative(value)
            cursor.index -= 2
        return Integer(expressions.constant(cursor))

    def register(self, what: str) -> Register:
        cursor = self.cursor
        text = cursor.peek()
        if not is_name(text):
            cursor.expected(what)
        found = self.scope.find(text)
        if not isinstance(found, Register):
            cursor.fail(f"the register {shown(text)} is not declared")
        cursor.index += 1
        return found

    def vector(self) -> Vector:
        """`{a, b, _}`."""
        return Vector(self.listed("}", "the vector"))

    def listed(self, closing: str, what: str) -> tuple[Operand, ...]:
        cursor = self.cursor
        cursor.index += 1
        found: list[Operand] = []
        if closing == ")" and cursor.accept(closing):
            return ()
        while True:
            found.append(self.element())
            if cursor.accept(closing):
                return tuple(found)
            cursor.expect(",", f"or '{closing}' in {what}")

    # Addresses -------------------------------------------------------------------------------------------------------

    def offset(self) -> int:
        """Takes `+4`, `-4`, `+-4` or nothing."""
        cursor = self.cursor
        text = cursor.peek()
        if text not in ("+", "-"):
            return 0
        if text == "+":
            cursor.index += 1
        return expressions.constant(cursor)

    def address(self) -> Address | TextureAddress:
        cursor = self.cursor
        cursor.index += 1
        base = self.address_base()
        if cursor.peek() == "," and base is not None:
            return self.texture_address(base)
        offset = self.offset() if base is not None else expressions.constant(cursor)
        cursor.expect("]", "to close the address")
        return Address(base, offset)

    def address_base(self) -> Register | Symbol | None:
        cursor = self.cursor
        text = cursor.peek()
        if not is_name(text) or text == expressions.WARP_SIZE_NAME:
            if not (text[:1].isdigit() or text in ("(", "-", "+", "~") or text == expressions.WARP_SIZE_NAME):
                cursor.expected("an address")
            return None
        found = self.scope.find(text)
        if found is not None:
            cursor.index += 1
            return found
        if text[0] == "%":
            cursor.fail(f"the register {shown(text)} is not declared")
        return Symbol(self.symbol_name())

    def texture_address(self, texture: Register | Symbol) -> TextureAddress:
        """The rest of `[texture, {x, y}]` or `[texture, sampler, {x, y}]`; one coordinate may come without braces."""
        cursor = self.cursor
        cursor.index += 1
        sampler = None
        if cursor.peek() != "{" and cursor.texts[cursor.index + 1] == ",":
            sampler = self.address_base()
            if sampler is None:
                cursor.expected("a sampler")
            cursor.expect(",", "after the sampler")
        coordinates = self.listed("}", "the coordinates") if cursor.peek() == "{" else (self.element(),)
        cursor.expect("]", "to close the address")
        return TextureAddress(texture, sampler, coordinates)

    # Calls -----------------------------------------------------------------------------------------------------------

    def call_operands(self) -> tuple[Operand, ...]:
        """`(returns), callee, (arguments), prototype;` where all but the callee may be absent."""
        cursor = self.cursor
        returns = Arguments(())
        if cursor.peek() == "(":
            returns = Arguments(self.listed(")", "the return values"))
            cursor.expect(",", "after the return values")
        found: list[Operand] = [returns, self.callee(), Arguments(())]
        if cursor.accept(","):
            more = True
            if cursor.peek() == "(":
                found[2] = Arguments(self.listed(")", "the arguments"))
                more = cursor.accept(",")
            if more:
                found.append(Symbol(self.symbol_name()))
        cursor.expect(";", "after the instruction")
        return tuple(found)

    def callee(self) -> Register | Symbol:
        cursor = self.cursor
        text = cursor.peek()
        if not is_name(text):
            cursor.expected("a function to call")
        if isinstance(self.scope.find(text), Register) or text[0] == "%":
            return self.register("a function to call")
        return Symbol(self.symbol_name())
