"""The approximate functions: rcp … tanh `.approx`, and the fast divisions.

Here they are computed exactly, to the rounding of the result. A GPU's special-function unit interpolates in tables and
its results differ in the last bits: by how much at most, `BOUNDS` says. Zeros, infinities, NaNs and subnormals are the
GPU's. What is imitated because it shows beyond the last bits, as seen on an H200:

- sin and cos multiply by 1/(2 pi) in f32, rounding toward zero, and cut the fraction of the turn to 25 bits; odd
  quadrants are mirrored by inverting the bits. Doing the same, the bound holds for every input, however large.
- lg2, ex2.approx.f16 and the f64 pair rcp/rsqrt `.ftz` cut their result where the others come closer to rounding it.
- div.approx multiplies by a reciprocal that is flushed when |b| > 2^126, so that the quotient is then a zero.
"""

import math
from dataclasses import dataclass

from llvmlite import ir

from simtlab.isa import elementary, rounding
from simtlab.isa.half import each_half, half_type
from simtlab.isa.lanes import F32, F64, I16, I32, I64, Lanes, vector
from simtlab.isa.rounding import FORMATS
from simtlab.isa.table import Modifiers, find, operation

RCP, SQRT, RSQRT = (f"{name}.approx[.ftz].f32" for name in ("rcp", "sqrt", "rsqrt"))
SIN, COS, LG2, EX2 = (f"{name}.approx[.ftz].f32" for name in ("sin", "cos", "lg2", "ex2"))
TANH, DIV_APPROX, DIV_FULL = "tanh.approx.f32", "div.approx[.ftz].f32", "div.full[.ftz].f32"
EX2_F16, EX2_BF16 = "ex2.approx.{f16,f16x2}", "ex2.approx.ftz.{bf16,bf16x2}"
TANH_F16, TANH_BF16 = "tanh.approx.{f16,f16x2}", "tanh.approx.{bf16,bf16x2}"
RCP_F64, RSQRT_F64, RSQRT_FTZ_F64 = "rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"


@dataclass(frozen=True, slots=True)
class Bound:
    """How far simtlab and the hardware may be apart: `limit` units in the last place, or relatively, or absolutely.

    It holds for a first operand between `low` and `high`; the first row that holds for an operand counts. `seen` is the
    largest distance from an H200's results, over all operands for one f32 or half, over 2^16 or more for the others.
    """

    pattern: str
    kind: str  # ulp, relative, absolute
    limit: float
    seen: float
    source: str
    low: float = -math.inf
    high: float = math.inf


_PTX = "PTX ISA, section "
BOUNDS = (
    Bound(RCP, "ulp", 1, 1, _PTX + "rcp: 1 ulp over the full range"),
    Bound(SQRT, "relative", 2**-23, 2**-23.0004, _PTX + "sqrt: 2^-23 over the positive finite range"),
    Bound(RSQRT, "relative", 2**-22.9, 2**-22.988, _PTX + "rsqrt: 2^-22.9 over the positive finite range"),
    Bound(SIN, "absolute", 2**-20.5, 2**-22.41, _PTX + "sin: 2^-20.5 in [-2 pi, 2 pi]; here for every input"),
    Bound(COS, "absolute", 2**-20.5, 2**-22.41, _PTX + "cos: 2^-20.5 in [-2 pi, 2 pi]; here for every input"),
    Bound(LG2, "absolute", 2**-22, 2**-22.41, _PTX + "lg2: 2^-22 in (0.5, 2)", 0.5, 2.0),
    Bound(LG2, "relative", 2**-22, 2**-22.02, _PTX + "lg2: 2^-22 outside (0.5, 2)"),
    Bound(EX2, "ulp", 2, 2, _PTX + "ex2: 2 ulp over the full range"),
    Bound(TANH, "relative", 2**-11, 2**-16.45, _PTX + "tanh: 2^-11 over the full range"),
    Bound(DIV_APPROX, "ulp", 2, 2, _PTX + "div: 2 ulp for |b| in [2^-126, 2^126]; here for every b"),
    Bound(DIV_FULL, "ulp", 2, 2, _PTX + "div: 2 ulp over the full range"),
    Bound(EX2_F16, "relative", 2**-9.9, 2**-10.999, _PTX + "ex2 (half precision): 2^-9.9 for f16"),
    Bound(EX2_BF16, "relative", 2**-7, 2**-7, _PTX + "ex2 (half precision): 2^-7 for bf16"),
    Bound(TANH_F16, "absolute", 2**-10.987, 2**-11, _PTX + "tanh (half precision): 2^-10.987 for f16"),
    Bound(TANH_BF16, "absolute", 2**-8, 2**-8, _PTX + "tanh (half precision): 2^-8 for bf16"),
    Bound(RCP_F64, "relative", 2**-20, 2**-20.001, _PTX + "rcp.approx.ftz.f64: 20 bits, no error stated"),
    Bound(RSQRT_FTZ_F64, "relative", 2**-20, 2**-20.002, _PTX + "rsqrt.approx.ftz.f64: 20 bits, no error stated"),
    Bound(RSQRT_F64, "ulp", 1, 1, "chosen: the largest seen against an H200; the PTX ISA states none"),
)


def bounds_of(spelling: str) -> list[Bound]:
    """The rows of BOUNDS for a spelling; the first one that holds for an operand counts."""
    row = find(spelling)
    return [bound for bound in BOUNDS if row is not None and bound.pattern == row.pattern]


# Single precision -----------------------------------------------------------------------------------------------------


def finished(lanes: Lanes, m: Modifiers, value: ir.Value) -> ir.Value:
    """An f32 or f64 result as f32 bits: rounded to nearest, flushed where the spelling says so, the one NaN."""
    single = value if value.type.element == F32 else rounding.to_f32(lanes, value)
    if "ftz" in m:
        single = rounding.flush(lanes, single)
    return rounding.canonical_nan(lanes, single)


def given(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return rounding.flush(lanes, x) if "ftz" in m else x


@operation(RCP, "T = T")
def rcp(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return finished(lanes, m, lanes.b.fdiv(lanes.constant(F32, 1.0), given(lanes, m, x)))


@operation(SQRT, "T = T")
def sqrt(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return finished(lanes, m, lanes.map("llvm.sqrt", given(lanes, m, x)))


@operation(RSQRT, "T = T")
def rsqrt(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    root = lanes.map("llvm.sqrt", rounding.to_f64(lanes, given(lanes, m, x)))
    return finished(lanes, m, lanes.b.fdiv(lanes.constant(F64, 1.0), root))


@operation(DIV_FULL, "T = T T")
def div_full(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return finished(lanes, m, lanes.b.fdiv(given(lanes, m, x), given(lanes, m, y)))


@operation(DIV_APPROX, "T = T T")
def div_approx(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    b = lanes.b
    x, y = (rounding.to_f64(lanes, given(lanes, m, v)) for v in (x, y))
    exact = b.fdiv(lanes.constant(F64, 1.0), y)
    rounded = rounding.to_f64(lanes, rounding.flush(lanes, rounding.to_f32(lanes, exact)))
    too_large = b.fcmp_ordered(">", lanes.map("llvm.fabs", exact), lanes.constant(F64, 2.0**128 - 2.0**103))
    return finished(lanes, m, b.fmul(x, b.select(too_large, exact, rounded)))


@operation(SIN, "T = T")
@operation(COS, "T = T")
def sin_cos(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The sine of the turn's 25-bit fraction, by quadrants."""
    turns = rounding.compute(lanes, "fmul", "rz", given(lanes, m, x), lanes.constant(F32, _f32(0x3E22F983)))
    return wave(lanes, turns, cosine=m.opcode == "cos")


def wave(lanes: Lanes, turns: ir.Value, cosine: bool) -> ir.Value:
    """The sine or cosine of an angle in turns, as bits."""
    b = lanes.b
    size = lanes.map("llvm.fabs", turns)
    fraction = b.fmul(b.fsub(size, lanes.map("llvm.floor", size)), lanes.constant(F32, 2.0**25))
    units = lanes.call("llvm.fptoui.sat.v32i32.v32f32", vector(I32), [fraction])
    quadrant = b.lshr(units, lanes.constant(I32, 23))
    if cosine:
        quadrant = b.add(quadrant, lanes.constant(I32, 1))
    zero, last = lanes.constant(I32, 0), lanes.constant(I32, (1 << 23) - 1)
    mirror = b.select(_bit(lanes, quadrant, 0), last, zero)
    angle = b.uitofp(b.xor(b.and_(units, last), mirror), vector(F64))
    sine = rounding.to_f32(lanes, elementary.sine(lanes, b.fmul(angle, lanes.constant(F64, math.pi / 2 / 2**23))))
    flipped = b.select(_bit(lanes, quadrant, 1), lanes.constant(I32, 1 << 31), zero)
    if not cosine:  # an odd function
        flipped = b.xor(flipped, b.and_(lanes.to_bits(turns), lanes.constant(I32, 1 << 31)))
    result = b.xor(lanes.to_bits(sine), flipped)
    finite = b.fcmp_ordered("<", size, lanes.constant(F32, math.inf))
    return b.select(finite, result, lanes.constant(I32, FORMATS["f32"].nan))


def _bit(lanes: Lanes, x: ir.Value, k: int) -> ir.Value:
    return lanes.b.trunc(lanes.b.lshr(x, lanes.constant(I32, k)), vector(ir.IntType(1)))


def _f32(bits: int) -> float:
    """The value of f32 bits, as LLVM's constants want it: 1/(2 pi) here."""
    return math.ldexp((bits & 0x7FFFFF) | 0x800000, (bits >> 23) - 150)


@operation(LG2, "T = T")
def lg2(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """Cut, not rounded: an H200's results are nearest to that."""
    b = lanes.b
    x = given(lanes, m, x)
    infinity = lanes.constant(F32, math.inf)
    logarithm = elementary.binary_logarithm(lanes, rounding.to_f64(lanes, x))
    bits = b.trunc(rounding.narrow(lanes, logarithm, FORMATS["f32"], "rz"), vector(I32))
    bits = b.select(b.fcmp_ordered("==", x, infinity), lanes.to_bits(infinity), bits)
    minus_infinity = lanes.constant(I32, 0xFF800000)
    zero = lanes.constant(F32, 0.0)
    bits = b.select(b.fcmp_ordered("==", x, zero), minus_infinity, bits)
    bits = b.select(b.fcmp_unordered("<", x, zero), lanes.constant(I32, FORMATS["f32"].nan), bits)
    return rounding.flush_bits(lanes, bits, FORMATS["f32"]) if "ftz" in m else bits


@operation(EX2, "T = T")
def ex2(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return finished(lanes, m, power(lanes, given(lanes, m, x)))


def power(lanes: Lanes, x: ir.Value) -> ir.Value:
    """2^x in f64 for f32 lanes, infinite or zero beyond what f32 can hold once rounded."""
    return elementary.power_of_two(lanes, elementary.clamp(lanes, rounding.to_f64(lanes, x), -300.0, 300.0))


@operation(TANH, "T = T")
def tanh(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return finished(lanes, m, tangent(lanes, x))


def tangent(lanes: Lanes, x: ir.Value) -> ir.Value:
    return elementary.hyperbolic_tangent(lanes, elementary.clamp(lanes, rounding.to_f64(lanes, x), -64.0, 64.0))


# Half precision -------------------------------------------------------------------------------------------------------


@operation(EX2_F16, "T = T")
@operation(EX2_BF16, "T = T")
def ex2_half(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """f16 is cut, but overflows to infinity."""
    b, type = lanes.b, half_type(m.type)
    format = FORMATS[type]

    def build(half: ir.Value) -> ir.Value:
        value = power(lanes, given(lanes, m, rounding.widen(lanes, half, type)))
        bits = b.trunc(rounding.narrow(lanes, value, format, "rz" if type == "f16" else "rn"), vector(I16))
        beyond = b.fcmp_ordered(">=", value, lanes.constant(F64, 2.0 ** (format.bias + 1)))
        bits = b.select(beyond, lanes.constant(I16, format.infinity), bits)
        return rounding.flush_bits(lanes, bits, format) if "ftz" in m else bits

    return each_half(lanes, m.type, build, x)


@operation(TANH_F16, "T = T")
@operation(TANH_BF16, "T = T")
def tanh_half(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    type = half_type(m.type)

    def build(half: ir.Value) -> ir.Value:
        bits = rounding.narrow(lanes, tangent(lanes, rounding.widen(lanes, half, type)), FORMATS[type], "rn")
        return lanes.b.trunc(bits, vector(I16))

    return each_half(lanes, m.type, build, x)


# Double precision -----------------------------------------------------------------------------------------------------


@operation(RCP_F64, "T = T")
@operation(RSQRT_FTZ_F64, "T = T")
def upper_word(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """From the upper word of x to the upper word of the result; the lower words are taken and made as zeros."""
    b, double = lanes.b, FORMATS["f64"]
    upper = lanes.constant(I64, 0xFFFFFFFF00000000)
    x = lanes.from_bits(rounding.flush_bits(lanes, b.and_(lanes.to_bits(x), upper), double), "f64")
    divisor = lanes.map("llvm.sqrt", x) if m.opcode == "rsqrt" else x
    result = b.fdiv(lanes.constant(F64, 1.0), divisor)
    bits = b.and_(rounding.flush_bits(lanes, lanes.to_bits(result), double), upper)
    return b.select(rounding.is_nan(lanes, result), lanes.constant(I64, 0x7FFFFFFF00000000), bits)


@operation(RSQRT_F64, "T = T")
def rsqrt_f64(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """1 / sqrt(x) and one Newton step with exact products: rounded correctly in nearly every case, as the GPU does."""
    b = lanes.b
    one = lanes.constant(F64, 1.0)
    estimate = b.fdiv(one, lanes.map("llvm.sqrt", x))
    product = b.fmul(x, estimate)
    low = lanes.map("llvm.fma", x, estimate, b.fneg(product))
    residue = b.fsub(lanes.map("llvm.fma", b.fneg(product), estimate, one), b.fmul(low, estimate))
    corrected = lanes.map("llvm.fma", b.fmul(estimate, lanes.constant(F64, 0.5)), residue, estimate)
    usable = b.fcmp_ordered("ord", residue, residue)  # not for zeros and infinities
    return rounding.propagated_nan(lanes, b.select(usable, corrected, estimate), x)
