"""What the floating-point families share: formats, NaNs, flushing, saturation, and rounding in any direction.

The results are the GPU's on every host: no NaN, no signed zero and no subnormal is left to the host's own rules.
Round-to-nearest arithmetic on f32 and f64 uses the host's plain instructions; directed rounding sets its rounding mode
around one instruction; narrower formats are rounded by integer arithmetic (`round_significand`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from simtlab.isa.lanes import F32, F64, I32, Lanes, vector
from simtlab.isa.table import ROUNDINGS


@dataclass(frozen=True, slots=True)
class Format:
    """A binary interchange format: a sign, an exponent field, a fraction."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        return (1 << self.exponent_bits - 1) - 1

    @property
    def sign(self) -> int:
        return 1 << self.bits - 1

    @property
    def infinity(self) -> int:
        return (1 << self.exponent_bits) - 1 << self.fraction_bits

    @property
    def one(self) -> int:
        return self.bias << self.fraction_bits

    @property
    def quiet(self) -> int:
        return 1 << self.fraction_bits - 1

    @property
    def nan(self) -> int:
        """The NaN that GPU arithmetic makes in formats below 64 bits: every bit set but the sign."""
        return self.sign - 1


FORMATS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "tf32": Format(8, 10),  # kept in the upper 19 bits of a word
    "f32": Format(8, 23),
    "f64": Format(11, 52),
}
INVALID_F64 = 0xFFF8_0000_0000_0000  # what f64 arithmetic makes of an invalid operation


def format_of(value: ir.Value) -> Format:
    """The format of lanes by their width: halves are told apart by their families."""
    return FORMATS["f32" if value.type.element in (F32, I32) else "f64"]


def number(lanes: Lanes, like: ir.Value, constant: int) -> ir.Value:
    """An integer constant in every lane, of the type of `like`."""
    width = like.type.element.width
    return lanes.constant(like.type.element, constant & ((1 << width) - 1))


# Special values -------------------------------------------------------------------------------------------------------


def is_nan(lanes: Lanes, value: ir.Value) -> ir.Value:
    return lanes.b.fcmp_unordered("uno", value, value)


def is_nan_bits(lanes: Lanes, bits: ir.Value, format: Format) -> ir.Value:
    magnitude = lanes.b.and_(bits, number(lanes, bits, format.sign - 1))
    return lanes.b.icmp_unsigned(">", magnitude, number(lanes, bits, format.infinity))


def canonical_nan(lanes: Lanes, value: ir.Value) -> ir.Value:
    """f32 lanes, every NaN replaced by the one NaN of GPU arithmetic."""
    nan = lanes.from_bits(lanes.constant(I32, FORMATS["f32"].nan), "f32")
    return lanes.b.select(is_nan(lanes, value), nan, value)


def canonical_nan_bits(lanes: Lanes, bits: ir.Value, format: Format) -> ir.Value:
    return lanes.b.select(is_nan_bits(lanes, bits, format), number(lanes, bits, format.nan), bits)


def quieted(lanes: Lanes, value: ir.Value) -> ir.Value:
    bits = lanes.to_bits(value)
    return lanes.b.or_(bits, number(lanes, bits, format_of(value).quiet))


def propagated_nan(lanes: Lanes, result: ir.Value, *operands: ir.Value) -> ir.Value:
    """f64 lanes as bits: a NaN result is the first operand that is one, quieted, else the invalid operation's NaN."""
    b = lanes.b
    bits = lanes.to_bits(result)
    nan = is_nan(lanes, result)

    def corrected() -> ir.Value:
        chosen = number(lanes, bits, INVALID_F64)
        for operand in reversed(operands):
            chosen = b.select(is_nan(lanes, operand), quieted(lanes, operand), chosen)
        return b.select(nan, chosen, bits)

    return unless_any(lanes, nan, bits, corrected)


def unless_any(lanes: Lanes, rare: ir.Value, usual: ir.Value, corrected: Callable[[], ir.Value]) -> ir.Value:
    """The usual value, unless what is rare holds in some lane: then what `corrected` builds."""
    b, before = lanes.b, lanes.b.block
    with b.if_then(lanes.call(f"llvm.vector.reduce.or.v{rare.type.count}i1", ir.IntType(1), [rare]), likely=False):
        other = corrected()
        behind = b.block
    value = b.phi(usual.type)
    value.add_incoming(usual, before)
    value.add_incoming(other, behind)
    return value


def flush(lanes: Lanes, value: ir.Value) -> ir.Value:
    """Subnormal f32 lanes become zeros of the same sign."""
    return lanes.from_bits(flush_bits(lanes, lanes.to_bits(value), FORMATS["f32"]), "f32")


def flush_bits(lanes: Lanes, bits: ir.Value, format: Format) -> ir.Value:
    b = lanes.b
    field = b.and_(bits, number(lanes, bits, format.infinity))
    zero = b.and_(bits, number(lanes, bits, format.sign))
    return b.select(b.icmp_unsigned("==", field, number(lanes, bits, 0)), zero, bits)


def saturate(lanes: Lanes, value: ir.Value) -> ir.Value:
    """Clamped to [+0, 1]; NaN and -0 become +0."""
    b, lane = lanes.b, value.type.element
    zero, one = lanes.constant(lane, 0.0), lanes.constant(lane, 1.0)
    at_most_one = b.select(b.fcmp_ordered("<", value, one), value, one)
    return b.select(b.fcmp_ordered(">", value, zero), at_most_one, zero)


def rectify(lanes: Lanes, value: ir.Value) -> ir.Value:
    """`.relu`: what is not above zero becomes +0; a NaN stays."""
    zero = lanes.constant(value.type.element, 0.0)
    return lanes.b.select(lanes.b.fcmp_ordered("<=", value, zero), zero, value)


# Arithmetic in the host's formats -------------------------------------------------------------------------------------


def compute(lanes: Lanes, name: str, rounding: str, *operands: ir.Value) -> ir.Value:
    """fadd, fsub, fmul, fdiv, fma or sqrt of f32 or f64 lanes, rounded once."""
    if rounding != "rn":
        return _directed(lanes, name, rounding, *operands)
    if name in ("fma", "sqrt"):
        return lanes.map(f"llvm.{name}", *operands)
    return getattr(lanes.b, name)(*operands)


def _directed(lanes: Lanes, name: str, rounding: str, *operands: ir.Value) -> ir.Value:
    """The same under another rounding mode of the host, which is nearest before and after."""
    set.add(lanes.function.attributes, "strictfp")  # llvmlite's own list of attributes lacks it
    type = operands[0].type
    metadata = [ir.MetaDataString(lanes.module, text) for text in ("round.dynamic", "fpexcept.strict")]
    lane = "f32" if type.element == F32 else "f64"
    lanes.call("llvm.set.rounding", ir.VoidType(), [I32(ROUNDINGS[rounding])])
    intrinsic = f"llvm.experimental.constrained.{name}.v{type.count}{lane}"
    result = lanes.call(intrinsic, type, [*operands, *metadata])
    lanes.call("llvm.set.rounding", ir.VoidType(), [I32(ROUNDINGS["rn"])])
    return result


# Rounding to a narrower format ----------------------------------------------------------------------------------------


def round_significand(
    lanes: Lanes,
    significand: ir.Value,
    leading: int,
    exponent: ir.Value,
    negative: ir.Value,
    target: Format,
    rounding: str,
) -> ir.Value:
    """The magnitude bits, in `target`, of significand · 2^(exponent - leading).

    Bit `leading` of the significand is its first, or a later one where the exponent is the least of its format. All
    lanes are integers of one width; rounding is rn, rz, rm, rp or rna (nearest, ties away from zero).
    """
    b = lanes.b

    def constant(n: int) -> ir.Value:
        return number(lanes, significand, n)

    field = b.add(exponent, constant(target.bias))
    normal = b.icmp_signed(">=", field, constant(1))
    below = b.select(normal, constant(0), b.sub(constant(1), field))
    furthest = constant(target.fraction_bits + 2)  # all of the significand is below half of the least subnormal
    below = b.select(b.icmp_unsigned("<", below, furthest), below, furthest)
    dropped = b.add(below, constant(leading - target.fraction_bits))
    kept = b.lshr(significand, dropped)
    rest = b.sub(significand, b.shl(kept, dropped))
    half = b.shl(constant(1), b.sub(dropped, constant(1)))
    scale = b.shl(b.sub(field, constant(1)), constant(target.fraction_bits))
    truncated = b.add(kept, b.select(normal, scale, constant(0)))  # the first bit of `kept` adds one to the exponent
    rounded = b.add(truncated, b.zext(_rounds_up(lanes, rounding, kept, rest, half, negative), significand.type))
    limit = _overflow(lanes, rounding, constant(target.infinity), negative)
    return b.select(b.icmp_unsigned("<", rounded, constant(target.infinity)), rounded, limit)


def _rounds_up(
    lanes: Lanes, rounding: str, kept: ir.Value, rest: ir.Value, half: ir.Value, negative: ir.Value
) -> ir.Value:
    """Where the magnitude grows by one unit."""
    b = lanes.b
    if rounding == "rz":
        return lanes.constant(ir.IntType(1), 0)
    if rounding == "rna":
        return b.icmp_unsigned(">=", rest, half)
    inexact = b.icmp_unsigned("!=", rest, number(lanes, rest, 0))
    if rounding in ("rm", "rp"):
        return b.and_(inexact, negative if rounding == "rm" else b.not_(negative))
    odd = b.trunc(kept, vector(ir.IntType(1)))
    tie = b.icmp_unsigned("==", rest, half)
    return b.or_(b.icmp_unsigned(">", rest, half), b.and_(tie, odd))


def _overflow(lanes: Lanes, rounding: str, infinity: ir.Value, negative: ir.Value) -> ir.Value:
    """A magnitude beyond the largest number: infinity, or that number where rounding goes toward zero."""
    largest = lanes.b.sub(infinity, number(lanes, infinity, 1))
    if rounding == "rz":
        return largest
    if rounding == "rm":
        return lanes.b.select(negative, infinity, largest)
    if rounding == "rp":
        return lanes.b.select(negative, largest, infinity)
    return infinity


def narrow(lanes: Lanes, value: ir.Value, target: Format, rounding: str, keep_nan: bool = False) -> ir.Value:
    """f32 or f64 lanes rounded once to a narrower format: its bits, in integers of the source's width.

    A NaN becomes the target's one NaN, or with `keep_nan` keeps its sign and the upper part of its payload, quieted.
    """
    b, source = lanes.b, format_of(value)
    bits = lanes.to_bits(value)

    def constant(n: int) -> ir.Value:
        return number(lanes, bits, n)

    negative = b.icmp_signed("<", bits, constant(0))
    magnitude = b.and_(bits, constant(source.sign - 1))
    field = b.lshr(magnitude, constant(source.fraction_bits))
    normal = b.icmp_unsigned("!=", field, constant(0))
    fraction = b.and_(bits, constant((1 << source.fraction_bits) - 1))
    significand = b.or_(fraction, b.select(normal, constant(1 << source.fraction_bits), constant(0)))
    exponent = b.sub(b.select(normal, field, constant(1)), constant(source.bias))
    result = round_significand(lanes, significand, source.fraction_bits, exponent, negative, target, rounding)
    result = b.select(b.icmp_unsigned("==", magnitude, constant(source.infinity)), constant(target.infinity), result)
    sign = b.select(negative, constant(target.sign), constant(0))
    nan = constant(target.nan)
    if keep_nan:
        payload = b.lshr(fraction, constant(source.fraction_bits - target.fraction_bits))
        nan = b.or_(b.or_(payload, sign), constant(target.infinity | target.quiet))
    return b.select(b.icmp_unsigned(">", magnitude, constant(source.infinity)), nan, b.or_(result, sign))


def widen(lanes: Lanes, bits: ir.Value, type: str) -> ir.Value:
    """f16 or bf16 bits as f32 lanes, exactly; a NaN keeps its sign and payload."""
    b = lanes.b
    word = b.zext(bits, vector(I32))
    if type == "bf16":
        return lanes.from_bits(b.shl(word, number(lanes, word, 16)), "f32")
    half, single = FORMATS["f16"], FORMATS["f32"]
    shift = number(lanes, word, single.fraction_bits - half.fraction_bits)
    magnitude = b.shl(b.and_(word, number(lanes, word, half.sign - 1)), shift)
    scaled = b.fmul(lanes.from_bits(magnitude, "f32"), lanes.constant(F32, 2.0 ** (single.bias - half.bias)))
    special = b.icmp_unsigned(">=", magnitude, b.shl(number(lanes, word, half.infinity), shift))
    endless = b.or_(magnitude, number(lanes, word, single.infinity))
    finite_or_not = b.select(special, endless, lanes.to_bits(scaled))
    sign = b.shl(b.and_(word, number(lanes, word, half.sign)), number(lanes, word, 16))
    return lanes.from_bits(b.or_(finite_or_not, sign), "f32")


def to_f64(lanes: Lanes, value: ir.Value) -> ir.Value:
    """f32 lanes as f64 lanes, exactly; what becomes of a NaN is the caller's to say."""
    return lanes.b.fpext(value, vector(F64)) if value.type.element == F32 else value


def to_f32(lanes: Lanes, value: ir.Value) -> ir.Value:
    """f64 lanes rounded to the nearest f32."""
    return lanes.b.fptrunc(value, vector(F32))


# Operations on bits ---------------------------------------------------------------------------------------------------


def negated(lanes: Lanes, bits: ir.Value, format: Format) -> ir.Value:
    return lanes.b.xor(bits, number(lanes, bits, format.sign))


def magnitude_of(lanes: Lanes, bits: ir.Value, format: Format) -> ir.Value:
    return lanes.b.and_(bits, number(lanes, bits, format.sign - 1))


def extremum(lanes: Lanes, x: ir.Value, y: ir.Value, format: Format, largest: bool) -> ir.Value:
    """The smaller or larger of two lanes of bits, -0 below +0; the number where one of them is a NaN, else y."""
    b = lanes.b
    chosen = b.icmp_signed(">" if largest else "<", _order(lanes, x), _order(lanes, y))
    x_is_number = b.not_(is_nan_bits(lanes, x, format))
    return b.select(b.and_(x_is_number, b.or_(chosen, is_nan_bits(lanes, y, format))), x, y)


def _order(lanes: Lanes, bits: ir.Value) -> ir.Value:
    """Signed integers in the order of the numbers: a negative number's magnitude bits are inverted."""
    b = lanes.b
    width = bits.type.element.width
    sign = b.ashr(bits, number(lanes, bits, width - 1))
    return b.xor(bits, b.lshr(sign, number(lanes, bits, 1)))
