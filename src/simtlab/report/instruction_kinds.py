"""What an instruction does, whether PTX or machine code has it: the memory it touches, its role, the bytes of a lane."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simtlab.program.action import Action

if TYPE_CHECKING:
    from simtlab.frontend import ast
    from simtlab.program.lower import Lowered

SPACES = {"global": "global", "local": "local", "shared": "shared", "const": "constant", "param": "", "generic": "generic"}
LOADING = {"ld", "ldu", "atom", "tex", "tld4", "suld", "LDG", "LD", "LDS", "LDL", "ATOMG", "ATOM", "ATOMS", "TEX", "TLD", "SULD"}
OF_MACHINE_CODE = {
    "LDG": "global", "STG": "global", "ATOMG": "global", "REDG": "global", "LD": "generic", "ST": "generic", "ATOM": "generic",
    "RED": "generic", "LDS": "shared", "STS": "shared", "ATOMS": "shared", "LDL": "local", "STL": "local", "TEX": "texture",
    "TLD": "texture", "SULD": "surface", "SUST": "surface",
}  # fmt: skip
OF_MEMORY = {"tex": "texture", "tld4": "texture", "suld": "surface", "sust": "surface", "sured": "surface"}


def memory_of(opcode: str, modifiers: Sequence[str]) -> str:
    """Which memory an instruction touches; empty for none, and for parameters, which are constants of the launch."""
    if opcode in OF_MEMORY:
        return OF_MEMORY[opcode]
    if opcode in OF_MACHINE_CODE:
        return OF_MACHINE_CODE[opcode]
    if opcode not in ("ld", "ldu", "st", "atom", "red"):
        return ""
    named = [SPACES[word.split("::")[0]] for word in modifiers if word.split("::")[0] in SPACES]
    return named[0] if named else "generic"


def is_load(origin: ast.Instruction) -> bool:
    """Whether registers wait for what it reads from memory."""
    return origin.opcode in LOADING and bool(memory_of(origin.opcode, origin.modifiers))


ROLES = {
    Action.LOAD: "load", Action.STORE: "store", Action.ATOMIC: "atomic", Action.BARRIER: "barrier", Action.CTA_BARRIER: "barrier",
    Action.BRANCH: "branch", Action.SPLIT: "branch",
}  # fmt: skip
SPECIAL = re.compile(r"(sin|cos|ex2|lg2|rcp|rsqrt|sqrt|tanh|div|MUFU)\.")  # of the special function unit, wholly or partly
WIDTH = re.compile(r"\.(?:bf|[bsuf])(8|16|32|64|128)(x2)?\b")
VECTOR = re.compile(r"\.v([248])\b")


def role_of(lowered: Lowered) -> str:
    if lowered.action == Action.SURFACE and lowered.origin.opcode in ("sured", "SURED"):
        return "atomic"
    return ROLES.get(lowered.action, "special" if SPECIAL.match(lowered.spelling) else "")


def lane_bytes(lowered: Lowered) -> int:
    """What a lane reads or writes, from the type: ld.v4.f32 is 16 bytes. The type is the last one named."""
    if lowered.action not in (Action.LOAD, Action.STORE, Action.ATOMIC):
        return 0
    widths, vector = WIDTH.findall(lowered.spelling), VECTOR.search(lowered.spelling)
    if not widths:
        return 0
    bits, pair = widths[-1]
    return int(bits) // 8 * (2 if pair else 1) * (int(vector[1]) if vector else 1)
