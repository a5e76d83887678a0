"""Elementary functions of f64 lanes by short series, the same on every host; errors far below half a unit of f32.

Multiplications and additions only, in a fixed order: no library's sine decides a simulated result.
"""

import math
from fractions import Fraction

from llvmlite import ir

from simtlab.isa.lanes import F64, I64, Lanes, vector

LN2 = math.log(2)
TINY = 2.0**-12  # below it, two terms of tanh's series give 48 bits


def polynomial(lanes: Lanes, x: ir.Value, coefficients: list[float]) -> ir.Value:
    """coefficients[0] + coefficients[1] · x + … by Horner's rule."""
    b = lanes.b
    value = lanes.constant(F64, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = b.fadd(b.fmul(value, x), lanes.constant(F64, coefficient))
    return value


def sine(lanes: Lanes, x: ir.Value) -> ir.Value:
    """sin x for x in [0, pi/2], to 2^-44: its Taylor series to x^17."""
    terms = [float(Fraction((-1) ** k, math.factorial(2 * k + 1))) for k in range(9)]
    return lanes.b.fmul(x, polynomial(lanes, lanes.b.fmul(x, x), terms))


def power_of_two(lanes: Lanes, x: ir.Value) -> ir.Value:
    """2^x for x in [-1000, 1000], relatively to 2^-46: e^(r ln 2) to its 12th term and a power of two."""
    b = lanes.b
    whole = lanes.map("llvm.rint", x)
    terms = [LN2**k / math.factorial(k) for k in range(12)]
    fraction = polynomial(lanes, b.fsub(x, whole), terms)
    exponent = lanes.call("llvm.fptosi.sat.v32i64.v32f64", vector(I64), [whole])
    scaled = b.add(lanes.to_bits(fraction), b.shl(exponent, lanes.constant(I64, 52)))
    return lanes.from_bits(scaled, "f64")


def binary_logarithm(lanes: Lanes, x: ir.Value) -> ir.Value:
    """log2 x for positive normal x, absolutely and relatively to 2^-45: atanh's series at (m - 1) / (m + 1)."""
    b = lanes.b
    bits = lanes.to_bits(x)
    above = b.sub(bits, lanes.constant(I64, 0x3FE6A09E667F3BCD))  # from sqrt(1/2): m in [sqrt(1/2), sqrt(2))
    exponent = b.ashr(above, lanes.constant(I64, 52))
    m = lanes.from_bits(b.sub(bits, b.shl(exponent, lanes.constant(I64, 52))), "f64")
    one = lanes.constant(F64, 1.0)
    s = b.fdiv(b.fsub(m, one), b.fadd(m, one))
    terms = [2 / LN2 / (2 * k + 1) for k in range(10)]
    fraction = b.fmul(s, polynomial(lanes, b.fmul(s, s), terms))
    return b.fadd(b.sitofp(exponent, vector(F64)), fraction)


def hyperbolic_tangent(lanes: Lanes, x: ir.Value) -> ir.Value:
    """tanh x for |x| <= 64, relatively to 2^-38: (e^2x - 1) / (e^2x + 1), or x - x^3 / 3 near zero."""
    b = lanes.b
    one = lanes.constant(F64, 1.0)
    e = power_of_two(lanes, b.fmul(x, lanes.constant(F64, 2 / LN2)))
    quotient = b.fdiv(b.fsub(e, one), b.fadd(e, one))
    small = b.fmul(x, polynomial(lanes, b.fmul(x, x), [1.0, -1 / 3]))
    size = lanes.map("llvm.fabs", x)
    return b.select(b.fcmp_ordered("<", size, lanes.constant(F64, TINY)), small, quotient)


def clamp(lanes: Lanes, x: ir.Value, lowest: float, highest: float) -> ir.Value:
    """x limited to an interval; a NaN stays."""
    for relation, limit in (("<", lowest), (">", highest)):
        bound = lanes.constant(F64, limit)
        x = lanes.b.select(lanes.b.fcmp_ordered(relation, x, bound), bound, x)
    return x
