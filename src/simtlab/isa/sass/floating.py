"""Floating-point instructions of machine code that PTX does not have: comparisons with two predicates, FCHK, parts of MUFU."""

from llvmlite import ir

from simtlab.isa import convert, floating, half, rounding, special_function_unit
from simtlab.isa.compare import compare
from simtlab.isa.lanes import F64, I1, I32, I64, Lanes, bits_of, vector
from simtlab.isa.rounding import FORMATS
from simtlab.isa.sass.integer import COMBINE, combined
from simtlab.isa.table import Modifiers, operation

COMPARISONS = "{.F,.LT,.EQ,.LE,.GT,.NE,.GE,.NUM,.NAN,.LTU,.EQU,.LEU,.GTU,.NEU,.GEU,.T}"
DIRECTIONS = "[.RM,.RP,.RZ]"
EXCHANGED, ONE_WORD = "LO_HI", "F32"  # marks of two floats in a pair of registers

# FCHK: biased exponents of the dividend, the divisor and their difference with which one correction of the quotient is exact.
# An H200 was asked for all pairs of positive numbers (tests/data/hardware/fchk.npz); four mantissas each made no difference.
DIVIDEND = (25, 254)  # the remainder's last bit, 47 places below the dividend's first, is not below the least subnormal
DIVISOR = (2, 251)  # the reciprocal is a normal number, with one to spare
QUOTIENT = (-124, 126)  # and so is the quotient


@operation("FMUL{.D2,.D4,.D8,.M2,.M4,.M8}[.FTZ]", "f32 = f32 f32")
def scaled_product(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """A product times a power of two, rounded once: in f64 both are exact."""
    if "FTZ" in m:
        x, y = rounding.flush(lanes, x), rounding.flush(lanes, y)
    factor = float(m.parts[0][1:]) ** (1 if m.parts[0][0] == "M" else -1)
    wide = lanes.b.fmul(rounding.to_f64(lanes, x), rounding.to_f64(lanes, y))
    result = rounding.to_f32(lanes, lanes.b.fmul(wide, lanes.constant(F64, factor)))
    return rounding.canonical_nan(lanes, rounding.flush(lanes, result) if "FTZ" in m else result)


def holds(lanes: Lanes, m: Modifiers, type: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """Where a comparison, the first part that is one, is true."""
    how = m.first_of(*(part.strip(".{}") for part in COMPARISONS.split(",")))
    if how in ("F", "T"):
        return lanes.constant(I1, int(how == "T"))
    return compare(lanes, Modifiers(f"setp.{str(how).lower()}{'.ftz' * ('FTZ' in m)}.{type}"), x, y)


@operation(f"FSETP{COMPARISONS}[.FTZ]{COMBINE}.{{f32,f64}}", "P P = T T P")
def fsetp(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A comparison combined with a predicate, and its opposite so combined."""
    return combined(lanes, m, holds(lanes, m, m.type, x, y), other)


@operation(f"DSETP{{.MIN,.MAX}}{COMBINE}", "P P = f64 f64 P")
def choose(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Whether x is the lesser (greater) number, -0 below +0, or the only number; whether neither is one."""
    b, double = lanes.b, FORMATS["f64"]
    p, q = lanes.to_bits(x), lanes.to_bits(y)
    chosen = rounding.extremum(lanes, p, q, double, largest="MAX" in m)
    nans = [rounding.is_nan(lanes, value) for value in (x, y)]
    first = b.and_(b.icmp_unsigned("==", chosen, p), b.not_(nans[0]))
    return combined(lanes, m, first, other)[0], combined(lanes, m, b.and_(*nans), other)[0]


@operation("FMNMX[.FTZ][.NAN].{f32,f16x2,bf16x2}", "T = T T P")
def minimum_or_maximum(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, least: ir.Value) -> ir.Value:
    """The lesser where the predicate holds, else the greater."""
    build = floating.min_max if m.type == "f32" else half.min_max
    tail = ".ftz" * ("FTZ" in m) + ".NaN" * ("NAN" in m) + f".{m.type}"
    return lanes.b.select(least, *(build(lanes, Modifiers(name + tail), x, y) for name in ("min", "max")))


@operation("FMNMX3[.FTZ][.NAN].f32", "T = T T T P")
def least_or_greatest(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value, least: ir.Value) -> ir.Value:
    """The least of three where the predicate holds, else the greatest."""
    first = lanes.from_bits(minimum_or_maximum(lanes, m, x, y, least), m.type)
    return minimum_or_maximum(lanes, m, first, z, least)


@operation("FCHK", "P = f32 f32")
def division_needs_care(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """Whether x / y is not safely a reciprocal, a product and one correction: zeros, infinities, NaNs, exponents near an end."""
    b = lanes.b

    def exponent(value: ir.Value) -> ir.Value:
        return b.and_(b.lshr(lanes.to_bits(value), lanes.constant(I32, 23)), lanes.constant(I32, 255))

    dividend, divisor = exponent(x), exponent(y)
    slow = lanes.constant(I1, 0)
    for value, (low, high) in ((dividend, DIVIDEND), (divisor, DIVISOR), (b.sub(dividend, divisor), QUOTIENT)):
        slow = b.or_(slow, b.icmp_signed("<", value, lanes.like(value, low & 0xFFFFFFFF)))
        slow = b.or_(slow, b.icmp_signed(">", value, lanes.like(value, high)))
    return slow


@operation("MUFU{.SIN,.COS}", "f32 = f32")
def sine_of_turns(lanes: Lanes, m: Modifiers, turns: ir.Value) -> ir.Value:
    """The sine or cosine of an angle in turns, which a multiplication has made of radians before."""
    return special_function_unit.wave(lanes, lanes.to_bits(turns), cosine="COS" in m)


@operation("MUFU{.RCP64H,.RSQ64H}", "f32 = f32")
def seed(lanes: Lanes, m: Modifiers, upper: ir.Value) -> ir.Value:
    """From a double's upper word to the upper word of its reciprocal, or that of its square root."""
    function = special_function_unit.reciprocal if "RCP64H" in m else special_function_unit.reciprocal_root
    return function(lanes, lanes.to_bits(upper), special_function_unit.UPPER_WORD)


# Two floats in a pair of registers ------------------------------------------------------------------------------------


@operation(f"FADD2[.FTZ]{DIRECTIONS}", "b64 = b64 b64", own_marks=True)
@operation(f"FMUL2[.FTZ]{DIRECTIONS}", "b64 = b64 b64", own_marks=True)
@operation(f"FFMA2[.FTZ]{DIRECTIONS}", "b64 = b64 b64 b64", own_marks=True)
def of_two(lanes: Lanes, m: Modifiers, *pairs: ir.Value) -> ir.Value:
    """The same operation on both words of register pairs. A source may have its words exchanged, or one word for both."""
    b, shift = lanes.b, lanes.constant(I64, 32)
    name, build = {"FADD2": ("add", floating.add), "FMUL2": ("mul", floating.mul), "FFMA2": ("fma", floating.fma)}[m.opcode]
    direction = (m.first_of("RM", "RP", "RZ") or "rn").lower()
    spelling = Modifiers(f"{name}.{direction}{'.ftz' * ('FTZ' in m)}.f32")
    words = []
    for place in (0, 1):
        given = []
        for k, pair in enumerate(pairs):
            mark = lanes.shape.mark(1 + k)
            upper = mark.endswith(EXCHANGED) if place == 0 else not mark.endswith((EXCHANGED, ONE_WORD))
            word = b.trunc(b.lshr(pair, shift) if upper else pair, vector(I32))
            given.append(lanes.marked(lanes.from_bits(word, "f32"), mark, "f32"))
        words.append(b.zext(lanes.to_bits(build(lanes, spelling, *given)), vector(I64)))
    return b.or_(words[0], b.shl(words[1], shift))


@operation(f"FHADD[.FTZ][.SAT]{DIRECTIONS}.{{f16,bf16}}", "f32 = T f32")
@operation(f"FHFMA[.FTZ][.SAT]{DIRECTIONS}.{{f16,bf16}}", "f32 = T T f32")
def with_halves(lanes: Lanes, m: Modifiers, *given: ir.Value) -> ir.Value:
    """A sum, or a product and a sum, of halves and one f32, in f32."""
    *halves, last = given
    direction = (m.first_of("RM", "RP", "RZ") or "rn").lower()
    tail = f".{direction}{'.ftz' * ('FTZ' in m)}{'.sat' * ('SAT' in m)}.f32"
    wide = [rounding.widen(lanes, value, m.type) for value in halves]
    if m.opcode == "FHADD":
        return floating.add(lanes, Modifiers(f"add{tail}"), *wide, last)
    return floating.fma(lanes, Modifiers(f"fma{tail}"), *wide, last)


# Conversions that pack ------------------------------------------------------------------------------------------------


@operation("I2IP.SAT.{u8,s8,u16,s16}.s32", "u32 = s32 s32 u32")
def pack_integers(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, rest: ir.Value) -> ir.Value:
    """Both limited to a narrow type, x above y; what is left of the word has the low bits of a third."""
    b, (target, source) = lanes.b, m.types
    width = bits_of(target)
    low, high = (
        b.zext(b.trunc(convert.clamped(lanes, value, source, target), vector(ir.IntType(width))), vector(I32)) for value in (y, x)
    )
    packed = b.or_(low, b.shl(high, lanes.constant(I32, width)))
    return packed if width == 16 else b.or_(packed, b.shl(rest, lanes.constant(I32, 2 * width)))


