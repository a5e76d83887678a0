"""cvt: conversions between all types.

Seen on an H200: conversions from or to f64 keep a NaN's sign and payload (quieted), those among the narrower formats
make the canonical NaN; float to integer saturates with or without `.sat`; a NaN becomes 0 where neither side has 64
bits, else the integer's sign bit alone.
"""

from llvmlite import ir

from simtlab.isa import rounding
from simtlab.isa.half import packed
from simtlab.isa.lanes import F32, F64, I16, I32, I64, Lanes, bits_of, element, is_signed, vector
from simtlab.isa.rounding import FORMATS
from simtlab.isa.table import Modifiers, operation

INTEGERS = "{u8,u16,u32,u64,s8,s16,s32,s64}"
FLOATS = "{f16,bf16,f32,f64}"
TO_FLOAT = "{.rn,.rz,.rm,.rp}"
TO_INTEGER = "{.rni,.rzi,.rmi,.rpi}"
WHOLE = {"rni": "llvm.rint", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


# Between integers -----------------------------------------------------------------------------------------------------


@operation(f"cvt[.sat].{INTEGERS}.{INTEGERS}", "T0 = T1")
def integer_to_integer(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    target, source = m.types
    if "sat" in m:
        x = clamped(lanes, x, source, target)
    return resized(lanes, x, bits_of(target), is_signed(source))


def resized(lanes: Lanes, x: ir.Value, width: int, signed: bool) -> ir.Value:
    if width < x.type.element.width:
        return lanes.b.trunc(x, vector(ir.IntType(width)))
    if width > x.type.element.width:
        return (lanes.b.sext if signed else lanes.b.zext)(x, vector(ir.IntType(width)))
    return x


def clamped(lanes: Lanes, x: ir.Value, source: str, target: str) -> ir.Value:
    """x of the source type, limited to what both types can hold."""
    lowest, highest = (pick(a, b) for pick, a, b in zip((max, min), limits(source), limits(target), strict=True))
    compare = lanes.b.icmp_signed if is_signed(source) else lanes.b.icmp_unsigned
    for relation, limit in (("<", lowest), (">", highest)):
        bound = rounding.number(lanes, x, limit)
        x = lanes.b.select(compare(relation, x, bound), bound, x)
    return x


def limits(type: str) -> tuple[int, int]:
    width = bits_of(type)
    return (-(1 << width - 1), (1 << width - 1) - 1) if is_signed(type) else (0, (1 << width) - 1)


# Integer to float -----------------------------------------------------------------------------------------------------


@operation(f"cvt{TO_FLOAT}[.ftz][.sat].{FLOATS}.{INTEGERS}", "T0 = T1")
def integer_to_float(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    target, source = m.types
    if "sat" in m:  # to [0, 1]
        x = resized(lanes, clamped(lanes, x, source, "u8"), max(8, bits_of(source)), is_signed(source))
        one = rounding.number(lanes, x, 1)
        x = lanes.b.select(lanes.b.icmp_unsigned(">", x, one), one, x)
    if target in ("f32", "f64") and (m.rounding == "rn" or bits_of(source) < FORMATS[target].fraction_bits):
        return (lanes.b.sitofp if is_signed(source) else lanes.b.uitofp)(x, vector(element(target)))
    return integer_rounded(lanes, resized(lanes, x, 64, is_signed(source)), is_signed(source), target, m.rounding)


def integer_rounded(lanes: Lanes, x: ir.Value, signed: bool, target: str, direction: str) -> ir.Value:
    """64-bit integers rounded to a format, as its bits."""
    b, format = lanes.b, FORMATS[target]
    zero = rounding.number(lanes, x, 0)
    negative = b.icmp_signed("<", x, zero) if signed else lanes.constant(ir.IntType(1), 0)
    magnitude = b.select(negative, b.sub(zero, x), x)
    shift = lanes.call("llvm.ctlz.v32i64", x.type, [magnitude, ir.IntType(1)(0)])
    is_zero = b.icmp_unsigned("==", magnitude, zero)
    shift = b.select(is_zero, zero, shift)
    exponent = b.sub(rounding.number(lanes, x, 63), shift)
    bits = rounding.round_significand(lanes, b.shl(magnitude, shift), 63, exponent, negative, format, direction)
    bits = b.or_(bits, b.select(negative, rounding.number(lanes, x, format.sign), zero))
    return resized(lanes, b.select(is_zero, zero, bits), bits_of(target), False)


# Float to integer -----------------------------------------------------------------------------------------------------


@operation(f"cvt{TO_INTEGER}[.ftz][.sat].{INTEGERS}.{FLOATS}", "T0 = T1")
def float_to_integer(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    b, (target, source) = lanes.b, m.types
    value = whole(lanes, m, opened(lanes, m, x, source))
    width = 64 if bits_of(target) == 64 else 32
    sign = "s" if is_signed(target) else "u"
    lane = "f64" if value.type.element == F64 else "f32"
    result = lanes.call(f"llvm.fpto{sign}i.sat.v32i{width}.v32{lane}", vector(ir.IntType(width)), [value])
    if bits_of(target) < width:
        result = resized(lanes, clamped(lanes, result, f"{sign}{width}", target), bits_of(target), False)
    of_nan = 1 << bits_of(target) - 1 if 64 in (bits_of(source), bits_of(target)) else 0
    return b.select(rounding.is_nan(lanes, value), rounding.number(lanes, result, of_nan), result)


def whole(lanes: Lanes, m: Modifiers, value: ir.Value) -> ir.Value:
    """Rounded to a whole number where the spelling says so."""
    direction = m.first_of(*WHOLE)
    return lanes.map(WHOLE[direction], value) if direction else value


def opened(lanes: Lanes, m: Modifiers, x: ir.Value, source: str) -> ir.Value:
    """A float operand as f32 or f64 lanes; `.ftz` flushes f32 and bf16, except on the way to f16."""
    value = rounding.widen(lanes, x, source) if source in ("f16", "bf16") else x
    flushed = "ftz" in m and source in ("f32", "bf16") and m.types[0] != "f16"
    return rounding.flush(lanes, value) if flushed else value


# Float to float -------------------------------------------------------------------------------------------------------


@operation("cvt.{f16.f16,bf16.bf16}", "T0 = T1")
def same_half(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return rounding.canonical_nan_bits(lanes, x, FORMATS[m.type])


@operation("cvt.{f32.f32,f64.f64}", "T0 = T1")
def same(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """Without a modifier this is a move."""
    return x


@operation("cvt[.rn,.rz,.rm,.rp].f32.bf16", "T0 = T1")
def bf16_to_f32(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """A shift: NaNs stay as they are."""
    return rounding.widen(lanes, x, "bf16")


@operation("cvt[.rni,.rzi,.rmi,.rpi][.ftz][.sat].{f16.f16,bf16.bf16,f32.f32,f64.f64}", "T0 = T1")
@operation("cvt[.rn,.rz,.rm,.rp][.ftz][.sat].{f32.f16,f32.bf16,f64.f16,f64.bf16,f64.f32}", "T0 = T1")
@operation("cvt[.rn,.rz,.rm,.rp][.ftz][.sat].{bf16.f16,f16.bf16}", "T0 = T1")
@operation(f"cvt{TO_FLOAT}[.ftz][.sat].{{f16,bf16,f32}}.f64", "T0 = T1")
@operation(f"cvt{TO_FLOAT}[.ftz][.sat].{{f16,bf16}}.f32", "T0 = T1")
@operation("cvt{.rn,.rz}[.relu][.satfinite].{f16,bf16}.f32", "T0 = T1")
def float_to_float(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    target, source = m.types
    value = whole(lanes, m, opened(lanes, m, x, source))
    if "sat" in m:
        value = rounding.saturate(lanes, value)
    if "relu" in m:
        value = rounding.rectify(lanes, value)
    if target == "f64":
        return to_double(lanes, m, value)
    if target == "f32":
        return to_single(lanes, m, value)
    return to_narrow(lanes, m, value, target)


def to_double(lanes: Lanes, m: Modifiers, value: ir.Value) -> ir.Value:
    """f64 bits of any value: the NaN of the source, or, flushed by an f32 operation before, the canonical f32 one."""
    b = lanes.b
    bits = lanes.to_bits(rounding.to_f64(lanes, value))
    nan = lanes.to_bits(value)
    if value.type.element == F32:
        if "ftz" in m:
            nan = rounding.canonical_nan_bits(lanes, nan, FORMATS["f32"])
        word = b.zext(nan, vector(I64))
        fraction = b.and_(word, lanes.constant(I64, (1 << 23) - 1))
        sign = b.and_(word, lanes.constant(I64, 1 << 31))
        nan = b.or_(b.shl(fraction, lanes.constant(I64, 29)), b.shl(sign, lanes.constant(I64, 32)))
    quiet = lanes.constant(I64, FORMATS["f64"].infinity | FORMATS["f64"].quiet)
    return b.select(rounding.is_nan(lanes, value), b.or_(nan, quiet), bits)


def to_single(lanes: Lanes, m: Modifiers, value: ir.Value) -> ir.Value:
    """f32 bits of any value."""
    single = FORMATS["f32"]
    if value.type.element == F32:
        bits = lanes.to_bits(rounding.canonical_nan(lanes, value))
    elif m.rounding == "rn":
        rounded = lanes.to_bits(rounding.to_f32(lanes, value))
        bits = lanes.b.select(rounding.is_nan(lanes, value), narrowed_nan(lanes, value), rounded)
    else:
        wide = rounding.narrow(lanes, value, single, m.rounding, keep_nan=True)
        bits = lanes.b.trunc(wide, vector(I32))
    return rounding.flush_bits(lanes, bits, single) if "ftz" in m else bits


def narrowed_nan(lanes: Lanes, value: ir.Value) -> ir.Value:
    """An f64 NaN's sign and the upper part of its payload as an f32 NaN, quieted."""
    b = lanes.b
    wide = lanes.to_bits(value)
    fraction = b.and_(b.lshr(wide, lanes.constant(I64, 29)), lanes.constant(I64, (1 << 23) - 1))
    sign = b.and_(b.lshr(wide, lanes.constant(I64, 32)), lanes.constant(I64, 1 << 31))
    nan = b.trunc(b.or_(fraction, sign), vector(I32))
    return b.or_(nan, lanes.constant(I32, FORMATS["f32"].infinity | FORMATS["f32"].quiet))


def to_narrow(lanes: Lanes, m: Modifiers, value: ir.Value, target: str) -> ir.Value:
    """f16 or bf16 bits of any value."""
    from_f64 = value.type.element == F64
    wide = rounding.narrow(lanes, value, FORMATS[target], m.rounding, keep_nan=from_f64)
    return finite(lanes, m, lanes.b.trunc(wide, vector(I16)), target)


def finite(lanes: Lanes, m: Modifiers, bits: ir.Value, target: str) -> ir.Value:
    """`.satfinite`: the largest number in place of infinity."""
    if "satfinite" not in m:
        return bits
    infinity = rounding.number(lanes, bits, FORMATS[target].infinity)
    is_infinite = lanes.b.icmp_unsigned("==", rounding.magnitude_of(lanes, bits, FORMATS[target]), infinity)
    return lanes.b.select(is_infinite, lanes.b.sub(bits, rounding.number(lanes, bits, 1)), bits)


@operation("cvt{.rn,.rz}[.relu][.satfinite].{f16x2,bf16x2}.f32", "T0 = T1 T1")
def two_to_packed(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """Two f32 to a packed pair, the first operand in the upper half."""
    target = m.types[0].removesuffix("x2")
    values = (rounding.rectify(lanes, v) if "relu" in m else v for v in (x, y))
    return packed(lanes, *(to_narrow(lanes, m, v, target) for v in values))


@operation("cvt{.rn,.rz}[.satfinite][.relu].tf32.f32", "T0 = T1")
@operation("cvt{.rn,.rz}[.relu][.satfinite].tf32.f32", "T0 = T1")
def to_tf32(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    value = rounding.rectify(lanes, x) if "relu" in m else x
    bits = rounding.narrow(lanes, value, FORMATS["tf32"], m.rounding)
    return lanes.b.shl(finite(lanes, m, bits, "tf32"), lanes.constant(I32, 13))


@operation("cvt.rna[.satfinite].tf32.f32", "T0 = T1")
def to_tf32_ties_away(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """Nearest, ties away from zero; a NaN is cut short. `.satfinite` takes one unit off infinity, and off a NaN too."""
    b, single = lanes.b, FORMATS["f32"]
    bits, unit = lanes.to_bits(x), lanes.constant(I32, 1 << 13)
    number = b.icmp_unsigned("<", rounding.magnitude_of(lanes, bits, single), lanes.constant(I32, single.infinity))
    rounded = b.add(bits, b.select(number, lanes.constant(I32, 1 << 12), lanes.constant(I32, 0)))
    result = b.and_(rounded, lanes.constant(I32, 0xFFFFE000))
    if "satfinite" not in m:
        return result
    magnitude = rounding.magnitude_of(lanes, result, single)
    beyond = b.icmp_unsigned(">=", magnitude, lanes.constant(I32, single.infinity))
    return b.select(beyond, b.sub(result, unit), result)
