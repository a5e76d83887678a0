"""One instruction of machine code under lowering: its operands taken one by one, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.sass import text as sass
from simtlab.isa.lanes import PLACES, bits_of
from simtlab.isa.shape import (
    ADDRESS,
    ADDRESS_64,
    CONSTANT,
    CONSTANT_64,
    IMMEDIATE,
    NOT_PREDICATE,
    PAIR,
    PREDICATE,
    SCALAR,
    SCALAR_64,
    SINK,
    UNIFORM_PREDICATE,
    WORD,
)
from simtlab.program.action import Action
from simtlab.program.lower import Lowered
from simtlab.program.operand import ABSENT_OPERAND, Operand, immediate
from simtlab.program.sass.registers import number_of

IMMEDIATE_AT = 32  # the first bit of a 32-bit immediate in an instruction's word
REAL = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")
NOTHING = Operand(SINK, written=True)
# Parts that change no result here: how far an access is ordered and which lines caches keep, how a target is written, what
# ptxas knows of convergence, how often a lock is tried; and how a table, a move, a rounding is spelled.
NO_PART_OF_THE_RESULT = (
    "E", "STRONG", "WEAK", "SC", "CONSTANT", "CTA", "SM", "GPU", "SYS", "EF", "EL", "LU", "NA", "IVALL",
    "REL", "ABS", "NOINC", "NODEC", "U", "RECONVERGENT", "RELIABLE", "DEFER_BLOCKING", "SPIN", "LUT", "RN",
)  # fmt: skip


class UnknownSass(SimtlabError):
    """An instruction that simtlab does not execute."""


@dataclass
class Given:
    """An instruction, its operands not yet taken, and what it was lowered to."""

    i: sass.SassInstruction
    origin: ast.Instruction
    bank_starts: dict[int, int]  # where each constant bank lies behind the parameters' address
    bank_bytes: dict[int, int]
    functions: dict[str, int]  # where each function of the program begins, in bytes from its start
    addresses: Mapping[str, int]  # of variables
    result: Operand  # where the next B2R.RESULT puts what a barrier gave
    lowered: list[Lowered] = field(default_factory=list)
    left: list[sass.Operand] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)  # the parts of the spelling that somebody asked for

    def __post_init__(self) -> None:
        self.left = list(self.i.operands)

    def has(self, *parts: str) -> bool:
        """Whether the spelling has one of these parts."""
        self.asked.update(parts)
        return any(part in self.i.parts for part in parts)

    def first_of(self, *parts: str) -> str | None:
        self.asked.update(parts)
        return next((part for part in self.i.parts if part in parts), None)

    def all_of(self, *parts: str) -> list[str]:
        self.asked.update(parts)
        return [part for part in self.i.parts if part in parts]

    def only(self, *parts: str) -> None:
        """No part of the spelling but these may be there."""
        self.asked.update(parts)
        if other := [part for part in self.i.parts if part not in parts]:
            raise self.unknown(f"what .{'.'.join(other)} does is not known")

    @property
    def is_uniform(self) -> bool:
        """Whether it is executed once for the warp: its registers are uniform ones."""
        return self.i.opcode.startswith("U")

    def unknown(self, why: str = "") -> UnknownSass:
        source = self.origin.source
        place = f"{self.i.address:#x}" + (f" ({source.file}:{source.line})" if source else "")
        return UnknownSass(f"'{self.i.text}' at {place}" + (f": {why}" if why else ""))

    # Operands ---------------------------------------------------------------------------------------------------------

    def take(self) -> sass.Operand:
        if not self.left:
            raise self.unknown("an operand is missing")
        return self.left.pop(0)

    @property
    def next_is_predicate(self) -> bool:
        return bool(self.left) and isinstance(self.left[0], sass.Register) and self.left[0].is_predicate

    def assign(self, signature: str) -> list[Operand]:
        """The operands that a signature names: `u32 P? = u32 u64 P?`. An optional predicate is taken if there is one."""
        written, _, read = signature.partition("=")
        found = []
        for token, is_written in [*((t, True) for t in written.split()), *((t, False) for t in read.split())]:
            if token.endswith("?") and not (self.next_is_predicate if token[0] == "P" else self.left):
                found.append(NOTHING if is_written else ABSENT_OPERAND)
                continue
            type = token.rstrip("?")
            found.append(self.destination(type) if is_written else self.source(type))
        return found

    def destination(self, type: str) -> Operand:
        """The next operand, to be written as a value of a type; P is a predicate."""
        operand = self.take()
        if not isinstance(operand, sass.Register):
            raise self.unknown(f"'{operand}' cannot be written")
        if operand.is_predicate != (type == "P"):
            raise self.unknown("a predicate and a register are mixed up")
        if operand.number is None:
            return NOTHING
        number = number_of(operand.file, operand.number)
        if operand.is_predicate:
            return Operand(UNIFORM_PREDICATE if operand.file == "UP" else PREDICATE, number, written=True)
        return Operand(self.kind_of(operand, type), number, written=True)

    @staticmethod
    def kind_of(register: sass.Register, type: str) -> str:
        wide = bits_of(type) == 64
        if register.file == "UR":
            return SCALAR_64 if wide else SCALAR
        return PAIR if wide else WORD

    def source(self, type: str) -> Operand:
        """The next operand as a value of a type; P is a predicate."""
        operand = self.take()
        if isinstance(operand, sass.Register):
            return self.register(operand, type)
        if isinstance(operand, sass.Number):
            return Operand(IMMEDIATE, value=immediate(self.number(operand, type)).value, mark=operand.mark)
        if isinstance(operand, sass.SymbolWord):
            return immediate(self.symbol_word(operand))
        if isinstance(operand, sass.Constant) and type != "P":
            kind = CONSTANT_64 if bits_of(type) == 64 else CONSTANT
            return Operand(kind, value=self.constant(operand), mark=self.mark(operand, type))
        raise self.unknown(f"'{operand}' cannot be read here")

    def register(self, operand: sass.Register, type: str) -> Operand:
        if operand.is_predicate != (type == "P"):
            raise self.unknown("a predicate and a register are mixed up")
        if operand.is_predicate:
            negated = operand.mark == "!"
            if operand.number is None:
                return immediate(int(not negated))
            return Operand(NOT_PREDICATE if negated else PREDICATE, number_of(operand.file, operand.number))
        if operand.file not in ("R", "UR") or type == "P":
            raise self.unknown(f"'{operand.name or operand.file}' cannot be read here")
        mark = self.mark(operand, type)
        if operand.number is None:
            return Operand(IMMEDIATE, value=0, mark=mark)
        return Operand(self.kind_of(operand, type), number_of(operand.file, operand.number), mark=mark)

    def mark(self, operand: sass.Register | sass.Constant, type: str) -> str:
        """The signs of an operand and, where less than a word is read, the part of the word."""
        if bits_of(type) >= 32 and not type.endswith("x2"):
            return operand.mark
        if len(operand.parts) > 1 or any(part not in PLACES for part in operand.parts):
            raise self.unknown(f"what .{'.'.join(operand.parts)} of an operand is, is not known")
        return "".join((operand.mark, *operand.parts))

    def number(self, operand: sass.Number, type: str) -> int:
        """An immediate's bits. A real number's are in the instruction; of a double it has the upper half."""
        if type in REAL:
            bits = self.i.word >> IMMEDIATE_AT & 0xFFFFFFFF
            return bits << 32 if type == "f64" else bits
        return operand.value

    def symbol_word(self, operand: sass.SymbolWord) -> int:
        """A word of an address: of code, from the program's start; of a variable, in device memory."""
        if operand.name not in self.functions and operand.name not in self.addresses:
            raise self.unknown(f"'{operand.name}' is neither a function nor a variable here")
        start = self.functions.get(operand.name, self.addresses.get(operand.name, 0))
        return (start + operand.offset) >> (32 if operand.high else 0) & 0xFFFFFFFF

    def constant(self, operand: sass.Constant) -> int:
        if operand.index is not None or not isinstance(operand.bank, int):
            raise self.unknown("a constant with an index cannot be read here")
        if not 0 <= operand.offset < self.bank_bytes.get(operand.bank, operand.offset + 1):
            raise self.unknown(f"constant bank {operand.bank} has {self.bank_bytes[operand.bank]} bytes")
        return self.place_in_bank(operand.bank, operand.offset)

    def place_in_bank(self, bank: int, offset: int) -> int:
        if bank not in self.bank_starts:
            raise self.unknown(f"there is no constant bank {bank}")
        return self.bank_starts[bank] + offset

    def address(self, wide: bool) -> tuple[list[Operand], list[Operand]]:
        """The next operand as an access's base and offset, and what comes last: a uniform register that is added."""
        operand = self.take()
        if not isinstance(operand, sass.Address):
            raise self.unknown(f"'{operand}' is no address")
        base, last = immediate(0), []
        for register in operand.registers:
            if register.file not in ("R", "UR"):
                raise self.unknown(f"'{register.name or register.file}' is no part of an address")
            if register.number is None:
                continue
            number = number_of(register.file, register.number)
            if register.file == "UR":
                last = [Operand(ADDRESS_64 if wide else ADDRESS, number)]
            else:
                base = Operand(PAIR if "64" in register.parts else WORD, number)
        return [base, immediate(operand.offset)], last

    def integer(self) -> int:
        """The next operand, a number that the instruction has in its word."""
        operand = self.take()
        if not isinstance(operand, sass.Number):
            raise self.unknown(f"'{operand}' is no number")
        return operand.value

    # What it becomes --------------------------------------------------------------------------------------------------

    def guard(self) -> Operand | None:
        if self.i.guard is None:
            return None
        register = self.i.guard.register
        if register.number is None:
            return immediate(0) if self.i.guard.negated else None
        return Operand(NOT_PREDICATE if self.i.guard.negated else PREDICATE, number_of(register.file, register.number))

    def emit(self, action: Action, spelling: str = "", operands: list[Operand] | None = None, **more: Any) -> None:
        guard = self.guard()
        if guard is not None and guard.kind == IMMEDIATE:  # @!PT: never
            self.lowered.append(Lowered(Action.NOTHING, "", [], self.origin))
            return
        self.lowered.append(Lowered(action, spelling, operands or [], self.origin, guard, **more))

    def compute(self, spelling: str, signature: str) -> None:
        """It becomes a row of the table with the operands of a signature, in that order."""
        self.emit(Action.COMPUTE, spelling, self.assign(signature))


Lower = Callable[[Given], None]
LOWERINGS: dict[str, Lower] = {}


def lowers(*opcodes: str) -> Callable[[Lower], Lower]:
    """Declare who lowers some opcodes."""

    def declare(lower: Lower) -> Lower:
        for opcode in opcodes:
            LOWERINGS[opcode] = lower
        return lower

    return declare


def lower_instruction(given: Given) -> Lowered:
    """What an instruction becomes; UnknownSass if simtlab does not execute it."""
    lower = LOWERINGS.get(given.i.opcode)
    if lower is None:
        raise given.unknown()
    try:
        lower(given)
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as problem:  # operands of another kind or number
        raise given.unknown("its operands are not those that such an instruction has") from problem
    given.only(*given.asked, *NO_PART_OF_THE_RESULT)
    if len(given.lowered) != 1:
        raise given.unknown("it was lowered to nothing")
    return given.lowered[0]
