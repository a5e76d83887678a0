"""The special functions' results for every operand, as sums, on an H200; and results of .ftz that are nearly normal numbers.

A sum is that of `mixed` over the 2^23 operands of one sign and exponent field (of a double: of the upper word's first nine
bits), modulo 2^64, or over all operands of 16 bits. `TURNS` are what the unit itself computes: for them the recorder makes the
multiplication with 1/(2 pi) before it one with 1.
"""

from functools import cache
from pathlib import Path

import numpy as np

RECORDED = Path(__file__).parents[1] / "data" / "hardware" / "special_functions.npz"
BLOCKS, BLOCK = 512, 1 << 23  # of operands of 32 bits
SINGLE = [
    f"{name}.approx{ftz}.f32" for name in ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos") for ftz in ("", ".ftz")
] + ["tanh.approx.f32"]
DOUBLE = ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"]  # of upper words, with lower words that are not zero
HALF = ["ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"]
TURNS = {"MUFU.SIN": "sin.approx.f32", "MUFU.COS": "cos.approx.f32"}
FLUSHED = {
    **{f"{name}{way}.ftz.f32": count for name, count in (("mul", 2), ("fma", 3)) for way in (".rn", ".rz", ".rm", ".rp")},
    "mul.rn.ftz.sat.f32": 2,
    "mul.rn.ftz.f16": 2,
    "fma.rn.ftz.f16": 3,
}
FLUSHED_COUNT = 4096
FACTORS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as file:
        return {name: file[name] for name in file.files}


def nearly_normal(type: str) -> list[np.ndarray]:
    """Three columns of operands: products of the first two, and their sums with the third, are next to the least normal numbers."""
    rng = np.random.default_rng(5)
    places, bias, word = (23, 127, np.uint32) if type == "f32" else (10, 15, np.uint16)
    one, sign = 1 << places, 1 << 8 * np.dtype(word).itemsize - 1
    first = one + rng.integers(1, one, FLUSHED_COUNT)
    second = 2 * one * one // first + rng.integers(-1, 3, FLUSHED_COUNT)  # a product of about 2 and the smallest exponent less 1
    second = np.clip(second, one, 2 * one - 1)
    field = rng.integers(1, bias, FLUSHED_COUNT)
    signs = rng.integers(0, 2, (2, FLUSHED_COUNT)) * sign
    third = np.where(rng.integers(0, 2, FLUSHED_COUNT), 2 << places | signs[0] ^ signs[1] ^ sign, 0)  # what turns its sign round
    columns = signs[0] | field << places | first - one, signs[1] | bias - field << places | second - one, third
    return [column.astype(word) for column in columns]


HEADER = r"""
typedef unsigned int u32; typedef unsigned long long u64; typedef unsigned short u16;
__device__ u64 mixed(u32 x, u32 y) {
    u64 z = ((u64)x << 32 | y) * FIRSTull; z ^= z >> 32; z *= SECONDull; return z ^ z >> 32;
}
#define SUM(NAME, LAST, TYPE, BODY) extern "C" __global__ void NAME(u64 *sums) { \
    u32 first = blockIdx.x * (LAST + 1u); u64 sum = 0; \
    for (u32 i = threadIdx.x; i <= LAST; i += 256) { TYPE x = first + i, y; BODY sum += mixed(x, y); } \
    atomicAdd(sums + blockIdx.x, sum); }
""".replace("FIRST", hex(FACTORS[0])).replace("SECOND", hex(FACTORS[1]))


def sum_kernel(name: str, spelling: str) -> str:
    if spelling in HALF:
        return f'SUM({name}, 0xffffu, u16, asm volatile("{spelling} %0, %1;" : "=h"(y) : "h"(x));)\n'
    if spelling in DOUBLE:
        text = f"{{ .reg .f64 a, b; .reg .b32 l; mov.b64 a, {{%2, %1}}; {spelling} b, a; mov.b64 {{l, %0}}, b; or.b32 %0, %0, l; }}"
        return f'SUM({name}, {BLOCK - 1:#x}u, u32, asm volatile("{text}" : "=r"(y) : "r"(x), "r"(x * {FACTORS[0] >> 32:#x}u));)\n'
    text = f"{{ .reg .f32 a, b; mov.b32 a, %1; {spelling} b, a; mov.b32 %0, b; }}"
    return f'SUM({name}, {BLOCK - 1:#x}u, u32, asm volatile("{text}" : "=r"(y) : "r"(x));)\n'


def flush_kernel(name: str, spelling: str) -> str:
    count, (type, letter) = FLUSHED[spelling], ("u32", "r") if spelling.endswith("f32") else ("u16", "h")
    parameters = "".join(f"const {type} *{source}, " for source in "abc"[:count])
    given = ", ".join(f'"{letter}"({source}[i])' for source in "abc"[:count])
    places = ", ".join(f"%{k}" for k in range(count + 1))
    return (
        f'extern "C" __global__ void {name}({parameters}{type} *d) {{ int i = blockIdx.x * 256 + threadIdx.x; {type} x;\n'
        f'    asm volatile("{spelling} {places};" : "={letter}"(x) : {given}); d[i] = x; }}\n'
    )
