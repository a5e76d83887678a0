"""Runs the recorded shapes of `ptx_vectors.npz` through the native functions, a warp of 32 values at a time.

The texts are so plain (`setp.lt.s32 p, {a}, {b}; selp.u32 {d}, 1, 0, p;`) that they are split here by hand: these tests
must not depend on the PTX parser.
"""

import ctypes
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from simtlab.isa.build import provide
from simtlab.isa.shape import LANES, Shape
from simtlab.isa.table import Operation, find

DATA = Path(__file__).parents[1] / "data" / "hardware" / "ptx_vectors.npz"
NATIVE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
BITS = {"sh32": 32, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "bf16": 16}
SLOTS = {"d": 0, "a": 1, "b": 2, "c": 3, "t32": 4, "t64": 5, "p": 6, "CC": 7, "q": 8}
SLOT_BYTES = 8 * LANES


@dataclass(frozen=True)
class Recorded:
    """One shape as recorded on the hardware."""

    id: int
    text: str
    ins: tuple[str, ...]
    out: str

    @property
    def spellings(self) -> list[str]:
        return [part.split()[0] for part in self.text.split(";") if part.strip()]


@cache
def data() -> dict[str, np.ndarray]:
    with np.load(DATA) as file:
        return {key: file[key] for key in file.files}


@cache
def recorded() -> tuple[Recorded, ...]:
    return tuple(Recorded(s["id"], s["text"], tuple(s["ins"]), s["out"]) for s in json.loads(str(data()["shapes"])))


def bits(type: str) -> int:
    return BITS.get(type) or int(re.sub(r"\D", "", type))


def inputs(shape: Recorded) -> list[np.ndarray]:
    return [data()[f"pool/{type}/{k}"] for k, type in enumerate(shape.ins)]


def hardware_result(shape: Recorded) -> np.ndarray:
    return data()[f"out/{shape.id}"]


def register_kind(name: str, shape: Recorded) -> str:
    if name in ("p", "q", "CC"):
        return "p"
    if name in ("t32", "t64"):
        return "w" if name == "t32" else "d"
    type = shape.out if name == "d" else shape.ins["abc".index(name)]
    return {8: "h", 16: "h", 32: "w", 64: "d"}[bits(type)]


def operands_of(row: Operation, words: list[str]) -> list[str]:
    """The operand words with the hidden carry flag put where the signature names it, one for each part of a pair."""
    words = list(words)
    placed: list[str] = []
    for token in row.destinations:
        parts = ["CC"] if token == "CC" else words.pop(0).split("|")
        placed += parts + ["_"] * (len(token.split("|")) - len(parts))
    for token in row.sources:
        placed.append("CC" if token == "CC" else words.pop(0) if words else "-")
    assert not words, f"{row.pattern}: operands left over: {words}"
    return placed


def instructions(shape: Recorded) -> list[tuple[Shape, list[int]]]:
    """The native shapes of a recorded text with their operand arrays."""
    found = []
    for part in shape.text.split(";"):
        if not part.strip():
            continue
        spelling, _, rest = part.strip().partition(" ")
        row = find(spelling)
        assert row is not None, f"{spelling} is not in the table"
        words = [word.strip().strip("{}") for word in rest.split(",")]
        kinds, values = "", []
        for word in operands_of(row, words):
            literal = "7" if word == "s2" else word
            if re.fullmatch(r"\d+", literal):
                kinds, values = kinds + "i", [*values, int(literal)]
            elif word in "_-":
                kinds, values = kinds + word, [*values, 0]
            else:
                kinds, values = kinds + register_kind(word, shape), [*values, SLOTS[word] * SLOT_BYTES]
        found.append((Shape(spelling, kinds), values))
    return found


def stored(type: str, values: np.ndarray) -> np.ndarray:
    """Values as `ld` leaves them in a register: 8-bit ones fill a 16-bit register by their sign."""
    if type == "u8":
        return values.astype(np.uint16)
    if type == "s8":
        return values.view(np.int8).astype(np.int16).view(np.uint16)
    return values


def simulated_result(shape: Recorded) -> np.ndarray:
    """All 1024 results, computed by simtlab."""
    steps = instructions(shape)
    native = provide(step[0] for step in steps)
    operands = [np.array(step[1] + [0] * 4, np.int64) for step in steps]
    functions = [NATIVE(native[step[0]]) for step in steps]
    expected = hardware_result(shape)
    result = np.zeros_like(expected)
    out_dtype = np.dtype(f"u{max(2, expected.dtype.itemsize)}")
    registers = np.zeros(len(SLOTS) * SLOT_BYTES + 64, np.uint8)
    registers = registers[-registers.ctypes.data % 64 :][: len(SLOTS) * SLOT_BYTES]
    columns = [stored(type, values) for type, values in zip(shape.ins, inputs(shape), strict=True)]
    for start in range(0, len(result), LANES):
        for name, column in zip("abc", columns, strict=False):
            chunk = column[start : start + LANES]
            registers[SLOTS[name] * SLOT_BYTES :][: chunk.nbytes] = chunk.view(np.uint8)
        for function, values in zip(functions, operands, strict=True):
            function(registers.ctypes.data, 0xFFFFFFFF, values.ctypes.data, 0)
        lanes = registers[: LANES * out_dtype.itemsize].view(out_dtype)
        result[start : start + LANES] = lanes.astype(result.dtype)
    return result
