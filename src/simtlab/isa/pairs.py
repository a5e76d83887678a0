"""Pairs of 16-bit values in one register: comparisons of half-precision pairs, and integer arithmetic on both halves.

PTX has pairs of integers for add, min and max only, from sm_90 on.
"""

from collections.abc import Callable

from llvmlite import ir

from simtlab.isa.compare import COMBINE, ONE, ORDER, UNORDERED, compare_halves
from simtlab.isa.half import each_half, half_type, packed
from simtlab.isa.integer import maximum, minimum
from simtlab.isa.lanes import I16, I32, Lanes, vector
from simtlab.isa.logic import boolean
from simtlab.isa.table import Modifiers, operation

RELU = "0 in place of a negative result."
COMPARISONS = ((f".{{{ORDER},{UNORDERED}}}", "[.ftz]", "f16x2"), (f".{{{ORDER},{UNORDERED}}}", "", "bf16x2"))


# Comparisons ----------------------------------------------------------------------------------------------------------


def _of_pairs(opcode: str, results: str, signature: str, raw: bool = False) -> Callable:
    """Declare a builder for every comparison of pairs, with and without a predicate to combine it with."""

    def declare(build: Callable) -> Callable:
        for name, flush_to_zero, type in COMPARISONS:
            into = results.replace("T", type)
            operation(f"{opcode}{name}{flush_to_zero}{into}.{type}", signature, raw=raw)(build)
            operation(f"{opcode}{name}{COMBINE}{flush_to_zero}{into}.{type}", f"{signature} P", raw=raw)(build)
        return build

    return declare


def compared(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value | None) -> tuple[ir.Value, ir.Value]:
    """The booleans of the lower and of the upper halves, each combined with a third predicate where there is one."""
    b, both = lanes.b, []
    for shift in (0, 16):
        p, q = (b.trunc(b.lshr(value, lanes.constant(I32, shift)), vector(I16)) for value in (x, y))
        holds = compare_halves(lanes, m.parts[0], half_type(m.type), "ftz" in m, p, q)
        combine = m.first_of("and", "or", "xor")
        both.append(boolean(lanes, combine, holds, other) if combine else holds)
    return both[0], both[1]


@_of_pairs("setp", "", "P|P? = T T", raw=True)
def setp(lanes: Lanes, m: Modifiers) -> None:
    """p = the comparison of the lower halves, q = that of the upper ones."""
    other = lanes.read(4, "pred") if len(lanes.shape.kinds) > 4 else None
    low, high = compared(lanes, m, lanes.read(2, m.type), lanes.read(3, m.type), other)
    lanes.write(0, low, "pred")
    lanes.write(1, high, "pred")


@_of_pairs("set", ".{T,u32,s32}", "T0 = T1 T1")
def set_(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value | None = None) -> ir.Value:
    """Each half's comparison as a number in its half of the result: 1.0, or all ones for an integer."""
    one = ONE.get(half_type(m.types[0]), 0xFFFF)
    true, false = (lanes.constant(I16, value) for value in (one, 0))
    low, high = (lanes.b.select(holds, true, false) for holds in compared(lanes, m, x, y, other))
    return packed(lanes, high, low)


# Integers -------------------------------------------------------------------------------------------------------------


@operation("add.{u16x2,s16x2}", "T = T T")
def add(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return each_half(lanes, m.type, lanes.b.add, x, y)


@operation("min.{u16x2,s16x2}", "T = T T")
@operation("max.{u16x2,s16x2}", "T = T T")
@operation("min{.relu.s16x2,.relu.s32,.s16x2.relu,.s32.relu}", "T = T T", note=RELU)
@operation("max{.relu.s16x2,.relu.s32,.s16x2.relu,.s32.relu}", "T = T T", note=RELU)
def min_max(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    def build(p: ir.Value, q: ir.Value) -> ir.Value:
        result = (minimum if m.opcode == "min" else maximum)(lanes, m, p, q)
        return maximum(lanes, m, result, lanes.like(result, 0)) if "relu" in m else result

    return each_half(lanes, m.type, build, x, y)
