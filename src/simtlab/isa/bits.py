"""Bits: counting, finding, extracting and inserting, shifts and funnel shifts, byte permutation, three-input logic."""

from llvmlite import ir

from simtlab.isa.integer import low_bits
from simtlab.isa.lanes import I1, I32, Lanes, is_signed, vector
from simtlab.isa.logic import boolean
from simtlab.isa.table import Modifiers, operation

WORDS = "{b32,b64}"
NUMBERS = "{u32,u64,s32,s64}"
NOT_FOUND = 0xFFFFFFFF


def as_word(lanes: Lanes, x: ir.Value) -> ir.Value:
    """A count as 32 bits."""
    return x if x.type.element == I32 else lanes.b.trunc(x, vector(I32))


def resized(lanes: Lanes, x: ir.Value, type: ir.Type) -> ir.Value:
    """An amount that is known to fit, at the width of the lanes it applies to."""
    if x.type.element.width == type.element.width:
        return x
    return (lanes.b.zext if x.type.element.width < type.element.width else lanes.b.trunc)(x, type)


# Counting and finding -------------------------------------------------------------------------------------------------


@operation(f"popc.{WORDS}", "u32 = T")
def popc(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return as_word(lanes, lanes.map("llvm.ctpop", x))


@operation(f"clz.{WORDS}", "u32 = T")
def clz(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The number of zeros above the highest one; the width where there is none."""
    return as_word(lanes, lanes.map("llvm.ctlz", x, I1(0)))


@operation(f"brev.{WORDS}", "T = T")
def brev(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return lanes.map("llvm.bitreverse", x)


@operation(f"bfind[.shiftamt].{NUMBERS}", "u32 = T")
def bfind(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The place of the highest bit that is not the sign, or (.shiftamt) the left shift that brings it to the top."""
    b, top = lanes.b, x.type.element.width - 1
    if is_signed(m.type):
        x = b.xor(x, b.ashr(x, lanes.like(x, top)))
    zeros_above = as_word(lanes, lanes.map("llvm.ctlz", x, I1(0)))
    if "shiftamt" not in m:
        return b.sub(lanes.like(zeros_above, top), zeros_above)
    none = b.icmp_unsigned("==", x, lanes.like(x, 0))
    return b.select(none, lanes.like(zeros_above, NOT_FOUND), zeros_above)


@operation("fns.b32", "b32 = b32 u32 s32")
def fns(lanes: Lanes, m: Modifiers, mask: ir.Value, base: ir.Value, offset: ir.Value) -> ir.Value:
    """The offset-th one of the mask counted from `base` upwards, or downwards for a negative offset.

    An offset of zero asks for the bit at `base` itself. An H200 answers 0 to an offset of -2^31, whatever the mask.
    """
    b, zero = lanes.b, lanes.constant(I32, 0)
    at_base = b.and_(mask, shift_left(lanes, lanes.constant(I32, 1), base))
    upwards = b.and_(mask, shift_left(lanes, lanes.constant(I32, -1), base))
    downwards = b.and_(mask, shift_right(lanes, lanes.constant(I32, -1), b.sub(lanes.constant(I32, 31), base)))
    down = b.icmp_signed("<", offset, zero)
    here = b.icmp_unsigned("==", offset, zero)
    ones = b.select(here, at_base, b.select(down, lanes.map("llvm.bitreverse", downwards), upwards))
    rank = b.select(here, lanes.constant(I32, 1), lanes.map("llvm.abs", offset, I1(0)))
    place = place_of_one(lanes, ones, rank)
    place = b.select(down, b.sub(lanes.constant(I32, 31), place), place)
    missing = b.icmp_unsigned(">", rank, lanes.map("llvm.ctpop", ones))
    missing = b.or_(missing, b.icmp_unsigned(">", base, lanes.constant(I32, 31)))
    found = b.select(missing, lanes.constant(I32, NOT_FOUND), place)
    return b.select(b.icmp_unsigned("==", offset, lanes.constant(I32, 1 << 31)), zero, found)


def place_of_one(lanes: Lanes, ones: ir.Value, rank: ir.Value) -> ir.Value:
    """Where the rank-th lowest one stands, the first having rank 1, by halving the word."""
    b, place = lanes.b, lanes.constant(I32, 0)
    for width in (16, 8, 4, 2, 1):
        below = b.and_(b.lshr(ones, place), lanes.constant(I32, (1 << width) - 1))
        count = lanes.map("llvm.ctpop", below)
        above = b.icmp_unsigned(">", rank, count)
        rank = b.select(above, b.sub(rank, count), rank)
        place = b.select(above, b.add(place, lanes.constant(I32, width)), place)
    return place


# Shifts ---------------------------------------------------------------------------------------------------------------


def shift_left(lanes: Lanes, x: ir.Value, amount: ir.Value) -> ir.Value:
    """x << amount, nothing left of it from its width on."""
    b, width = lanes.b, x.type.element.width
    within = b.icmp_unsigned("<", amount, lanes.like(amount, width))
    shifted = b.shl(x, resized(lanes, b.and_(amount, lanes.like(amount, width - 1)), x.type))
    return b.select(within, shifted, lanes.like(x, 0))


def shift_right(lanes: Lanes, x: ir.Value, amount: ir.Value) -> ir.Value:
    """x >> amount, zeros entering."""
    b, width = lanes.b, x.type.element.width
    within = b.icmp_unsigned("<", amount, lanes.like(amount, width))
    shifted = b.lshr(x, resized(lanes, b.and_(amount, lanes.like(amount, width - 1)), x.type))
    return b.select(within, shifted, lanes.like(x, 0))


def shift_right_signed(lanes: Lanes, x: ir.Value, amount: ir.Value) -> ir.Value:
    """x >> amount, the sign entering."""
    most = lanes.map("llvm.umin", amount, lanes.like(amount, x.type.element.width - 1))
    return lanes.b.ashr(x, resized(lanes, most, x.type))


@operation("shl.{b16,b32,b64}", "T = T u32")
def shl(lanes: Lanes, m: Modifiers, x: ir.Value, amount: ir.Value) -> ir.Value:
    return shift_left(lanes, x, amount)


@operation("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", "T = T u32")
def shr(lanes: Lanes, m: Modifiers, x: ir.Value, amount: ir.Value) -> ir.Value:
    return (shift_right_signed if is_signed(m.type) else shift_right)(lanes, x, amount)


@operation("shf.{l,r}.{wrap,clamp}.b32", "T = T T u32")
def shf(lanes: Lanes, m: Modifiers, low: ir.Value, high: ir.Value, amount: ir.Value) -> ir.Value:
    """The upper word of high:low shifted left, or the lower word of it shifted right."""
    left = "l" in m
    shifted = lanes.map("llvm.fshl" if left else "llvm.fshr", high, low, amount)
    if "wrap" in m:
        return shifted
    within = lanes.b.icmp_unsigned("<", amount, lanes.like(amount, 32))
    return lanes.b.select(within, shifted, low if left else high)


# Fields ---------------------------------------------------------------------------------------------------------------


def field_mask(lanes: Lanes, length: ir.Value) -> ir.Value:
    """As many ones as `length` says, from bit 0."""
    return lanes.b.not_(shift_left(lanes, lanes.like(length, -1), length))


def field_amount(lanes: Lanes, x: ir.Value, type: ir.Type) -> ir.Value:
    """A field's position or length: modulo 256 in words; an H200 takes all 32 bits of it for 64-bit lanes."""
    if type.element.width == 64:
        return lanes.b.zext(x, type)
    return lanes.b.and_(x, lanes.like(x, 0xFF))


@operation(f"bfe.{NUMBERS}", "T = T u32 u32")
def bfe(lanes: Lanes, m: Modifiers, x: ir.Value, position: ir.Value, length: ir.Value) -> ir.Value:
    """The field of x at a position, extended by its own highest bit where the type is signed."""
    b, width = lanes.b, x.type.element.width
    position, length = field_amount(lanes, position, x.type), field_amount(lanes, length, x.type)
    if not is_signed(m.type):
        return b.and_(shift_right(lanes, x, position), field_mask(lanes, length))
    kept = lanes.map("llvm.umin", length, lanes.like(length, width))
    above = lanes.map("llvm.umin", b.sub(lanes.like(kept, width), kept), lanes.like(kept, width - 1))
    field = b.ashr(b.shl(shift_right_signed(lanes, x, position), above), above)
    return b.select(b.icmp_unsigned("==", length, lanes.like(length, 0)), lanes.like(x, 0), field)


@operation(f"bfi.{WORDS}", "T = T T u32 u32")
def bfi(lanes: Lanes, m: Modifiers, field: ir.Value, x: ir.Value, position: ir.Value, length: ir.Value) -> ir.Value:
    """x with its bits at a position replaced by the low bits of the field."""
    b = lanes.b
    position, length = field_amount(lanes, position, x.type), field_amount(lanes, length, x.type)
    mask = shift_left(lanes, field_mask(lanes, length), position)
    return b.or_(b.and_(shift_left(lanes, field, position), mask), b.and_(x, b.not_(mask)))


@operation("bmsk.{clamp,wrap}.b32", "T = u32 u32")
def bmsk(lanes: Lanes, m: Modifiers, position: ir.Value, length: ir.Value) -> ir.Value:
    """A mask of a length at a position, both limited to the word or taken modulo 32."""
    if "wrap" in m:
        position, length = (lanes.b.and_(x, lanes.like(x, 31)) for x in (position, length))
    return shift_left(lanes, field_mask(lanes, length), position)


@operation("szext.{clamp,wrap}.{u32,s32}", "T = T u32")
def szext(lanes: Lanes, m: Modifiers, x: ir.Value, length: ir.Value) -> ir.Value:
    """The low bits of x, extended by the highest of them where the type is signed; nothing for a length of 0."""
    b = lanes.b
    if "wrap" in m:
        length = b.and_(length, lanes.like(length, 31))
    if not is_signed(m.type):
        return b.and_(x, field_mask(lanes, length))
    none = b.icmp_unsigned("==", length, lanes.like(length, 0))
    above = b.sub(lanes.like(length, 32), lanes.map("llvm.umin", length, lanes.like(length, 32)))
    above = b.and_(above, lanes.like(above, 31))
    return b.select(none, lanes.like(x, 0), b.ashr(b.shl(x, above), above))


# Bytes ----------------------------------------------------------------------------------------------------------------


@operation("prmt.b32[.f4e,.b4e,.rc8,.ecl,.ecr,.rc16]", "T = T T T")
def prmt(lanes: Lanes, m: Modifiers, low: ir.Value, high: ir.Value, control: ir.Value) -> ir.Value:
    """Four bytes picked from the eight of high:low: each by its nibble of the control, or all by a mode."""
    b, mode, result = lanes.b, m.parts[-1], lanes.constant(I32, 0)
    for k in range(4):
        nibble = b.lshr(control, lanes.constant(I32, 4 * k))
        byte = picked_byte(lanes, low, high, nibble if mode == "b32" else mode_index(lanes, mode, control, k))
        if mode == "b32":
            sign = low_bits(lanes, "s32", b.lshr(byte, lanes.constant(I32, 7)), 1)
            replicate = b.and_(nibble, lanes.constant(I32, 8))
            byte = b.select(b.icmp_unsigned("!=", replicate, lanes.constant(I32, 0)), sign, byte)
        byte = b.and_(byte, lanes.constant(I32, 0xFF))
        result = b.or_(result, b.shl(byte, lanes.constant(I32, 8 * k)))
    return result


def picked_byte(lanes: Lanes, low: ir.Value, high: ir.Value, index: ir.Value) -> ir.Value:
    """Byte `index` modulo 8 of high:low, with other bits above it."""
    b = lanes.b
    in_high = b.icmp_unsigned("!=", b.and_(index, lanes.constant(I32, 4)), lanes.constant(I32, 0))
    shift = b.and_(b.shl(index, lanes.constant(I32, 3)), lanes.constant(I32, 24))
    return b.lshr(b.select(in_high, high, low), shift)


def mode_index(lanes: Lanes, mode: str, control: ir.Value, k: int) -> ir.Value:
    """Which byte result byte k takes: forward, backward, replicate 8, edge clamp left or right, replicate 16."""
    b, own = lanes.b, lanes.constant(I32, k)
    first = b.and_(control, lanes.constant(I32, 3))
    if mode == "f4e":
        return b.add(first, own)
    if mode == "b4e":
        return b.sub(first, own)
    if mode == "rc8":
        return first
    if mode == "ecl":
        return lanes.map("llvm.umax", first, own)
    if mode == "ecr":
        return lanes.map("llvm.umin", first, own)
    return b.or_(b.and_(b.shl(first, lanes.constant(I32, 1)), lanes.constant(I32, 2)), lanes.constant(I32, k & 1))


# Three-input logic ----------------------------------------------------------------------------------------------------


@operation("lop3.b32", "T = T T T u32")
def lop3(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value, table: ir.Value) -> ir.Value:
    """Any function of three bits: bit 4x+2y+z of the table is its value."""
    b = lanes.b

    def choose(selector: ir.Value, if_zero: ir.Value, if_one: ir.Value) -> ir.Value:
        return b.or_(b.and_(selector, if_one), b.and_(b.not_(selector), if_zero))

    def row(k: int) -> ir.Value:
        return low_bits(lanes, "s32", b.lshr(table, lanes.constant(I32, k)), 1)

    by_z = [choose(z, row(k), row(k + 1)) for k in range(0, 8, 2)]
    return choose(x, choose(y, by_z[0], by_z[1]), choose(y, by_z[2], by_z[3]))


@operation("lop3.{or,and}.b32", "T|P = T T T u32 P")
def lop3_and_test(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> tuple[ir.Value, ir.Value]:
    """lop3, and a predicate: is the result not zero, combined with another predicate."""
    result = lop3(lanes, m, *sources[:4])
    nonzero = lanes.b.icmp_unsigned("!=", result, lanes.constant(I32, 0))
    return result, boolean(lanes, m.parts[0], nonzero, sources[4])
