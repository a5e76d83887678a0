"""Half-precision arithmetic: f16 and bf16, one to a register or two (x2).

Every operation is computed in a wider format and rounded again to the half. That gives the correctly rounded result:

- add and sub in f32, whose 24 bits are twice an f16's 11 and two more: a sum that is not exact there is never too near
  to the middle between two halves (Figueroa, When is double rounding innocuous?, 1995), and a subnormal sum is exact.
- mul is exact: f16 in f32 (22 bits, at least 2^-48), bf16 in f64 (16 bits, down to 2^-266). fma is computed in f64.
- fma.f16: let p be the exact product, c the addend, e the exponent of p + c, m a midpoint between neighbouring f16. Two
  roundings could differ from one only if d = p + c - m is not 0 but |d| < 2^(e-53), and p + c needs over 53 bits, so
  e > 4. If |c| >= 2^(e-1), then c and m are multiples of 2^(e-11) and differ (m is no f16), so |p| >= 2^(e-12), and p,
  of 22 bits, is a multiple of 2^(e-33). Else |p| >= 2^(e-2) is a multiple of 2^(e-23); where p = m, |d| = |c| >= 2^-24,
  which is above 2^(e-53); where not, |c| >= 2^(e-24) is a multiple of 2^(e-34). In no case is 0 < |d| < 2^(e-53).
- fma.bf16 has exponents for p = m and c too small to see, so its sum is rounded to odd (`sum_to_odd`).
"""

from collections.abc import Callable

from llvmlite import ir

from simtlab.isa import rounding
from simtlab.isa.floating import abs_neg_bits, min_max_bits
from simtlab.isa.lanes import F64, I16, I32, Lanes, vector
from simtlab.isa.rounding import FORMATS
from simtlab.isa.table import Modifiers, operation

OUT_OF_BOUNDS = 0x7FF7  # of all 65,536 halves an H200 takes this one, of either sign, as out of bounds; f16 and bf16 alike
OUT_OF_BOUNDS_NOTE = "0 where a factor is the NaN that a tensor copy leaves outside a tensor's bounds."


@operation("add[.rn][.ftz][.sat].{f16,f16x2}", "T = T T")
@operation("add[.rn].{bf16,bf16x2}", "T = T T")
def add(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fadd", x, y)


@operation("sub[.rn][.ftz][.sat].{f16,f16x2}", "T = T T")
@operation("sub[.rn].{bf16,bf16x2}", "T = T T")
def sub(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fsub", x, y)


@operation("mul[.rn][.ftz][.sat].{f16,f16x2}", "T = T T")
@operation("mul[.rn].{bf16,bf16x2}", "T = T T")
def mul(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fmul", x, y)


@operation("fma.rn[.ftz][.sat,.relu].{f16,f16x2}", "T = T T T")
@operation("fma.rn[.relu].{bf16,bf16x2}", "T = T T T")
@operation("fma.rn.oob[.relu].{f16,f16x2,bf16,bf16x2}", "T = T T T", note=OUT_OF_BOUNDS_NOTE)
def fma(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fma", x, y, z)


@operation("min[.ftz][.NaN][.xorsign.abs].{f16,f16x2}", "T = T T")
@operation("max[.ftz][.NaN][.xorsign.abs].{f16,f16x2}", "T = T T")
@operation("min[.NaN][.xorsign.abs].{bf16,bf16x2}", "T = T T")
@operation("max[.NaN][.xorsign.abs].{bf16,bf16x2}", "T = T T")
def min_max(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return each_half(lanes, m.type, lambda p, q: min_max_bits(lanes, m, half_type(m.type), p, q), x, y)


@operation("abs[.ftz].{f16,f16x2}", "T = T")
@operation("neg[.ftz].{f16,f16x2}", "T = T")
@operation("abs.{bf16,bf16x2}", "T = T")
@operation("neg.{bf16,bf16x2}", "T = T")
def abs_neg(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return each_half(lanes, m.type, lambda p: abs_neg_bits(lanes, m, half_type(m.type), p), x)


def half_type(type: str) -> str:
    return type.removesuffix("x2")


def each_half(lanes: Lanes, type: str, build: Callable[..., ir.Value], *operands: ir.Value) -> ir.Value:
    """Apply `build` to 16-bit lanes: once, or to the lower and the upper halves of a packed pair."""
    if not type.endswith("x2"):
        return build(*operands)
    low = build(*(lanes.b.trunc(x, vector(I16)) for x in operands))
    shifted = (lanes.b.lshr(x, lanes.constant(I32, 16)) for x in operands)
    return packed(lanes, build(*(lanes.b.trunc(x, vector(I16)) for x in shifted)), low)


def packed(lanes: Lanes, high: ir.Value, low: ir.Value) -> ir.Value:
    """Two vectors of 16-bit lanes as one of 32-bit lanes."""
    high, low = (lanes.b.zext(x, vector(I32)) for x in (high, low))
    return lanes.b.or_(lanes.b.shl(high, lanes.constant(I32, 16)), low)


def arithmetic(lanes: Lanes, m: Modifiers, name: str, *operands: ir.Value) -> ir.Value:
    type = half_type(m.type)

    def build(*halves: ir.Value) -> ir.Value:
        if "ftz" in m:
            halves = tuple(rounding.flush_bits(lanes, x, FORMATS[type]) for x in halves)
        wide = [rounding.widen(lanes, x, type) for x in halves]
        if name == "fma" or (name, type) == ("fmul", "bf16"):
            wide = [rounding.to_f64(lanes, x) for x in wide]
        if (name, type) == ("fma", "bf16"):
            x, y, z = wide
            result = sum_to_odd(lanes, lanes.b.fmul(x, y), z)
        else:
            result = rounding.compute(lanes, name, "rn", *wide)
        if "sat" in m:
            result = rounding.saturate(lanes, result)
        if "relu" in m:
            result = rounding.rectify(lanes, result)
        bits = rounded_half(lanes, m, result)
        return unless_out_of_bounds(lanes, bits, *halves[:2]) if "oob" in m else bits

    return each_half(lanes, m.type, build, *operands)


def unless_out_of_bounds(lanes: Lanes, result: ir.Value, *factors: ir.Value) -> ir.Value:
    """+0 where a factor is the out-of-bounds NaN."""
    b = lanes.b
    for factor in factors:
        magnitude = b.and_(factor, lanes.constant(I16, 0x7FFF))
        outside = b.icmp_unsigned("==", magnitude, lanes.constant(I16, OUT_OF_BOUNDS))
        result = b.select(outside, lanes.constant(I16, 0), result)
    return result


def rounded_half(lanes: Lanes, m: Modifiers, result: ir.Value) -> ir.Value:
    """f32 or f64 lanes to the nearest half of the instruction's type.

    .ftz flushes what is subnormal when rounded to all bits of a significand, as for f32 (`floating.flushed`): what is nearer to the
    least normal number than half a unit of the numbers below it is not.
    """
    b, format = lanes.b, FORMATS[half_type(m.type)]
    bits = b.trunc(rounding.narrow(lanes, result, format, "rn"), vector(I16))
    if "ftz" not in m:
        return bits
    limit = 2.0 ** (1 - format.bias) * (1 - 2.0 ** -(format.fraction_bits + 2))
    subnormal = b.fcmp_ordered("<", lanes.map("llvm.fabs", result), lanes.constant(result.type.element, limit))
    return b.select(subnormal, b.and_(bits, lanes.constant(I16, format.sign)), bits)


def sum_to_odd(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """x + y, where inexact the neighbour whose last bit is 1, so that rounding it again gives what one rounding would.

    The error of the sum is itself an f64 (Knuth's two-sum). Boldo and Melquiond, Emulation of FMA and correctly rounded
    sums: proved algorithms using rounding to odd, IEEE TC 2008.
    """
    b = lanes.b
    total = b.fadd(x, y)
    part = b.fsub(total, x)
    error = b.fadd(b.fsub(x, b.fsub(total, part)), b.fsub(y, part))
    bits, error_bits = lanes.to_bits(total), lanes.to_bits(error)
    zero, one = rounding.number(lanes, bits, 0), rounding.number(lanes, bits, 1)
    inexact = b.fcmp_ordered("!=", error, lanes.constant(F64, 0.0))
    even = b.icmp_unsigned("==", b.and_(bits, one), zero)
    away = b.icmp_signed(">=", b.xor(bits, error_bits), zero)  # the exact sum is further from zero
    neighbour = b.select(away, b.add(bits, one), b.sub(bits, one))
    return lanes.from_bits(b.select(b.and_(inexact, even), neighbour, bits), "f64")
