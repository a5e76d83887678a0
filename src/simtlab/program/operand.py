"""An instruction's operands flattened into the array its native function reads."""

import struct
from dataclasses import dataclass
from functools import cache

import numpy as np

from simtlab.errors import PtxError
from simtlab.frontend import ast
from simtlab.isa.lanes import bits_of
from simtlab.isa.shape import ABSENT, IMMEDIATE, KIND_OF_BITS, NOT_PREDICATE, PREDICATE, SINK
from simtlab.isa.table import Modifiers, Operation

NO_REGISTER = -1


@dataclass(frozen=True, slots=True)
class Operand:
    """One flattened operand: its kind, the virtual register it names or the value it holds, and whether it is written."""

    kind: str
    register: int = NO_REGISTER
    value: int = 0
    written: bool = False
    mark: str = ""  # in machine code: negated, its absolute value, complemented


ABSENT_OPERAND = Operand(ABSENT)


def immediate(value: int) -> Operand:
    """Bits for every lane, kept as the signed 64-bit number that the operand array holds."""
    value &= 0xFFFFFFFFFFFFFFFF
    return Operand(IMMEDIATE, value=value - (1 << 64) if value >> 63 else value)


@cache
def register_kind(type: str) -> str:
    """The operand kind of a register of a type."""
    return PREDICATE if type == "pred" else KIND_OF_BITS[bits_of(type)]


def literal_bits(literal: ast.Integer | ast.Float, type: str) -> int:
    """A literal's bits as an operand of `type`."""
    if type == "pred":
        return int(isinstance(literal, ast.Integer) and literal.value != 0)
    width = bits_of(type)
    if isinstance(literal, ast.Integer):
        if type in ("f32", "f64"):
            return _float_bits(float(literal.value), type)
        return literal.value & ((1 << width) - 1)
    if literal.width == width:
        return literal.bits
    value = struct.unpack("<d" if literal.width == 64 else "<f", literal.bits.to_bytes(literal.width // 8, "little"))[0]
    if type == "f16":
        with np.errstate(over="ignore"):
            return int(np.float16(value).view(np.uint16))
    if type in ("f32", "f64"):
        return _float_bits(value, type)
    return literal.bits & ((1 << width) - 1)


def _float_bits(value: float, type: str) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32) if type == "f32" else np.float64(value).view(np.uint64))


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of the text with the signature token it answers to; `written` for destinations."""

    token: str
    operand: ast.Operand | None
    written: bool


def assign(instruction: ast.Instruction, row: Operation, m: Modifiers, source_name: str) -> list[Slot]:
    """Match the operands of the text to the row's signature; optional ones are taken while there are enough."""
    tokens = [(token, True) for token in row.destinations] + [(token, False) for token in row.sources]
    spoken = [(token, written) for token, written in tokens if token != "CC"]
    required = sum(not token.endswith("?") or "|" in token for token, _ in spoken)
    given = list(instruction.operands)
    spare = len(given) - required
    if not 0 <= spare <= len(spoken) - required:
        expected = f"{required}" if required == len(spoken) else f"{required} to {len(spoken)}"
        raise error(instruction, f"{instruction.spelling} takes {expected} operands, not {len(given)}", source_name)
    slots: list[Slot] = []
    for token, written in tokens:
        if token == "CC":
            slots.append(Slot("CC", None, written))
            continue
        if token.endswith("?") and "|" not in token:
            if spare <= 0:
                slots.append(Slot(token[:-1], None, written))
                continue
            spare -= 1
        operand = given.pop(0)
        if "|" in token:
            slots.extend(_pair(token, operand, written))
        else:
            slots.append(Slot(token.rstrip("?"), operand, written))
    return slots


def _pair(token: str, operand: ast.Operand, written: bool) -> list[Slot]:
    first, second = (part.rstrip("?") for part in token.split("|"))
    if isinstance(operand, ast.Pair):
        return [Slot(first, operand.first, written), Slot(second, operand.second, written)]
    return [Slot(first, operand, written), Slot(second, ast.Sink(), written)]


def error(instruction: ast.Instruction, problem: str, source_name: str) -> PtxError:
    return PtxError(problem, instruction.position.line, instruction.position.column, source_name)


__all__ = ["ABSENT_OPERAND", "NOT_PREDICATE", "SINK", "Operand", "Slot", "assign", "immediate", "literal_bits"]
