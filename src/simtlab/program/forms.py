"""Operand arrays of barriers, textures and surfaces, which the executor reads itself."""

import numpy as np

from simtlab.isa.shape import ABSENT, IMMEDIATE, NOT_PREDICATE, SINK
from simtlab.isa.table import Modifiers
from simtlab.program.action import BarrierKind
from simtlab.program.lower import Lowered

NOT_THERE, A_NUMBER, A_REGISTER, A_NEGATED_PREDICATE = 0, 1, 2, 3  # what an operand is, for the executor

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube")
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
TEXEL_TYPES = ("f32", "u32", "s32")


def how(kind: str) -> int:
    if kind == IMMEDIATE:
        return A_NUMBER
    if kind == NOT_PREDICATE:
        return A_NEGATED_PREDICATE
    return NOT_THERE if kind in (ABSENT, SINK) else A_REGISTER


def encode_barrier(row: np.void, instruction: Lowered, values: list[int]) -> None:
    """operands: [id, how, count, how, predicate, how, destination, how]."""
    m = Modifiers(instruction.origin.spelling)
    kinds = instruction.kinds
    if "red" in m:
        order = [1, 2, 3, 0]
        row["detail"] = {"popc": BarrierKind.COUNT, "and": BarrierKind.AND, "or": BarrierKind.OR}[
            m.first_of("popc", "and", "or") or ""
        ]
    else:
        order = [0, 1]
        row["detail"] = BarrierKind.ARRIVE if "arrive" in m else BarrierKind.SYNC
    encoded = []
    for k in order:
        encoded += [values[k], how(kinds[k])]
    row["operands"] = 0
    row["operands"][: len(encoded)] = encoded


def encode_texture(row: np.void, instruction: Lowered, values: list[int]) -> None:
    """operands: four destinations (-1: sink), handle, which of handle and coordinates are numbers (bits), coordinates."""
    m = Modifiers(instruction.origin.spelling)
    kinds = instruction.kinds
    geometry = m.first_of(*GEOMETRIES) or "1d"
    destinations = [-1 if kinds[k] == SINK else values[k] for k in range(4)]
    numbers = sum(1 << j for j in range(5) if kinds[4 + j] == IMMEDIATE)
    row["operands"] = 0
    row["operands"][:10] = [*destinations, values[4], numbers, *values[5:9]]
    integer_coordinates = m.types[1] == "s32"
    row["detail"] = GEOMETRIES.index(geometry) | TEXEL_TYPES.index(m.types[0]) << 4 | integer_coordinates << 6


def encode_surface(row: np.void, instruction: Lowered, values: list[int]) -> None:
    """operands: up to four data registers, handle, which are numbers (bits: data, handle, coordinates), coordinates."""
    m = Modifiers(instruction.origin.spelling)
    geometry = m.first_of(*GEOMETRIES) or "1d"
    count = m.lanes_per_access
    store = m.opcode == "sust"
    data_at, address_at = (5, 0) if store else (0, count)
    kinds = instruction.kinds
    numbers = sum(1 << j for j in range(count) if kinds[data_at + j] == IMMEDIATE)
    numbers |= sum(1 << (4 + j) for j in range(5) if kinds[address_at + j] == IMMEDIATE)
    data = [values[data_at + j] if kinds[data_at + j] != SINK else -1 for j in range(count)]
    row["operands"] = 0
    row["operands"][:4] = [*data, *[-1] * (4 - count)]
    row["operands"][4:10] = [values[address_at], numbers, *values[address_at + 1 : address_at + 5]]
    width = {"b8": 0, "b16": 1, "b32": 2, "b64": 3}[m.type]
    mode = {"trap": 0, "clamp": 1, "zero": 2}[m.first_of("trap", "clamp", "zero") or "trap"]
    wide_data = kinds[data_at] == "d"
    half_data = kinds[data_at] == "h"
    register = 2 if wide_data else 0 if half_data else 1
    row["detail"] = (
        GEOMETRIES.index(geometry) | width << 4 | mode << 6 | store << 8 | (count - 1) << 9 | register << 11
    )
