"""Mutants of machine code: a cubin with some bytes of its code changed, or what nvdisasm says of it with something changed."""

import copy
import json
import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.sass import disassemble
from simtlab.frontend.sass.elf import Elf

ISA = "sm_90"
SOURCE = r"""
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ __noinline__ int fibonacci(int x) { return x < 2 ? x : fibonacci(x - 1) + fibonacci(x - 2); }
extern "C" __global__ void k(int *out, const int *in, int n) {
    __shared__ int s[64];
    __shared__ double r[64];
    int t = threadIdx.x, sum = 0, own[4] = {1, 2, 3, 4};
    s[t] = in[t];
    __syncthreads();
    for (int i = 0; i < (n & 7); ++i) {
        for (int j = t & 3; j > 0; --j) sum += s[(t + j) & 63];
        if (s[(t + i) & 63] & 1) sum += s[i & 63] * table[i & 7]; else own[sum & 3] += i;
        __syncwarp();
        sum ^= __shfl_xor_sync(0xffffffff, sum, 1) + __popc(__ballot_sync(0xffffffff, sum & 1));
    }
    switch (sum & 7) { case 0: sum += 5; break; case 1: sum *= 3; break; case 2: sum = __brev(sum); break;
                       case 3: sum /= n + 1; break; case 4: sum = __clz(sum); break; default: sum = ~sum; }
    r[t] = sqrt((double)sum) + __syncthreads_count(sum & 1);
    atomicAdd(&s[t & 3], sum);
    __syncthreads();
    out[t] = s[t] + fibonacci(t & 3) + own[t & 3] + (int)(r[63 - t] * 0.5f);
}"""
OPERANDS = [
    "RZ", "R0", "R17", "R254", "R255", "R256", "R999999999999", "UR4", "UR62", "URZ", "P0", "P6", "P7", "!PT", "UP3", "B0",
    "B15", "B99", "-R3", "|R4|", "~R5", "-|R6|.reuse", "0x10", "-0x1", "0xffffffffffffffffffff", "1.5", "1e400", "+INF", "08",
    "9" * 5000, "c[0x0][0x210]", "c[0x0][0xfffc]", "c[0x0][-0x8000]", "c[0x9][0x0]", "c[0x3][R4+0x8]", "c[UR4][0x0]",
    "cx[UR4][0x8]", "[R2.64]", "[R2+UR4+0x10]", "desc[UR4][R2.64+0x7fffff]", "[R255.64-0x800000]", "[0x0]", "[]", "SR_TID.X",
    "SR_NOTHING", "`(vprintf)", "32@lo((k + 0x640))", "32@hi(nowhere)", "R4.H0_H0", "R4.64", "R4.B9", "", "[[[[", "]", "((((",
    "\u0663", "\0", "x" * 4000,
]  # fmt: skip
PARTS = [
    "64", "128", "U8", "S16", "X", "HI", "WIDE", "U32", "S64", "FTZ", "SAT", "RZ", "EX", "AND", "OR", "NE", "F", "T", "W",
    "L", "R", "BALLOT", "ALL", "POPC", "RED", "SYNC", "UP", "IDX", "BFLY", "COLLECTIVE", "ANY", "DIV", "CONV", "CLEAR", "32",
    "16", "B3", "LUT", "ABS", "REL",
]  # fmt: skip
VALUES = [None, True, 0, -1, 1.5, 10**400, "", [], {}, [[]], {"opcode": {}}, "IMAD", 2**63]
DEEP = 100_000  # brackets in each other


@cache
def cubin() -> bytes:
    return compile_cuda(SOURCE, "k.cu", (), (), (), architecture=ISA, count_registers=True).cubin


@cache
def code() -> tuple[int, int]:
    """Where the kernel's code lies in the file: offset and size."""
    (start,), (size, count) = struct.unpack_from("<Q", cubin(), 40), struct.unpack_from("<HH", cubin(), 58)
    offsets = [struct.unpack_from("<Q", cubin(), start + k * size + 24)[0] for k in range(count)]
    return next((offset, s.size) for s, offset in zip(Elf(cubin()).sections, offsets, strict=True) if s.name == ".text.k")


def with_other_bytes(number: int) -> bytes:
    """One to four bytes of the code are others."""
    chance, content = random.Random(number), bytearray(cubin())
    offset, size = code()
    for _ in range(chance.randint(1, 4)):
        content[offset + chance.randrange(size)] = chance.choice((0, 1, 0x80, 0xFF, *(chance.randrange(256) for _ in range(4))))
    return bytes(content)


@dataclass(frozen=True)
class Answer:
    """What nvdisasm is to have said of the cubin: its JSON as text."""

    text: str


@cache
def answer() -> list[Any]:
    return json.loads(disassemble.disassembled(cubin()))


def as_it_is() -> Answer:
    return Answer(json.dumps(answer()))


def with_another_answer(number: int) -> Answer:
    """The JSON with something wrong: mostly one instruction, at times its shape or its text."""
    chance = random.Random(number)
    if number % 8 == 0:
        return Answer(chance.choice(TEXT_CHANGES)(json.dumps(answer()), chance))
    changed = copy.deepcopy(answer())
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if number % 8 == 1:
            structure_changed(changed, chance)
        else:
            chance.choice(INSTRUCTION_CHANGES)(chance.choice(functions(changed))["sass-instructions"], chance)
    return Answer(json.dumps(changed))


def functions(answer: list[Any]) -> list[dict]:
    return [one for one in answer[1] if one.get("sass-instructions")]


def structure_changed(node: Any, chance: random.Random) -> None:
    """A value somewhere in a tree becomes another, or goes."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:  # an earlier change took all there was
            return
        key = chance.choice(keys)
        if isinstance(node[key], dict | list) and node[key] and chance.random() < 0.7:
            node = node[key]
        elif chance.random() < 0.3:
            del node[key]
            return
        else:
            node[key] = chance.choice(VALUES)
            return


# Changes of the text --------------------------------------------------------------------------------------------------


def cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def character_changed(text: str, chance: random.Random) -> str:
    k = chance.randrange(len(text))
    return text[:k] + chance.choice('{}[],:"0123456789nulltrue\\\0é') + text[k + 1 :]


def deep(text: str, chance: random.Random) -> str:
    k = chance.randrange(len(text))
    return text[:k] + chance.choice("[{") * DEEP + text[k:]


def huge(text: str, chance: random.Random) -> str:
    return text.replace('"R', f"{'1' * 10_000}, \"R", 1)


TEXT_CHANGES: list[Callable[[str, random.Random], str]] = [cut, character_changed, character_changed, deep, huge]


# Changes of an instruction --------------------------------------------------------------------------------------------


def operand_changed(instructions: list[dict], chance: random.Random) -> None:
    one = chance.choice(instructions)
    operands = one.get("operands", "").split(",")
    operands[chance.randrange(len(operands))] = chance.choice(OPERANDS)
    one["operands"] = ",".join(operands)


def operand_moved(instructions: list[dict], chance: random.Random) -> None:
    """An operand goes, comes twice, or stands elsewhere."""
    one = chance.choice(instructions)
    operands = one.get("operands", "").split(",")
    operand = operands.pop(chance.randrange(len(operands)))
    for _ in range(chance.choice((0, 1, 1, 2))):
        operands.insert(chance.randrange(len(operands) + 1), operand)
    one["operands"] = ",".join(operands)


def register_changed(instructions: list[dict], chance: random.Random) -> None:
    """Another register of the same file: it stays a good program, and computes something else."""
    one = chance.choice(instructions)
    other = chance.randrange(6)
    one["operands"] = re.sub(r"\b(U?[RP])\d+", lambda found: f"{found[1]}{other}", one.get("operands", ""), count=1)


def opcode_changed(instructions: list[dict], chance: random.Random) -> None:
    one, other = chance.choice(instructions), chance.choice(instructions)
    one["opcode"] = other["opcode"]


def part_changed(instructions: list[dict], chance: random.Random) -> None:
    one = chance.choice(instructions)
    parts = one["opcode"].split(".")
    k = chance.randrange(1, len(parts) + 1)
    parts[k : k + chance.randrange(2)] = chance.choice(([], [chance.choice(PARTS)]))
    one["opcode"] = ".".join(parts)


def guard_changed(instructions: list[dict], chance: random.Random) -> None:
    guards = ["@P0", "@!P3", "@UP0", "@!PT", "@P9", "@R4", "P0", "", "@", "@P0 @P1", "PR"]
    chance.choice(instructions)["predicate"] = chance.choice(guards)


def instruction_replaced(instructions: list[dict], chance: random.Random) -> None:
    instructions[chance.randrange(len(instructions))] = dict(chance.choice(instructions))


def instructions_moved(instructions: list[dict], chance: random.Random) -> None:
    a, b = (chance.randrange(len(instructions)) for _ in range(2))
    instructions[a], instructions[b] = instructions[b], instructions[a]


INSTRUCTION_CHANGES: list[Callable[[list[dict], random.Random], None]] = [
    operand_changed, operand_changed, operand_moved, register_changed, opcode_changed, part_changed, guard_changed,
    instruction_replaced, instructions_moved,
]  # fmt: skip
