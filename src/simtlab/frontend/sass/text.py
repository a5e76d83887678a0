"""The operands of machine code as nvdisasm writes them, parsed: registers, numbers, constants, addresses."""

import re
from dataclasses import dataclass, field

from simtlab.errors import SimtlabError

LAST = {"R": 254, "UR": 254, "P": 6, "UP": 6, "B": 15}  # the highest number in each file of registers; the next is RZ, PT, …
MOST_DIGITS = 20  # of a number with 64 bits


class BadOperand(SimtlabError):
    """Text of an operand that is not understood."""


@dataclass(frozen=True)
class Register:
    """R4, UR4, P0, UP0, B0 or SR_TID.X; RZ, URZ, PT and UPT have no number."""

    file: str  # "R", "UR", "P", "UP", "B", "SR"
    number: int | None
    name: str = ""  # of a special register
    mark: str = ""  # "-", "|", "-|", "~"; "!" of a predicate
    parts: tuple[str, ...] = ()  # what follows a dot: "64", "H0_H0", "B1"; "reuse" is left out

    @property
    def is_predicate(self) -> bool:
        return self.file in ("P", "UP")


@dataclass(frozen=True)
class Number:
    """An integer, or a real number as it is written: its bits are in the instruction's word."""

    value: int
    text: str
    mark: str = ""

    @property
    def is_whole(self) -> bool:
        return bool(re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", self.text))


@dataclass(frozen=True)
class Constant:
    """c[0x0][0x210], c[0x3][R4+0x8]: a bank, an index register, a byte offset."""

    bank: int | Register
    index: Register | None
    offset: int
    mark: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Address:
    """[R2.64+UR4+0x10] with its descriptor desc[UR4], if any."""

    registers: tuple[Register, ...]
    offset: int
    descriptor: Register | None = None


@dataclass(frozen=True)
class Name:
    """A symbol, a keyword or a label: `vprintf`, `0x3f0` has become a Number."""

    text: str


@dataclass(frozen=True)
class SymbolWord:
    """32@lo((k + 0x640)): the low or high word of a function's or variable's address."""

    name: str
    offset: int
    high: bool


Operand = Register | Number | Constant | Address | Name | SymbolWord


@dataclass(frozen=True)
class Guard:
    register: Register

    @property
    def negated(self) -> bool:
        return self.register.mark == "!"


@dataclass(frozen=True)
class Control:
    """What the compiler tells the issue logic: bits 105 to 125."""

    stall: int
    yields: bool
    write_barrier: int  # 7: none
    read_barrier: int
    wait: int  # a mask of six barriers
    reuse: int

    @classmethod
    def of(cls, word: int) -> "Control":
        bits = word >> 105
        return cls(bits & 15, not bits >> 4 & 1, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63, bits >> 17 & 15)


@dataclass(frozen=True)
class SassInstruction:
    """One instruction. `opcode` is the part before the first dot: "IMAD" of IMAD.WIDE.U32, whose parts are ("WIDE", "U32")."""

    address: int  # in bytes, from the start of the kernel's code
    opcode: str
    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    text: str
    word: int
    control: Control = field(repr=False)
    section: int = 0  # where its section begins: addresses in operands count from there

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.parts))


_REGISTER = re.compile(r"(UR|UP|R|P|B)(\d+|Z|T)((?:\.\w+)*)$")
_SPECIAL = re.compile(r"(SR_[\w.]+|SRZ)$")
_NUMBER = re.compile(r"[-+]?(0x[0-9a-f]+|\d+(\.\d*)?(e[-+]?\d+)?|INF|QNAN|SNAN|NAN)$", re.IGNORECASE)
_CONSTANT = re.compile(r"cx?\[([^\]]+)\]\[([^\]]+)\]((?:\.\w+)*)$")
_SYMBOL_WORD = re.compile(r"32@(lo|hi)\(\(?([^\s()+]+)(?:\s*\+\s*(0x[0-9a-f]+|\d+))?\)?\)")
_ADDRESS = re.compile(r"(?:desc)?(?:\[(UR\d+|URZ)(?:\.64)?\])?\[([^\]]*)\]((?:\.\w+)*)$")


def parse_instruction(
    address: int, opcode: str, operands: str, predicate: str, word: int, section: int = 0
) -> SassInstruction:
    name, *parts = opcode.split(".")
    given = tuple(parse_operand(text) for text in split_operands(operands))
    text = " ".join(part for part in (predicate, opcode, operands.replace(",", ", ")) if part)
    guard = None
    for one in predicate.split():
        if one == "PR":  # all predicates, an operand of P2R that nvdisasm puts here
            continue
        found = parse_operand(one.removeprefix("@"))
        if not isinstance(found, Register) or not found.is_predicate:
            raise BadOperand(f"the guard '{predicate}' is no predicate")
        guard = Guard(found)
    return SassInstruction(address, name, tuple(parts), given, guard, text, word, Control.of(word), section)


def split_operands(text: str) -> list[str]:
    """At commas outside brackets, and where an address follows an operand without one: `R10[R9+UR4]`."""
    parts, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        if letter == "[":
            before = text[start:k]
            if depth == 0 and re.search(r"[A-Z]\w*(\.\w+)*$", before) and not re.search(r"\b(desc|cx?|gdesc|tmem)$", before):
                parts.append(before)
                start = k
            depth += 1
        elif letter == "]":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_operand(text: str) -> Operand:
    body, mark = unmarked(text)
    if match := _REGISTER.fullmatch(body):
        return register(match, mark)
    if _SPECIAL.fullmatch(body):
        return Register("SR", None, body)
    if _NUMBER.fullmatch(body):
        return number(text, body, mark)
    if match := _CONSTANT.fullmatch(body):
        return constant(match, mark)
    if match := _ADDRESS.fullmatch(body):
        return address(match)
    if match := _SYMBOL_WORD.fullmatch(text.strip()):
        return SymbolWord(match[2], whole(match[3] or "0"), match[1] == "hi")
    if re.fullmatch(r"[`(.$\w)@<>:,~*&\s]+", text):
        return Name(text.strip("`()"))
    raise BadOperand(f"'{text}' is no operand that simtlab knows")


def unmarked(text: str) -> tuple[str, str]:
    """The operand without its signs, and the signs."""
    mark = ""
    text = text.strip()
    while text and text[0] in "-!~+" and not _NUMBER.fullmatch(text):
        mark += text[0] if text[0] != "+" else ""
        text = text[1:]
    if text.startswith("|") and "|" in text[1:]:
        inside, _, rest = text[1:].partition("|")
        return inside + rest, mark + "|"
    return text, mark


def register(match: re.Match[str], mark: str) -> Register:
    file, number, rest = match.groups()
    parts = tuple(part for part in rest.split(".") if part and part != "reuse")
    if number in "ZT":
        return Register(file, None, "", mark, parts)
    if (found := whole(number)) > LAST[file]:
        raise BadOperand(f"there is no register {file}{found}")
    return Register(file, found, "", mark, parts)


def whole(text: str) -> int:
    """The value of digits, with a sign perhaps."""
    try:
        if len(text) > MOST_DIGITS + len("-"):
            raise ValueError
        return int(text, 0)
    except ValueError:
        raise BadOperand(f"'{text[:40]}' is no number that a word has") from None


def number(text: str, body: str, mark: str) -> Number:
    is_whole = re.fullmatch(r"[-+]?(0x[0-9a-f]+|\d+)", body, re.IGNORECASE)
    return Number(whole(body) if is_whole else 0, body, mark)


def constant(match: re.Match[str], mark: str) -> Constant:
    bank_text, place, rest = match.groups()
    bank: int | Register
    if re.fullmatch(r"0x[0-9a-f]+", bank_text):
        bank = whole(bank_text)
    else:
        found = parse_operand(bank_text)
        if not isinstance(found, Register):
            raise BadOperand(f"'{bank_text}' is no constant bank")
        bank = found
    registers, offset = sum_of(place)
    if len(registers) > 1:
        raise BadOperand(f"'c[{bank_text}][{place}]' has two index registers")
    parts = tuple(part for part in rest.split(".") if part and part != "reuse")
    return Constant(bank, registers[0] if registers else None, offset, mark, parts)


def address(match: re.Match[str]) -> Address:
    descriptor, place, _ = match.groups()
    registers, offset = sum_of(place)
    found = parse_operand(descriptor) if descriptor else None
    return Address(tuple(registers), offset, found if isinstance(found, Register) else None)


def sum_of(text: str) -> tuple[list[Register], int]:
    """Registers and numbers that are added."""
    registers, offset = [], 0
    for part in re.findall(r"[-+]?[^-+]+", text):
        part = part.removeprefix("+").strip()
        if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", part):
            offset += whole(part)
            continue
        found = parse_operand(part)
        if not isinstance(found, Register):
            raise BadOperand(f"'{text}' is no sum of registers and numbers")
        registers.append(found)
    return registers, offset
