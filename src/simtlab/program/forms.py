"""Operand arrays of barriers, textures and surfaces, which the executor reads itself."""

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from simtlab.frontend import ast
from simtlab.isa.lanes import bits_of
from simtlab.isa.shape import ABSENT, CONSTANT, DOUBLE, HALF, IMMEDIATE, NOT_PREDICATE, SCALAR, SINK, WORD
from simtlab.isa.table import Modifiers
from simtlab.program.action import BarrierKind
from simtlab.program.lower import Lowered

NOT_THERE, A_NUMBER, A_REGISTER, A_NEGATED_PREDICATE = 0, 1, 2, 3  # what an operand is, for the executor

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube")
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
TEXEL_TYPES = ("f32", "u32", "s32")


class HandleIn(IntEnum):
    """Where an access finds the handle of its image."""

    NUMBER = 0  # in the instruction
    DOUBLE = 1  # a 64-bit register
    WORD = 2  # machine code, which has the lower word of a handle only: a register
    SCALAR = 3  # … a uniform register
    CONSTANT = 4  # … a word of the constant banks


HANDLE_KINDS = {
    IMMEDIATE: HandleIn.NUMBER, DOUBLE: HandleIn.DOUBLE, WORD: HandleIn.WORD, SCALAR: HandleIn.SCALAR, CONSTANT: HandleIn.CONSTANT
}  # fmt: skip
OF_MACHINE_CODE = ("TEX", "SULD", "SUST")  # what a form begins with; PTX's begins with tex, suld, sust


Refuse = Callable[[ast.Instruction, str | None], None]  # an error at an instruction, if there is a problem


def how(kind: str) -> int:
    if kind == IMMEDIATE:
        return A_NUMBER
    if kind == NOT_PREDICATE:
        return A_NEGATED_PREDICATE
    return NOT_THERE if kind in (ABSENT, SINK) else A_REGISTER


def encode_barrier(row: np.void, instruction: Lowered, values: list[int], refuse: Refuse) -> None:
    """operands: [id, how, count, how, predicate, how, destination, how]."""
    m = Modifiers(instruction.origin.spelling.lower())  # BAR of machine code has the same parts
    kinds = instruction.kinds
    if "red" in m:
        order = [1, 2, 3, 0]
        row["detail"] = {"popc": BarrierKind.COUNT, "and": BarrierKind.AND, "or": BarrierKind.OR}[
            m.first_of("popc", "and", "or") or ""
        ]
    else:
        order = [0, 1]
        row["detail"] = BarrierKind.ARRIVE if m.first_of("arrive", "arv") else BarrierKind.SYNC
    encoded = []
    for k in order:
        encoded += [values[k], how(kinds[k])]
    row["operands"] = 0
    row["operands"][: len(encoded)] = encoded


def encode_texture(row: np.void, instruction: Lowered, values: list[int], refuse: Refuse) -> None:
    """operands: four destinations (-1 for a sink), handle, which coordinates are numbers (bits), coordinates, HandleIn."""
    m = Modifiers(instruction.form or instruction.origin.spelling)
    kinds = instruction.kinds
    geometry = m.first_of(*GEOMETRIES) or "1d"
    integer_coordinates = m.types[1] == "s32"
    check_kinds(refuse, instruction, kinds[:4], WORD + SINK)
    check_handle(refuse, instruction, kinds[4], m)
    check_kinds(refuse, instruction, kinds[5:9], WORD + IMMEDIATE + ABSENT)
    check_coordinates(refuse, instruction, kinds[5:9], geometry)
    destinations = [-1 if kinds[k] == SINK else values[k] for k in range(4)]
    coordinates = values[5:9]
    if geometry in ("a1d", "a2d") and not integer_coordinates and kinds[5] == IMMEDIATE:
        layer = float(np.uint32(coordinates[0]).view(np.float32))  # a layer is no float, whatever the others are
        if not layer.is_integer():
            refuse(instruction.origin, f"{instruction.origin.spelling} needs a whole number for the layer, not {layer}")
        coordinates[0] = int(layer)
    row["operands"] = 0
    row["operands"][:11] = [*destinations, values[4], numbers(kinds[5:9]), *coordinates, HANDLE_KINDS[kinds[4]]]
    row["detail"] = GEOMETRIES.index(geometry) | TEXEL_TYPES.index(m.types[0]) << 4 | integer_coordinates << 6
    row["detail"] |= (m.opcode in OF_MACHINE_CODE) << 7


def encode_surface(row: np.void, instruction: Lowered, values: list[int], refuse: Refuse) -> None:
    """operands: up to four data registers, handle, which are numbers (bits: data, coordinates), coordinates, HandleIn."""
    m = Modifiers(instruction.form or instruction.origin.spelling)
    kinds = instruction.kinds
    geometry = m.first_of(*GEOMETRIES) or "1d"
    count, store = m.lanes_per_access, m.opcode.lower() == "sust"
    data_at, at = (5, 0) if store else (0, count)
    data_kinds = kinds[data_at : data_at + count]
    check_handle(refuse, instruction, kinds[at], m)
    check_kinds(refuse, instruction, kinds[at + 1 : at + 5], WORD + IMMEDIATE + ABSENT)
    check_coordinates(refuse, instruction, kinds[at + 1 : at + 5], geometry)
    register = next((kind for kind in data_kinds if kind not in IMMEDIATE + SINK), WORD)
    check_kinds(refuse, instruction, data_kinds, register + (IMMEDIATE if store else SINK))
    data = [-1 if kind == SINK else values[data_at + j] for j, kind in enumerate(data_kinds)]
    row["operands"] = 0
    row["operands"][:4] = [*data, *[-1] * (4 - count)]
    are_numbers = numbers(data_kinds) | numbers(kinds[at + 1 : at + 5]) << 4
    row["operands"][4:11] = [values[at], are_numbers, *values[at + 1 : at + 5], HANDLE_KINDS[kinds[at]]]
    row["access_bytes"] = count * (bits_of(m.type) // 8)
    width = ("b8", "b16", "b32", "b64").index(m.type)
    mode = ("trap", "clamp", "zero").index(m.first_of("trap", "clamp", "zero") or "trap")
    size = (HALF, WORD, DOUBLE).index(register)
    row["detail"] = GEOMETRIES.index(geometry) | width << 4 | mode << 6 | store << 8 | (count - 1) << 9 | size << 11


def numbers(kinds: str) -> int:
    """Which of the operands are numbers, as bits."""
    return sum(1 << j for j, kind in enumerate(kinds) if kind == IMMEDIATE)


def check_kinds(refuse: Refuse, instruction: Lowered, kinds: str, allowed: str) -> None:
    if any(kind not in allowed for kind in kinds):
        refuse(instruction.origin, f"{instruction.origin.spelling} needs registers of its operands' own widths here")


def check_handle(refuse: Refuse, instruction: Lowered, kind: str, m: Modifiers) -> None:
    allowed = WORD + SCALAR + CONSTANT if m.opcode in OF_MACHINE_CODE else DOUBLE
    check_kinds(refuse, instruction, kind, allowed + IMMEDIATE)


def check_coordinates(refuse: Refuse, instruction: Lowered, kinds: str, geometry: str) -> None:
    needed = COORDINATES[geometry]
    if ABSENT in kinds[:needed]:
        given = kinds.index(ABSENT)
        refuse(instruction.origin, f"{instruction.origin.spelling} needs {needed} coordinates, not {given}")
