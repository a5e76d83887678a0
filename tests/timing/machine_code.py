"""Kernels of machine code written by hand, control bits and all, for tests that count cycles.

A line is an instruction and, behind a bar, what the compiler would tell the core of it (nothing: a stall count of 1):

    LDG.E R8, desc[UR4][R2.64] | stall=2 write=0 read=1 wait=5 yields reuse=1

`wait` has the barriers' digits (wait=01), `reuse` the operand slots as a mask. `stamp(k)` notes the cycle in which it issues. A
line `name:` is a place that a branch names in braces: BRA {name}.
"""

import re
from dataclasses import replace
from unittest.mock import patch

import numpy as np

import simtlab as sl
from simtlab.frontend.sass.cubin import INSTRUCTION_BYTES, Cubin
from simtlab.frontend.sass.text import Control, SassInstruction, parse_instruction
from simtlab.program.sass import build

SOURCE = """
__constant__ unsigned table[8192];
extern "C" __global__ void k(unsigned *out, unsigned *in) { __shared__ unsigned s[64];
    s[threadIdx.x & 63] = in[0]; __syncthreads(); out[0] = table[in[1]] + s[in[2] & 63]; }
"""
REGISTERS, STAMPS, FIRST_STAMP = 96, 16, 64
NO_BARRIER = 7
OUT, IN, DESCRIPTOR = "c[0x0][0x210]", "c[0x0][0x218]", "c[0x0][0x208]"  # parameters on sm_90
# R0 is the thread's number, R2 the address of `in`, UR4 the descriptor that accesses name. Everything has come.
BEGIN = f"""
S2R R0, SR_TID.X | stall=15 write=0
ULDC.64 UR4, {DESCRIPTOR} | stall=15 write=1
MOV R2, {IN} | stall=15
MOV R3, c[0x0][0x21c] | stall=15 wait=01
BAR.SYNC.DEFER_BLOCKING 0x0 | stall=15
"""
# Each thread writes its stamps. `wait` is for all that may still be under way.
END = (
    f"MOV R4, {OUT} | stall=15\nMOV R5, c[0x0][0x214] | stall=15\n"
    f"IMAD.WIDE R4, R0, {4 * STAMPS:#x}, R4 | stall=15 wait=012345\n"
    + "".join(f"STG.E desc[UR4][R4.64+{4 * k:#x}], R{FIRST_STAMP + k} | stall=2\n" for k in range(STAMPS))
    + "EXIT | stall=5\n"
)


def stamp(k: int, control: str = "stall=2") -> str:
    """Note the cycle. It takes its unit two cycles, so that whatever wants the same comes no sooner than that."""
    return f"CS2R.32 R{FIRST_STAMP + k}, SR_CLOCKLO | {control}\n"


def control_of(text: str) -> Control:
    given = dict([*part.split("="), "1"][:2] for part in text.split())
    wait = sum(1 << int(digit) for digit in given.get("wait", ""))
    numbers = {key: int(given.get(key, default)) for key, default in {"stall": 1, "write": NO_BARRIER, "read": NO_BARRIER}.items()}
    return Control(numbers["stall"], "yields" in given, numbers["write"], numbers["read"], wait, int(given.get("reuse", 0)))


def parsed(text: str) -> list[SassInstruction]:
    lines, places = [], {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            places[line[:-1]] = f"{INSTRUCTION_BYTES * len(lines):#x}"
        else:
            lines.append(line)
    found = []
    for k, line in enumerate(lines):
        words, _, control = line.partition("|")
        for name, place in places.items():
            words = words.replace(f"{{{name}}}", place)
        guard, opcode, operands = re.fullmatch(r"(@!?U?P\d )?\s*(\S+)\s*(.*)", words.strip()).groups()
        one = parse_instruction(INSTRUCTION_BYTES * k, opcode, operands, (guard or "").strip(), 0)
        found.append(replace(one, control=control_of(control)))
    return found


def written(device: sl.Gpu, body: str, end: str = END):
    """A kernel k(out, in) with that body between BEGIN and an end."""
    instructions, module = parsed(BEGIN + body + end), device.compile(SOURCE)
    image = replace(module.cubin.kernel("k"), registers=REGISTERS)
    with (
        patch.object(build, "instructions_of", lambda cubin, name: instructions),
        patch.object(Cubin, "kernel", lambda self, name: image),
    ):
        return module["k"]


def machine(**changes) -> sl.Gpu:
    """One core of an H200 that always finds its instructions; keys with two underscores for the dot."""
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    return sl.Gpu("h200", set={"core.cores": 1, "l1i.ideal": True} | changed, memory_bytes=1 << 24)


def ran(device: sl.Gpu, body: str, warps: int = 1, end: str = END) -> tuple[sl.Run, np.ndarray]:
    """A launch, and the cycles that each warp noted, a row a warp, from the first that any noted with stamp(0) on."""
    out = device.zeros((32 * warps, STAMPS), "u4")
    run = written(device, body, end)(1, 32 * warps, [out, device.zeros(1 << 10, "u4")])
    found = out.numpy()[::32].astype(np.int64)
    return run, found - found[:, 0].min()


def stamps(device: sl.Gpu, body: str, warps: int = 1) -> list[list[int]]:
    return ran(device, body, warps)[1].tolist()


def took(device: sl.Gpu, body: str, before: str = "") -> int:
    """Cycles from a stamp in front of a warp's instructions to one behind them, the two cycles of the first stamp left out."""
    return stamps(device, before + stamp(0) + body + stamp(1))[0][1] - 2
