"""Integer arithmetic: addition to division, products in their widths, saturation, dot products, sums of differences.

An H200 gives all ones for a quotient and for a remainder by zero, in every width and signedness.
"""

from llvmlite import ir

from simtlab.isa.lanes import F32, F64, I1, Lanes, is_signed, vector
from simtlab.isa.table import Modifiers, operation

INTEGERS = "{u16,u32,u64,s16,s32,s64}"
SIGNED = "{s16,s32,s64}"


# Sums -----------------------------------------------------------------------------------------------------------------


@operation(f"add.{INTEGERS}", "T = T T")
def add(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.add(x, y)


@operation("add.sat.s32", "T = T T")
def add_saturated(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.sadd.sat", x, y)


@operation(f"sub.{INTEGERS}", "T = T T")
def sub(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.sub(x, y)


@operation("sub.sat.s32", "T = T T")
def sub_saturated(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.ssub.sat", x, y)


@operation(f"neg.{SIGNED}", "T = T")
def neg(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return lanes.b.neg(x)


@operation(f"abs.{SIGNED}", "T = T")
def absolute(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The most negative number stays what it is."""
    return lanes.map("llvm.abs", x, I1(0))


@operation(f"min.{INTEGERS}", "T = T T")
def minimum(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.smin" if is_signed(m.type) else "llvm.umin", x, y)


@operation(f"max.{INTEGERS}", "T = T T")
def maximum(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.smax" if is_signed(m.type) else "llvm.umax", x, y)


@operation(f"sad.{INTEGERS}", "T = T T T")
def sum_of_absolute_difference(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.b.add(z, lanes.b.sub(maximum(lanes, m, x, y), minimum(lanes, m, x, y)))


# Products -------------------------------------------------------------------------------------------------------------


def widen(lanes: Lanes, type: str, x: ir.Value) -> ir.Value:
    """x at twice its width, extended by the sign of its type."""
    wide = vector(ir.IntType(2 * x.type.element.width))
    return (lanes.b.sext if is_signed(type) else lanes.b.zext)(x, wide)


def high_product(lanes: Lanes, type: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """The upper half of the double-width product. 64-bit lanes become one multiply-high instruction each."""
    product = lanes.b.mul(widen(lanes, type, x), widen(lanes, type, y))
    return lanes.b.trunc(lanes.b.lshr(product, lanes.like(product, x.type.element.width)), x.type)


@operation(f"mul.lo.{INTEGERS}", "T = T T")
def mul_lo(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.mul(x, y)


@operation(f"mul.hi.{INTEGERS}", "T = T T")
def mul_hi(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return high_product(lanes, m.type, x, y)


@operation("mul.wide.{u16,s16,u32,s32}", "W = T T")
def mul_wide(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.mul(widen(lanes, m.type, x), widen(lanes, m.type, y))


@operation(f"mad.lo.{INTEGERS}", "T = T T T")
def mad_lo(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.b.add(lanes.b.mul(x, y), z)


@operation(f"mad.hi.{INTEGERS}", "T = T T T")
def mad_hi(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.b.add(high_product(lanes, m.type, x, y), z)


@operation("mad.hi.sat.s32", "T = T T T")
def mad_hi_saturated(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.map("llvm.sadd.sat", high_product(lanes, m.type, x, y), z)


@operation("mad.wide.{u16,s16,u32,s32}", "W = T T W")
def mad_wide(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.b.add(mul_wide(lanes, m, x, y), z)


@operation("mul24.{lo,hi}.{u32,s32}", "T = T T")
def mul24(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The 48-bit product of the low 24 bits: its bits 31..0, or 47..16."""
    x, y = low_bits(lanes, m.type, x, 24), low_bits(lanes, m.type, y, 24)
    if "lo" in m:
        return lanes.b.mul(x, y)
    product = mul_wide(lanes, m, x, y)
    return lanes.b.trunc(lanes.b.lshr(product, lanes.like(product, 16)), x.type)


@operation("mad24.{lo,hi}.{u32,s32}", "T = T T T")
def mad24(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.b.add(mul24(lanes, m, x, y), z)


@operation("mad24.hi.sat.s32", "T = T T T")
def mad24_saturated(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    return lanes.map("llvm.sadd.sat", mul24(lanes, m, x, y), z)


# Quotients ------------------------------------------------------------------------------------------------------------


@operation(f"div.{INTEGERS}", "T = T T")
def div(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """All ones for a divisor of zero; the most negative number by -1 stays what it is."""
    return unless_zero(lanes, y, quotient(lanes, m.type, x, safe_divisor(lanes, m.type, x, y)))


@operation(f"rem.{INTEGERS}", "T = T T")
def rem(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The sign of the dividend; all ones for a divisor of zero."""
    divisor = safe_divisor(lanes, m.type, x, y)
    return unless_zero(lanes, y, lanes.b.sub(x, lanes.b.mul(quotient(lanes, m.type, x, divisor), divisor)))


def unless_zero(lanes: Lanes, divisor: ir.Value, result: ir.Value) -> ir.Value:
    by_zero = lanes.b.icmp_unsigned("==", divisor, lanes.like(divisor, 0))
    return lanes.b.select(by_zero, lanes.like(divisor, -1), result)


def safe_divisor(lanes: Lanes, type: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """1 in place of a divisor that the host must not see: 0, and -1 under the most negative number."""
    b = lanes.b
    unsafe = b.icmp_unsigned("==", y, lanes.like(y, 0))
    if is_signed(type):
        most_negative = b.icmp_unsigned("==", x, lanes.like(x, 1 << (x.type.element.width - 1)))
        overflows = b.and_(most_negative, b.icmp_unsigned("==", y, lanes.like(y, -1)))
        unsafe = b.or_(unsafe, overflows)
    return b.select(unsafe, lanes.like(y, 1), y)


def quotient(lanes: Lanes, type: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """x / y rounded to zero. A float with twice the bits of x divides exactly enough, and many lanes at a time."""
    b, width = lanes.b, x.type.element.width
    if width == 64:
        return (b.sdiv if is_signed(type) else b.udiv)(x, y)
    real = vector(F32 if width == 16 else F64)
    if is_signed(type):
        return b.fptosi(b.fdiv(b.sitofp(x, real), b.sitofp(y, real)), x.type)
    return b.fptoui(b.fdiv(b.uitofp(x, real), b.uitofp(y, real)), x.type)


# Dot products ---------------------------------------------------------------------------------------------------------


@operation("dp4a.{u32,s32}.{u32,s32}", "b32 = b32 b32 b32")
def dp4a(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """z and the four products of bytes, each signed or not by its operand's type."""
    for k in range(4):
        z = lanes.b.add(z, lanes.b.mul(part(lanes, m.types[0], x, 8, k), part(lanes, m.types[1], y, 8, k)))
    return z


@operation("dp2a.{lo,hi}.{u32,s32}.{u32,s32}", "b32 = b32 b32 b32")
def dp2a(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """z and the products of x's two halves with y's two lower (or upper) bytes."""
    first_byte = 2 if "hi" in m else 0
    for k in range(2):
        half, byte = part(lanes, m.types[0], x, 16, k), part(lanes, m.types[1], y, 8, first_byte + k)
        z = lanes.b.add(z, lanes.b.mul(half, byte))
    return z


def low_bits(lanes: Lanes, type: str, x: ir.Value, bits: int) -> ir.Value:
    """The low bits of x extended by the sign of its type."""
    return part(lanes, type, x, bits, 0)


def part(lanes: Lanes, type: str, x: ir.Value, bits: int, k: int) -> ir.Value:
    """The k-th group of bits of x, extended by the sign of its type."""
    b, width = lanes.b, x.type.element.width
    if is_signed(type):
        above = width - bits * (k + 1)
        return b.ashr(b.shl(x, lanes.like(x, above)), lanes.like(x, width - bits))
    return b.and_(b.lshr(x, lanes.like(x, bits * k)), lanes.like(x, (1 << bits) - 1))
