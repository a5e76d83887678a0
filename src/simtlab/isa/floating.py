"""f32 and f64 arithmetic: add … copysign, in every rounding direction.

f32 makes one NaN, 0x7fffffff. f64 keeps an operand's: the second factor's first, then the addend's, then the first
factor's (division: the dividend's, then the divisor's), with its sign and payload, quieted. Seen on an H200.
"""

from llvmlite import ir

from simtlab.isa import rounding
from simtlab.isa.lanes import F32, Lanes
from simtlab.isa.rounding import FORMATS
from simtlab.isa.table import Modifiers, operation

ANY = "[.rn,.rz,.rm,.rp]"
GIVEN = "{.rn,.rz,.rm,.rp}"


@operation(f"add{ANY}[.ftz][.sat].f32", "T = T T")
@operation(f"add{ANY}.f64", "T = T T")
def add(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fadd", (x, y), nan_from=(1, 0))


@operation(f"sub{ANY}[.ftz][.sat].f32", "T = T T")
@operation(f"sub{ANY}.f64", "T = T T")
def sub(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fsub", (x, y), nan_from=(1, 0))


@operation(f"mul{ANY}[.ftz][.sat].f32", "T = T T")
@operation(f"mul{ANY}.f64", "T = T T")
def mul(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fmul", (x, y), nan_from=(1, 0))


@operation(f"fma{GIVEN}[.ftz][.sat].f32", "T = T T T")
@operation(f"fma{GIVEN}.f64", "T = T T T")
@operation(f"mad{ANY}[.ftz][.sat].f32", "T = T T T")
@operation(f"mad{ANY}.f64", "T = T T T")
def fma(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """x · y + z, rounded once."""
    return arithmetic(lanes, m, "fma", (x, y, z), nan_from=(1, 2, 0))


@operation(f"div{GIVEN}[.ftz].f32", "T = T T")
@operation(f"div{GIVEN}.f64", "T = T T")
def div(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "fdiv", (x, y), nan_from=(0, 1))


@operation(f"rcp{GIVEN}[.ftz].f32", "T = T")
@operation(f"rcp{GIVEN}.f64", "T = T")
def rcp(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    one = lanes.constant(x.type.element, 1.0)
    return arithmetic(lanes, m, "fdiv", (one, x), nan_from=(1,))


@operation(f"sqrt{GIVEN}[.ftz].f32", "T = T")
@operation(f"sqrt{GIVEN}.f64", "T = T")
def sqrt(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return arithmetic(lanes, m, "sqrt", (x,), nan_from=(0,))


def arithmetic(
    lanes: Lanes, m: Modifiers, name: str, operands: tuple[ir.Value, ...], nan_from: tuple[int, ...]
) -> ir.Value:
    """One rounded operation as the GPU finishes it; `nan_from` is the order in which f64 operands give their NaN."""
    if m.type == "f64":
        result = rounding.compute(lanes, name, m.rounding, *operands)
        return rounding.propagated_nan(lanes, result, *(operands[k] for k in nan_from))
    if "ftz" in m:
        operands = tuple(rounding.flush(lanes, x) for x in operands)
    result = rounding.compute(lanes, name, m.rounding, *operands)
    if "ftz" in m:
        result = flushed(lanes, m, name, operands, result) if name in ("fmul", "fma") else rounding.flush(lanes, result)
    if "sat" in m:
        return rounding.saturate(lanes, result)
    return rounding.canonical_nan(lanes, result)


def flushed(lanes: Lanes, m: Modifiers, name: str, operands: tuple[ir.Value, ...], result: ir.Value) -> ir.Value:
    """f32 lanes without the results that are subnormal when rounded to 24 bits, as an H200 has it.

    As a subnormal number a result has fewer bits, and may have been rounded up to the least normal number: such are computed
    again, 2^24 times as large.
    """
    b, least, scale = lanes.b, 2.0**-126, lanes.constant(F32, 2.0**24)
    doubtful = b.fcmp_ordered("==", lanes.map("llvm.fabs", result), lanes.constant(F32, least))
    result = rounding.flush(lanes, result)

    def corrected() -> ir.Value:
        larger = (b.fmul(operands[0], scale), operands[1], *(b.fmul(z, scale) for z in operands[2:]))
        size = lanes.map("llvm.fabs", rounding.compute(lanes, name, m.rounding, *larger))
        subnormal = b.and_(doubtful, b.fcmp_ordered("<", size, lanes.constant(F32, least * 2.0**24)))
        zero = lanes.map("llvm.copysign", lanes.constant(F32, 0.0), result)
        return b.select(subnormal, zero, result)

    return rounding.unless_any(lanes, doubtful, result, corrected)


@operation("min[.ftz][.NaN][.xorsign.abs].f32", "T = T T")
@operation("max[.ftz][.NaN][.xorsign.abs].f32", "T = T T")
@operation("min.f64", "T = T T")
@operation("max.f64", "T = T T")
def min_max(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The number where one operand is a NaN (`.NaN`: a NaN where one is); -0 is below +0."""
    return min_max_bits(lanes, m, m.type, lanes.to_bits(x), lanes.to_bits(y))


def min_max_bits(lanes: Lanes, m: Modifiers, type: str, x: ir.Value, y: ir.Value) -> ir.Value:
    b, format = lanes.b, FORMATS[type]
    if "ftz" in m:
        x, y = (rounding.flush_bits(lanes, v, format) for v in (x, y))
    p, q = x, y
    if "abs" in m:
        p, q = (rounding.magnitude_of(lanes, v, format) for v in (x, y))
    result = rounding.extremum(lanes, p, q, format, largest=m.opcode == "max")
    if "xorsign" in m:
        sign = b.and_(b.xor(x, y), rounding.number(lanes, x, format.sign))
        result = b.or_(result, sign)
    if type == "f64":
        quiet = b.or_(result, rounding.number(lanes, result, format.quiet))
        return b.select(rounding.is_nan_bits(lanes, result, format), quiet, result)
    result = rounding.canonical_nan_bits(lanes, result, format)
    if "NaN" not in m:
        return result
    either = b.or_(rounding.is_nan_bits(lanes, x, format), rounding.is_nan_bits(lanes, y, format))
    return b.select(either, rounding.number(lanes, result, format.nan), result)


@operation("abs[.ftz].f32", "T = T")
@operation("neg[.ftz].f32", "T = T")
@operation("abs.f64", "T = T")
@operation("neg.f64", "T = T")
def abs_neg(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return abs_neg_bits(lanes, m, m.type, lanes.to_bits(x))


def abs_neg_bits(lanes: Lanes, m: Modifiers, type: str, x: ir.Value) -> ir.Value:
    """These compute: a NaN becomes the canonical one, or keeps its sign in f64."""
    b, format = lanes.b, FORMATS[type]
    if "ftz" in m:
        x = rounding.flush_bits(lanes, x, format)
    changed = (rounding.negated if m.opcode == "neg" else rounding.magnitude_of)(lanes, x, format)
    nan = rounding.number(lanes, x, format.nan)
    if type == "f64":
        nan = b.or_(x, rounding.number(lanes, x, format.quiet))
    return b.select(rounding.is_nan_bits(lanes, x, format), nan, changed)


@operation("copysign.{f32,f64}", "T = T T")
def copysign(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The sign of x on the magnitude of y, NaNs included."""
    b, format = lanes.b, FORMATS[m.type]
    x, y = lanes.to_bits(x), lanes.to_bits(y)
    sign = b.and_(x, rounding.number(lanes, x, format.sign))
    return b.or_(sign, rounding.magnitude_of(lanes, y, format))
