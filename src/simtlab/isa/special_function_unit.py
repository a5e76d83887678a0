"""The special function unit: MUFU's functions of f32 bits, with every bit that an H200 gives.

The unit evaluates a quadratic in tables (Oberman, Siu, A High-Performance Area-Efficient Multifunction Interpolator, ARITH
2005). The upper bits of the operand's significand pick a segment, the rest is the offset x in it, and the result is cut from
C0 + C1·x + C2·square(x) in fixed point. The squarer drops what partial products have below a place. envytools (nvhw/sfu.c)
found that in a GPU of 2006; that an H200 does the same was found by fitting all its answers, from which the coefficients
come, too (`special_function_tables`), and those of sqrt and tanh, which that GPU had not. The exceptions, 1/sqrt(x) of powers
of four and log2(1), are exact. Tests hold every function to sums over all answers of the H200.
"""

from dataclasses import dataclass
from functools import cached_property, reduce

from llvmlite import ir

from simtlab.isa import special_function_tables as tables
from simtlab.isa.lanes import F64, I1, I16, I32, I64, Lanes, vector
from simtlab.isa.rounding import FORMATS, Format

SINGLE = FORMATS["f32"]
UPPER_WORD = Format(FORMATS["f64"].exponent_bits, FORMATS["f64"].fraction_bits - 32)
OFFSET_BITS = 17  # that the squarer takes
FRACTION_BITS = 23
FRACTION, HIDDEN, INFINITY, SIGN, NAN = 0x7FFFFF, 1 << 23, 0x7F800000, 1 << 31, 0x7FFFFFFF
BIAS, BIAS_F64 = 127, 1023
C0_BITS, C1_BITS, C2_BITS = 27, 19, 18  # of a word that holds a segment's coefficients, which are stored without their signs


@dataclass(frozen=True)
class Interpolation:
    """C0 · 2^shift + round + C1 · x + C2 · square(x), a fixed-point number with `places` bits after the point.

    The results' format may have room for fewer: then they are cut, and `round` is what makes that nearer to a rounding.
    """

    name: str
    segments: tuple[tuple[int, int, int], ...]
    places: int
    shift: int
    round: int = 0
    offset_bits: int = OFFSET_BITS
    curve: int = 1  # by what C2 is multiplied

    @cached_property
    def signs(self) -> tuple[bool, bool]:
        """Whether C1 and C2 are negative: in all segments or in none."""
        found = [{segment[k] < 0 for segment in self.segments} for k in (1, 2)]
        return found[0].pop(), found[1].pop()

    def words(self) -> list[int]:
        return [c0 | abs(c1) << C0_BITS | abs(c2) * self.curve << C0_BITS + C1_BITS for c0, c1, c2 in self.segments]


def spread(segments: tuple[tuple[int, int, int], ...], counts: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """Binades of different numbers of segments, each segment as often as there are sixteenths of a binade in it."""
    found: list[tuple[int, int, int]] = []
    left = iter(segments)
    for count in counts:
        for segment in [next(left) for _ in range(count)]:
            found += [segment] * (16 // count)
    return tuple(found)


TANGENT_LOWEST = -8  # below 2^-8, tanh x is x
TANGENT_SEGMENT_BITS = (0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3)  # of the binades from there to 8, where tanh x is 1
TANGENT_SEGMENTS = spread(tables.TANGENT, tuple(1 << bits for bits in TANGENT_SEGMENT_BITS))

RECIPROCAL = Interpolation("reciprocal", tables.RECIPROCAL, 38, 13, 0x7E7, offset_bits=16)
RECIPROCAL_ROOT = Interpolation("reciprocal_root", tables.RECIPROCAL_ROOT, 39, 14, 0x3FFF, curve=4)
ROOT = Interpolation("root", tables.ROOT, 40, 15, 0x7FFF, curve=2)
POWER = Interpolation("power", tables.POWER, 38, 13, 0x17E2)
LOGARITHM = Interpolation("logarithm", tables.LOGARITHM, 38, 12, 0x345, curve=2)
SINE = Interpolation("sine", tables.SINE, 37, 11)
TANGENT = Interpolation("tangent", TANGENT_SEGMENTS, 39, 15)


# The interpolator -----------------------------------------------------------------------------------------------------


def square(lanes: Lanes, x: ir.Value, bits: int) -> ir.Value:
    """The square of an offset of 17 bits (of 16: with a zero after them) in units of 2^19, as 32-bit lanes.

    Bit i of x contributes x >> (18 - i), so that only pairs of bits whose places add up to 18 or more meet. Those in the upper
    eight bits all do, those in the lower nine never, and pairs of one of each count twice. Bit 0 meets none.
    """
    b = lanes.b
    low, unused = 9, OFFSET_BITS - bits
    without_last = b.trunc(x if unused else b.lshr(x, lanes.constant(I32, 1)), vector(I16))
    upper = b.lshr(without_last, lanes.constant(I16, low - 1))
    crossing = []
    for i in range(2, low):
        is_set = b.icmp_unsigned("!=", b.and_(without_last, lanes.constant(I16, 1 << i - 1)), lanes.constant(I16, 0))
        crossing.append(b.select(is_set, b.lshr(without_last, lanes.constant(I16, 17 - i)), lanes.constant(I16, 0)))
    once = reduce(b.add, crossing)
    total = b.add(b.mul(upper, upper), b.add(once, once))
    return b.zext(b.lshr(total, lanes.constant(I16, 1)), vector(I32))


def coefficients_of(lanes: Lanes, function: Interpolation, segment: ir.Value) -> ir.Value:
    """The words of the lanes' segments."""
    b, words = lanes.b, function.words()
    table = lanes.module.globals.get(function.name)
    if table is None:
        type = ir.ArrayType(I64, len(words))
        table = ir.GlobalVariable(lanes.module, type, function.name)
        table.global_constant, table.linkage, table.initializer = True, "internal", ir.Constant(type, words)
    start = lanes.splat(b.ptrtoint(table, I64))
    place = b.add(start, b.shl(b.zext(segment, vector(I64)), lanes.constant(I64, 3)))
    pointers = b.inttoptr(place, vector(I64.as_pointer()))
    everywhere, nothing = lanes.constant(I1, 1), ir.Constant(vector(I64), ir.Undefined)
    return lanes.call("llvm.masked.gather.v32i64.v32p0", vector(I64), [pointers, I32(8), everywhere, nothing])


def interpolate(lanes: Lanes, function: Interpolation, segment: ir.Value, x: ir.Value) -> ir.Value:
    """The function's value at an offset in a segment, as 64-bit lanes with `places` bits after the point."""
    b = lanes.b
    word = coefficients_of(lanes, function, segment)

    def field(first: int, bits: int) -> ir.Value:
        return b.and_(b.lshr(word, lanes.constant(I64, first)), lanes.constant(I64, (1 << bits) - 1))

    value = b.shl(field(0, C0_BITS), lanes.constant(I64, function.shift))
    if function.round:
        value = b.or_(value, lanes.constant(I64, function.round))
    factors = b.zext(x, vector(I64)), b.zext(square(lanes, x, function.offset_bits), vector(I64))
    fields = field(C0_BITS, C1_BITS), field(C0_BITS + C1_BITS, C2_BITS)
    for negative, coefficient, factor in zip(function.signs, fields, factors, strict=True):
        value = (b.sub if negative else b.add)(value, b.mul(coefficient, factor))
    return value


def at(lanes: Lanes, function: Interpolation, position: ir.Value) -> ir.Value:
    """The same at a position counted from the first segment's start."""
    b, bits = lanes.b, function.offset_bits
    segment = b.lshr(position, lanes.constant(I32, bits))
    return interpolate(lanes, function, segment, b.and_(position, lanes.constant(I32, (1 << bits) - 1)))


def significand(lanes: Lanes, function: Interpolation, position: ir.Value, format: Format = SINGLE) -> ir.Value:
    """A value of 1 to 2 as the significand of a format, to which the position belongs, too."""
    b = lanes.b
    if format.fraction_bits < FRACTION_BITS:
        position = b.shl(position, lanes.constant(I32, FRACTION_BITS - format.fraction_bits))
    value = b.lshr(at(lanes, function, position), lanes.constant(I64, function.places - format.fraction_bits))
    return b.trunc(value, vector(I32))


def normalized(lanes: Lanes, value: ir.Value, places: int) -> ir.Value:
    """A fixed-point number of up to 52 bits, not negative, as f32 bits, cut."""
    b = lanes.b
    large = lanes.constant(I64, BIAS_F64 + 52 << 52)  # 2^52, whose last bit is a unit
    number = b.fsub(lanes.from_bits(b.or_(value, large), "f64"), lanes.constant(F64, 2.0**52))
    bits = b.trunc(b.lshr(lanes.to_bits(number), lanes.constant(I64, 52 - FRACTION_BITS)), vector(I32))
    scaled = b.sub(bits, lanes.constant(I32, (BIAS_F64 - BIAS + places) << FRACTION_BITS & 0xFFFFFFFF))
    zero = b.icmp_unsigned("==", value, lanes.constant(I64, 0))
    return b.select(zero, lanes.constant(I32, 0), scaled)


# The operands' and results' parts -------------------------------------------------------------------------------------


def part(lanes: Lanes, bits: ir.Value, mask: int) -> ir.Value:
    return lanes.b.and_(bits, lanes.constant(I32, mask))


def is_below(lanes: Lanes, bits: ir.Value, limit: int) -> ir.Value:
    return lanes.b.icmp_signed("<", bits, lanes.constant(I32, limit))


def with_nan(lanes: Lanes, magnitude: ir.Value, result: ir.Value, format: Format = SINGLE) -> ir.Value:
    """The one NaN for a NaN."""
    nan = lanes.b.icmp_unsigned(">", magnitude, lanes.constant(I32, format.infinity))
    return lanes.b.select(nan, lanes.constant(I32, format.nan), result)


def of_positive(
    lanes: Lanes, bits: ir.Value, result: ir.Value, at_zero: ir.Value, at_infinity: int, format: Format = SINGLE
) -> ir.Value:
    """A result for positive normal numbers; others for zeros and subnormals, and for infinity; NaN for the rest."""
    b = lanes.b
    infinity, hidden = lanes.constant(I32, format.infinity), 1 << format.fraction_bits
    result = b.select(b.icmp_unsigned("<", bits, infinity), result, lanes.constant(I32, format.nan))
    result = b.select(b.icmp_unsigned("==", bits, infinity), lanes.constant(I32, at_infinity), result)
    return b.select(is_below(lanes, part(lanes, bits, format.sign - 1), hidden), at_zero, result)


def exponent_of(lanes: Lanes, magnitude: ir.Value) -> ir.Value:
    return lanes.b.sub(lanes.b.lshr(magnitude, lanes.constant(I32, FRACTION_BITS)), lanes.constant(I32, BIAS))


def fixed_point(lanes: Lanes, magnitude: ir.Value, places: int) -> ir.Value:
    """A positive number with so many bits after the point, cut, and modulo 2^32."""
    b, most = lanes.b, lanes.constant(I32, 31)
    full = b.or_(part(lanes, magnitude, FRACTION), lanes.constant(I32, HIDDEN))
    left = b.add(exponent_of(lanes, magnitude), lanes.constant(I32, places - FRACTION_BITS))
    right = b.neg(left)
    near = b.icmp_signed("<", right, most)
    right = b.select(near, right, most)
    left = b.select(is_below(lanes, left, 31), left, most)
    return b.select(is_below(lanes, left, 0), b.lshr(full, right), b.shl(full, left))


# The functions --------------------------------------------------------------------------------------------------------


def reciprocal(lanes: Lanes, bits: ir.Value, format: Format = SINGLE) -> ir.Value:
    """MUFU.RCP, RCP64H: 1/x; subnormal operands and results are zeros."""
    b, hidden = lanes.b, 1 << format.fraction_bits
    magnitude = part(lanes, bits, format.sign - 1)
    fraction = significand(lanes, RECIPROCAL, part(lanes, bits, hidden - 1), format)
    exponent = b.sub(lanes.constant(I32, 2 * format.bias - 2 << format.fraction_bits), part(lanes, bits, format.infinity))
    result = b.add(exponent, fraction)
    result = b.select(is_below(lanes, result, hidden), lanes.constant(I32, 0), result)
    result = b.select(is_below(lanes, magnitude, hidden), lanes.constant(I32, format.infinity), result)
    return with_nan(lanes, magnitude, b.or_(result, part(lanes, bits, format.sign)), format)


def two_binades(lanes: Lanes, bits: ir.Value, format: Format) -> tuple[ir.Value, ir.Value]:
    """Of x = m · 4^k with m in [1, 4): m's position in the tables of roots, and k + bias / 2 in the exponent's place."""
    b, hidden = lanes.b, 1 << format.fraction_bits
    position = part(lanes, b.xor(bits, lanes.constant(I32, hidden)), 2 * hidden - 1)
    half = b.lshr(b.sub(bits, lanes.constant(I32, hidden)), lanes.constant(I32, 1))
    return position, part(lanes, half, format.infinity >> 1 & format.infinity)


def reciprocal_root(lanes: Lanes, bits: ir.Value, format: Format = SINGLE) -> ir.Value:
    """MUFU.RSQ, RSQ64H: 1/sqrt(x). That of a power of four is not interpolated: it is exact."""
    b, places = lanes.b, format.fraction_bits
    position, exponent = two_binades(lanes, bits, format)
    fraction = significand(lanes, RECIPROCAL_ROOT, position, format)
    exact = b.icmp_unsigned("==", position, lanes.constant(I32, 0))
    fraction = b.select(exact, lanes.constant(I32, 2 << places), fraction)
    result = b.add(b.sub(lanes.constant(I32, format.bias + format.bias // 2 - 2 << places), exponent), fraction)
    infinity = b.or_(part(lanes, bits, format.sign), lanes.constant(I32, format.infinity))
    return of_positive(lanes, bits, result, infinity, 0, format)


def root(lanes: Lanes, bits: ir.Value) -> ir.Value:
    """MUFU.SQRT: sqrt(x)."""
    b = lanes.b
    position, exponent = two_binades(lanes, bits, SINGLE)
    fraction = significand(lanes, ROOT, position)
    result = b.add(b.add(lanes.constant(I32, BIAS - BIAS // 2 - 1 << FRACTION_BITS), exponent), fraction)
    return of_positive(lanes, bits, result, part(lanes, bits, SIGN), INFINITY)


def power(lanes: Lanes, bits: ir.Value) -> ir.Value:
    """MUFU.EX2: 2^x of |x| cut to 23 bits after the point. If those are not zero, -|x| is that number with all bits inverted."""
    b = lanes.b
    magnitude = part(lanes, bits, NAN)
    x = fixed_point(lanes, magnitude, FRACTION_BITS)
    negative = b.icmp_signed("<", bits, lanes.constant(I32, 0))
    is_whole = b.icmp_unsigned("==", part(lanes, x, FRACTION), lanes.constant(I32, 0))
    x = b.select(negative, b.select(is_whole, b.neg(x), b.not_(x)), x)
    exponent = b.add(part(lanes, x, ~FRACTION & 0xFFFFFFFF), lanes.constant(I32, BIAS - 1 << FRACTION_BITS))
    result = b.add(exponent, significand(lanes, POWER, part(lanes, x, FRACTION)))
    zero, infinity = lanes.constant(I32, 0), lanes.constant(I32, INFINITY)
    result = b.select(is_below(lanes, result, HIDDEN), zero, result)
    within = is_below(lanes, magnitude, BIAS + 7 << FRACTION_BITS)
    return with_nan(lanes, magnitude, b.select(within, result, b.select(negative, zero, infinity)))


def logarithm(lanes: Lanes, bits: ir.Value) -> ir.Value:
    """MUFU.LG2: log2 of the significand, cut to 36 bits after the point, plus the exponent; a negative sum's bits are inverted."""
    b = lanes.b
    places = LOGARITHM.places - 2
    value = b.lshr(at(lanes, LOGARITHM, part(lanes, bits, FRACTION)), lanes.constant(I64, 2))
    one = b.icmp_unsigned("==", bits, lanes.constant(I32, BIAS << FRACTION_BITS))
    value = b.select(one, lanes.constant(I64, 0), value)
    exponent = exponent_of(lanes, bits)
    value = b.add(value, b.shl(b.sext(exponent, vector(I64)), lanes.constant(I64, places)))
    sign = b.ashr(value, lanes.constant(I64, 63))
    result = b.or_(normalized(lanes, b.xor(value, sign), places), part(lanes, b.trunc(sign, vector(I32)), SIGN))
    return of_positive(lanes, bits, result, lanes.constant(I32, SIGN | INFINITY), INFINITY)


def wave(lanes: Lanes, bits: ir.Value, cosine: bool) -> ir.Value:
    """MUFU.SIN and MUFU.COS of an angle in turns, cut to 25 bits after the point; odd quadrants are mirrored by inverting bits."""
    b = lanes.b
    magnitude = part(lanes, bits, NAN)
    units = fixed_point(lanes, magnitude, FRACTION_BITS + 2)
    quadrant = b.lshr(units, lanes.constant(I32, FRACTION_BITS))
    if cosine:
        quadrant = b.add(quadrant, lanes.constant(I32, 1))
    odd = b.ashr(b.shl(quadrant, lanes.constant(I32, 31)), lanes.constant(I32, 31))
    position = part(lanes, b.xor(units, odd), FRACTION)
    result = normalized(lanes, at(lanes, SINE, position), SINE.places)
    sign = part(lanes, b.shl(quadrant, lanes.constant(I32, 30)), SIGN)
    if not cosine:  # an odd function
        sign = b.xor(sign, part(lanes, bits, SIGN))
    finite = is_below(lanes, magnitude, INFINITY)
    return b.select(finite, b.xor(result, sign), lanes.constant(I32, NAN))


def tangent(lanes: Lanes, bits: ir.Value) -> ir.Value:
    """MUFU.TANH: tanh x, in segments that differ in width from binade to binade."""
    b = lanes.b
    magnitude = part(lanes, bits, NAN)
    lowest, count = BIAS + TANGENT_LOWEST << FRACTION_BITS, len(TANGENT_SEGMENT_BITS)
    above = b.sub(magnitude, lanes.constant(I32, lowest))
    inside = b.icmp_unsigned("<", above, lanes.constant(I32, count << FRACTION_BITS))
    above = b.select(inside, above, lanes.constant(I32, 0))
    first = next(k for k in range(count) if TANGENT_SEGMENT_BITS[k]) - 1
    packed = sum(bits << 3 * k for k, bits in enumerate(TANGENT_SEGMENT_BITS[first:]))
    binade = b.sub(b.lshr(above, lanes.constant(I32, FRACTION_BITS)), lanes.constant(I32, first))
    binade = b.select(is_below(lanes, binade, 0), lanes.constant(I32, 0), binade)
    segment_bits = part(lanes, b.lshr(lanes.constant(I32, packed), b.mul(binade, lanes.constant(I32, 3))), 7)
    offset = b.lshr(above, b.sub(lanes.constant(I32, FRACTION_BITS - OFFSET_BITS), segment_bits))
    segment = b.lshr(above, lanes.constant(I32, FRACTION_BITS - 4))
    value = interpolate(lanes, TANGENT, segment, part(lanes, offset, (1 << OFFSET_BITS) - 1))
    result = normalized(lanes, value, TANGENT.places)
    one = lanes.constant(I32, BIAS << FRACTION_BITS)
    result = b.select(inside, result, b.select(is_below(lanes, magnitude, lowest), magnitude, one))
    return with_nan(lanes, magnitude, b.or_(result, part(lanes, bits, SIGN)))

