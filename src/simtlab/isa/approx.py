"""The approximate functions rcp … tanh `.approx`, and the fast divisions: the special function unit's results, bit for bit.

Where PTX asks for more than the unit does, this is what the compiler puts around it for an H200: operands scaled so that
neither they nor the results are subnormal, a reciprocal multiplied, an angle in turns, a step of refinement in f64.
"""

import math
from collections.abc import Callable

from llvmlite import ir

from simtlab.isa import floating, rounding
from simtlab.isa import special_function_unit as sfu
from simtlab.isa.half import each_half, half_type
from simtlab.isa.lanes import F32, F64, I16, I32, I64, Lanes, vector
from simtlab.isa.rounding import FORMATS
from simtlab.isa.table import Modifiers, operation

# Single precision -----------------------------------------------------------------------------------------------------

LEAST_NORMAL, HUGE = 2.0**-126, 2.0**126
SCALE = 2.0**24  # what makes subnormal operands normal


def given(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return rounding.flush(lanes, x) if "ftz" in m else x


def unit(lanes: Lanes, function: Callable[..., ir.Value], x: ir.Value) -> ir.Value:
    """A function of the special function unit, of and as f32 lanes."""
    return lanes.from_bits(function(lanes, lanes.to_bits(x)), "f32")


def is_size(lanes: Lanes, relation: str, x: ir.Value, limit: float) -> ir.Value:
    return lanes.b.fcmp_ordered(relation, lanes.map("llvm.fabs", x), lanes.constant(F32, limit))


def chosen(lanes: Lanes, condition: ir.Value, number: float, other: ir.Value | float = 1.0) -> ir.Value:
    """One number of f32 where a condition holds, else another."""
    if isinstance(other, float):
        other = lanes.constant(F32, other)
    return lanes.b.select(condition, lanes.constant(F32, number), other)


@operation("rcp.approx[.ftz].f32", "T = T")
def rcp(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """Without .ftz operands and results near the ends of the range are scaled, since the unit knows no subnormals."""
    if "ftz" in m:
        return sfu.reciprocal(lanes, lanes.to_bits(x))
    scale = chosen(lanes, is_size(lanes, "<", x, LEAST_NORMAL), SCALE, chosen(lanes, is_size(lanes, ">", x, HUGE), 0.25))
    return rounding.canonical_nan(lanes, lanes.b.fmul(unit(lanes, sfu.reciprocal, lanes.b.fmul(x, scale)), scale))


@operation("sqrt.approx[.ftz].f32", "T = T")
@operation("rsqrt.approx[.ftz].f32", "T = T")
def roots(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    function = sfu.root if m.opcode == "sqrt" else sfu.reciprocal_root
    if "ftz" in m:
        return function(lanes, lanes.to_bits(x))
    b, subnormal = lanes.b, is_size(lanes, "<", x, LEAST_NORMAL)
    result = unit(lanes, function, b.fmul(x, chosen(lanes, subnormal, SCALE)))
    back = SCALE**-0.5 if m.opcode == "sqrt" else SCALE**0.5
    return rounding.canonical_nan(lanes, b.fmul(result, chosen(lanes, subnormal, back)))


@operation("div.full[.ftz].f32", "T = T T")
@operation("div.approx[.ftz].f32", "T = T T")
def divide(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """A product with the reciprocal. First both operands are scaled where the unit would make the reciprocal infinite or zero."""
    b = lanes.b
    product = Modifiers(f"mul.rn{'.ftz' * ('ftz' in m)}.f32")
    x, y = given(lanes, m, x), given(lanes, m, y)
    scale = lanes.constant(F32, 1.0)
    if "ftz" not in m:
        scale = chosen(lanes, is_size(lanes, "<", y, LEAST_NORMAL), SCALE)
    if "full" in m:
        scale = chosen(lanes, is_size(lanes, ">", y, HUGE), 0.25, scale)
    x, y = (given(lanes, m, b.fmul(v, scale)) for v in (x, y))
    return floating.mul(lanes, product, x, unit(lanes, sfu.reciprocal, y))


@operation("sin.approx[.ftz].f32", "T = T")
@operation("cos.approx[.ftz].f32", "T = T")
def sin_cos(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """Of an angle in turns: the product with 1/(2 pi) is rounded toward zero."""
    turns = rounding.compute(lanes, "fmul", "rz", given(lanes, m, x), lanes.constant(F32, _f32(0x3E22F983)))
    return sfu.wave(lanes, lanes.to_bits(turns), cosine=m.opcode == "cos")


def _f32(bits: int) -> float:
    """The value of f32 bits, as LLVM's constants want it: 1/(2 pi) here."""
    return math.ldexp((bits & 0x7FFFFF) | 0x800000, (bits >> 23) - 150)


@operation("lg2.approx[.ftz].f32", "T = T")
def lg2(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    if "ftz" in m:
        return sfu.logarithm(lanes, lanes.to_bits(x))
    b, subnormal = lanes.b, is_size(lanes, "<", x, LEAST_NORMAL)
    result = unit(lanes, sfu.logarithm, b.fmul(x, chosen(lanes, subnormal, SCALE)))
    return rounding.canonical_nan(lanes, b.select(subnormal, b.fsub(result, lanes.constant(F32, 24.0)), result))


@operation("ex2.approx[.ftz].f32", "T = T")
def ex2(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """A subnormal result is the square of another."""
    if "ftz" in m:
        return sfu.power(lanes, lanes.to_bits(x))
    b, small = lanes.b, lanes.b.fcmp_ordered("<", x, lanes.constant(F32, -126.0))
    result = unit(lanes, sfu.power, b.fmul(x, chosen(lanes, small, 0.5)))
    return rounding.canonical_nan(lanes, b.select(small, b.fmul(result, result), result))


@operation("tanh.approx.f32", "T = T")
def tanh(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return sfu.tangent(lanes, lanes.to_bits(x))


# Half precision -------------------------------------------------------------------------------------------------------


@operation("ex2.approx.{f16,f16x2}", "T = T")
@operation("ex2.approx.ftz.{bf16,bf16x2}", "T = T")
@operation("tanh.approx.{f16,f16x2}", "T = T")
@operation("tanh.approx.{bf16,bf16x2}", "T = T")
def of_halves(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The function of f32, cut to the half; but a power of two beyond f16 is infinite."""
    b, type = lanes.b, half_type(m.type)
    function = sfu.power if m.opcode == "ex2" else sfu.tangent

    def build(half: ir.Value) -> ir.Value:
        word = function(lanes, lanes.to_bits(rounding.widen(lanes, half, type)))
        if type == "bf16":
            return b.trunc(b.lshr(word, lanes.constant(I32, 16)), vector(I16))
        value, format = lanes.from_bits(word, "f32"), FORMATS[type]
        bits = rounding.narrow(lanes, value, format, "rz")
        beyond = b.fcmp_ordered(">=", value, lanes.constant(F32, 2.0 ** (format.bias + 1)))
        return b.trunc(b.select(beyond, lanes.constant(I32, format.infinity), bits), vector(I16))

    return each_half(lanes, m.type, build, x)


# Double precision -----------------------------------------------------------------------------------------------------


@operation("rcp.approx.ftz.f64", "T = T")
@operation("rsqrt.approx.ftz.f64", "T = T")
def upper_word(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """From the upper word of x to the upper word of the result; the lower words are taken and made as zeros."""
    b, shift = lanes.b, lanes.constant(I64, 32)
    function = sfu.reciprocal_root if m.opcode == "rsqrt" else sfu.reciprocal
    upper = b.trunc(b.lshr(lanes.to_bits(x), shift), vector(I32))
    return b.shl(b.zext(function(lanes, upper, sfu.UPPER_WORD), vector(I64)), shift)


@operation("rsqrt.approx.f64", "T = T")
def rsqrt_f64(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The estimate from the upper word and one step of third order; a subnormal operand is scaled by 2^54 before."""
    b = lanes.b
    one, half, weight = (lanes.constant(F64, number) for number in (1.0, 0.5, 0.375))
    size = lanes.map("llvm.fabs", x)
    subnormal = b.fcmp_ordered("<", size, lanes.constant(F64, 2.0**-1022))
    scaled = b.select(subnormal, b.fmul(x, lanes.constant(F64, 2.0**54)), x)
    estimate = lanes.from_bits(upper_word(lanes, Modifiers("rsqrt.approx.ftz.f64"), scaled), "f64")
    error = lanes.map("llvm.fma", scaled, b.fneg(b.fmul(estimate, estimate)), one)
    step = b.fmul(estimate, error)
    better = lanes.map("llvm.fma", lanes.map("llvm.fma", error, weight, half), step, estimate)
    better = b.select(subnormal, b.fmul(better, lanes.constant(F64, 2.0**27)), better)
    infinite = b.fcmp_ordered("==", size, lanes.constant(F64, math.inf))
    usable = b.and_(b.fcmp_ordered(">", size, lanes.constant(F64, 0.0)), b.not_(infinite))
    result = b.select(usable, better, estimate)  # for zeros and infinities the unit's own result
    return rounding.propagated_nan(lanes, b.select(b.fcmp_ordered("<", x, lanes.constant(F64, 0.0)), _nan(lanes), result), x)


def _nan(lanes: Lanes) -> ir.Value:
    return lanes.from_bits(lanes.constant(I64, rounding.INVALID_F64), "f64")
