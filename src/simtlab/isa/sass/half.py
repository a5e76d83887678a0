"""Half-precision instructions of machine code that PTX does not have in this form: comparisons of pairs, sums in f32."""

from llvmlite import ir

from simtlab.isa import floating, rounding
from simtlab.isa.compare import ONE
from simtlab.isa.half import half_type, packed
from simtlab.isa.lanes import I16, I32, Lanes, vector
from simtlab.isa.sass.floating import COMPARISONS, holds
from simtlab.isa.sass.integer import COMBINE, combined
from simtlab.isa.table import Modifiers, operation

PAIRS = "{f16x2,bf16x2}"
ALL_ONES = 0xFFFF


def of_halves(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A comparison of the lower halves and one of the upper, each combined with a predicate."""
    b = lanes.b
    found = []
    for place in (0, 16):
        p, q = (b.trunc(b.lshr(value, lanes.constant(I32, place)), vector(I16)) for value in (x, y))
        found.append(combined(lanes, m, holds(lanes, m, half_type(m.type), p, q), other)[0])
    return found[0], found[1]


@operation(f"HSETP2{COMPARISONS}[.FTZ]{COMBINE}.{PAIRS}", "P P = T T P")
def hsetp2(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """What a comparison gives for the lower halves, and what it gives for the upper."""
    return of_halves(lanes, m, x, y, other)


@operation(f"HSET2[.BF]{COMPARISONS}[.FTZ]{COMBINE}.{PAIRS}", "T = T T P")
def hset2(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value) -> ir.Value:
    """A comparison of each half as a number: all ones, or 1.0 with .BF."""
    true = lanes.constant(I16, int(ONE[half_type(m.type)]) if "BF" in m else ALL_ONES)
    low, high = (lanes.b.select(found, true, lanes.constant(I16, 0)) for found in of_halves(lanes, m, x, y, other))
    return packed(lanes, high, low)


@operation("HADD2.F32[.SAT].f16", "f32 = T T")
def hadd2_to_single(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The sum of two halves as an f32: with -0 the way to convert one."""
    wide = (rounding.widen(lanes, value, m.type) for value in (x, y))
    return floating.add(lanes, Modifiers(f"add.rn{'.sat' * ('SAT' in m)}.f32"), *wide)
