"""Integer arithmetic of machine code: sums of three with carries, products, shifts of two words, comparisons, bits.

Spelled as nvdisasm has them, without what only says how something is written. Where an operand can be negated and a carry
comes out, the row looks at the marks itself: -0 is 2**32 there, as the complement and one.
"""

from collections.abc import Callable

from llvmlite import ir

from simtlab.isa import convert
from simtlab.isa.lanes import I1, I32, I64, Lanes, vector
from simtlab.isa.table import Modifiers, operation

COMPARISONS = "{.F,.LT,.EQ,.LE,.GT,.NE,.GE,.T}"
COMBINE = "{.AND,.OR,.XOR}"
PARTS = {16: ("16x2", "U16x2", "S16x2"), 8: ("U8x4",)}  # of a word, by their width in bits
SIGNS = {"LT": "<", "EQ": "==", "LE": "<=", "GT": ">", "NE": "!=", "GE": ">="}


def wide(lanes: Lanes, value: ir.Value, mark: str = "") -> ir.Value:
    """A word as 64 bits; negated it is the complement and one, so that a carry comes out as the hardware has it."""
    if mark == "~":
        return lanes.b.zext(lanes.b.not_(value), vector(I64))
    if mark == "-":
        return lanes.b.add(lanes.b.zext(lanes.b.not_(value), vector(I64)), lanes.constant(I64, 1))
    return lanes.b.zext(value, vector(I64))


def bit(lanes: Lanes, predicate: ir.Value) -> ir.Value:
    return lanes.b.zext(predicate, vector(I64))


def carries(lanes: Lanes, total: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Whether a sum of words reached 2**32, and whether it reached 2**33: what the two carry predicates say together."""
    high = lanes.b.lshr(total, lanes.constant(I64, 32))
    return tuple(lanes.b.icmp_unsigned(">=", high, lanes.constant(I64, n)) for n in (1, 2))


@operation("IADD3[.X]", "u32 P? P? = u32 u32 u32 P? P?", own_marks=True)
def iadd3(lanes: Lanes, m: Modifiers, *given: ir.Value) -> tuple[ir.Value, ...]:
    """The sum of three words, and of the carries that come in; the carries that go out."""
    total = lanes.constant(I64, 0)
    for k, value in enumerate(given):
        part = bit(lanes, value) if value.type.element == I1 else wide(lanes, value, lanes.shape.mark(3 + k))
        total = lanes.b.add(total, part)
    return lanes.b.trunc(total, vector(I32)), *carries(lanes, total)


@operation("IADD3.64", "u64 P? P? = u64 u64 u64")
def iadd3_wide(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, c: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The sum of three double words, and its carries."""
    first = lanes.b.add(a, b)
    total = lanes.b.add(first, c)
    one, other = lanes.b.icmp_unsigned("<", first, a), lanes.b.icmp_unsigned("<", total, c)
    return total, lanes.b.or_(one, other), lanes.b.and_(one, other)


@operation("IADD.64.X", "u64 P? = u64 u64 P")
def iadd_wide(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, carry: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The sum of two double words and a carry; the carry that goes out."""
    total, carried, _ = iadd3_wide(lanes, m, a, b, bit(lanes, carry))
    return total, carried


@operation("IMAD[.U32][.X]", "u32 P? = u32 u32 u32 P?")
def imad(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, c: ir.Value, *carry: ir.Value) -> tuple[ir.Value, ir.Value]:
    """a times b plus c, the low word; with .X and a carry."""
    total = lanes.b.add(lanes.b.mul(a, b), c)
    for one in carry:
        total = lanes.b.add(total, lanes.b.zext(one, vector(I32)))
    return total, lanes.constant(I1, 0)


@operation("IMAD.WIDE[.U32][.X]", "u64 P? = u32 u32 u64 P?")
def imad_wide(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, c: ir.Value, *carry: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The whole product plus a 64-bit addend; the carry of the sum."""
    extend = lanes.b.zext if "U32" in m else lanes.b.sext
    product = lanes.b.mul(extend(a, vector(I64)), extend(b, vector(I64)))
    total = lanes.b.add(product, c)
    carried = lanes.b.icmp_unsigned("<", total, product)
    for one in carry:
        before, total = total, lanes.b.add(total, bit(lanes, one))
        carried = lanes.b.or_(carried, lanes.b.icmp_unsigned("<", total, before))
    return total, carried


@operation("IMAD.HI[.U32][.X]", "u32 P? = u32 u32 u64 P?")
def imad_high(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, c: ir.Value, *carry: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The high word of the product plus a 64-bit addend; the carry of that sum."""
    total, carried = imad_wide(lanes, m, a, b, c, *carry)
    return lanes.b.trunc(lanes.b.lshr(total, lanes.constant(I64, 32)), vector(I32)), carried


@operation("LEA[.X]", "u32 P? = u32 u32 u32 P?", own_marks=True)
def lea(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, shift: ir.Value, *carry: ir.Value) -> tuple[ir.Value, ir.Value]:
    """a shifted left plus b, and the carry."""
    mark = lanes.shape.mark(2)
    shifted = lanes.b.shl(lanes.b.neg(a) if mark == "-" else lanes.b.not_(a) if mark == "~" else a, low_five(lanes, shift))
    total = lanes.b.add(wide(lanes, shifted), wide(lanes, b, lanes.shape.mark(3)))
    for one in carry:
        total = lanes.b.add(total, bit(lanes, one))
    return lanes.b.trunc(total, vector(I32)), carries(lanes, total)[0]


@operation("LEA.HI[.X]", "u32 P? = u32 u32 u32 u32 P?", own_marks=True)
@operation("LEA.HI[.X].SX32", "u32 P? = u32 u32 u32 P?", own_marks=True)
def lea_high(lanes: Lanes, m: Modifiers, a: ir.Value, b: ir.Value, *rest: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The high word of {c, a} shifted left, plus b and a carry; c is a's sign with .SX32."""
    if "SX32" in m:
        low = lanes.b.sext(a, vector(I64))
        shift, *carry = rest
    else:
        high, shift, *carry = rest
        low = lanes.b.or_(wide(lanes, a), lanes.b.shl(wide(lanes, high), lanes.constant(I64, 32)))
    if lanes.shape.mark(2) == "-":
        low = lanes.b.neg(low)
    moved = lanes.b.shl(low, lanes.b.zext(low_five(lanes, shift), vector(I64)))
    total = lanes.b.add(lanes.b.lshr(moved, lanes.constant(I64, 32)), wide(lanes, b, lanes.shape.mark(3)))
    for one in carry:
        total = lanes.b.add(total, bit(lanes, one))
    return lanes.b.trunc(total, vector(I32)), carries(lanes, total)[0]


def low_five(lanes: Lanes, shift: ir.Value) -> ir.Value:
    return lanes.b.and_(shift, lanes.constant(I32, 31))


@operation("SHF{.L,.R}[.W]{.U32,.S32,.U64,.S64}[.HI]", "u32 = u32 u32 u32")
def funnel_shift(lanes: Lanes, m: Modifiers, a: ir.Value, shift: ir.Value, c: ir.Value) -> ir.Value:
    """The low or high word of {c, a} shifted; by at most the width its type has, or by that modulo the width with .W."""
    b = lanes.b
    bits = 64 if "U64" in m or "S64" in m else 32
    whole = b.or_(wide(lanes, a), b.shl(wide(lanes, c), lanes.constant(I64, 32)))
    amount = b.and_(shift, lanes.constant(I32, bits - 1)) if "W" in m else lanes.map("llvm.umin", shift, lanes.constant(I32, bits))
    amount = b.zext(amount, vector(I64))
    past = b.icmp_unsigned(">=", amount, lanes.constant(I64, 64))
    safe = b.select(past, lanes.constant(I64, 63), amount)
    if "L" in m:
        moved = b.select(past, lanes.constant(I64, 0), b.shl(whole, safe))
    elif "S32" in m or "S64" in m:
        moved = b.ashr(whole, safe)
    else:
        moved = b.select(past, lanes.constant(I64, 0), b.lshr(whole, safe))
    return b.trunc(b.lshr(moved, lanes.constant(I64, 32)) if "HI" in m else moved, vector(I32))


def table_of(lanes: Lanes, number: int, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Bit by bit what an eight-entry table says of three inputs."""
    b = lanes.b
    result = lanes.b.xor(x, x)
    for k in range(8):
        if number >> k & 1:
            term = None
            for value, place in ((x, 4), (y, 2), (z, 1)):
                part = value if k & place else b.not_(value)
                term = part if term is None else b.and_(term, part)
            result = b.or_(result, term)
    return result


@operation("LOP3[.PAND].T##", "P? u32 = u32 u32 u32 P?")
def lop3(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value, *given: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Any function of three bits, its table in the name; whether any bit is set, or'ed (and'ed) with a predicate."""
    result = table_of(lanes, int(m.parts[-1][1:], 16), x, y, z)
    some = lanes.b.icmp_unsigned("!=", result, lanes.constant(I32, 0))
    for one in given:
        some = (lanes.b.and_ if "PAND" in m else lanes.b.or_)(some, one)
    return some, result


@operation("PLOP3.T##.T##", "P P = P P P")
def plop3(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Two functions of three predicates, their tables in the name."""
    return tuple(table_of(lanes, int(part[1:], 16), x, y, z) for part in m.parts)


@operation("PLOP3.SIGN.T##.T##", "P P = u32 u32 u32", raw=True)
def plop3_of_signs(lanes: Lanes, m: Modifiers) -> None:
    """The same of predicates and of the signs of words."""
    given = []
    for k in (2, 3, 4):
        if lanes.shape.mark(k) == "SIGN":
            word = lanes.read(k, "u32")
            given.append(lanes.b.icmp_signed("<", word, lanes.like(word, 0)))
        else:
            given.append(lanes.read(k, "pred"))
    for k, part in enumerate(m.parts[1:]):
        lanes.write(k, table_of(lanes, int(part[1:], 16), *given), "pred")


@operation(f"ISETP{COMPARISONS}[.U32]{COMBINE}", "P P = u32 u32 P")
@operation(f"ISETP{COMPARISONS}{{.U64,.S64}}{COMBINE}", "P P = u64 u64 P")
@operation(f"ISETP{COMPARISONS}[.U32]{COMBINE}.EX", "P P = u32 u32 P P")
def isetp(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value, *low: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A comparison combined with a predicate, and its opposite so combined. With .EX the words are high ones, and what the
    low ones gave comes in."""
    b, how = lanes.b, m.parts[0]
    if how in ("F", "T"):
        holds = lanes.constant(I1, int(how == "T"))
    else:
        compare = b.icmp_unsigned if "U32" in m or "U64" in m else b.icmp_signed
        holds = compare(SIGNS[how], x, y)
        if low:
            equal = b.icmp_unsigned("==", x, y)
            if how == "EQ":
                holds = b.and_(equal, low[0])
            elif how == "NE":
                holds = b.or_(holds, low[0])
            else:
                strict = compare(SIGNS[how][0], x, y)
                holds = b.or_(strict, b.and_(equal, low[0]))
    return combined(lanes, m, holds, other)


def combined(lanes: Lanes, m: Modifiers, holds: ir.Value, other: ir.Value) -> tuple[ir.Value, ir.Value]:
    combine = {"AND": lanes.b.and_, "OR": lanes.b.or_, "XOR": lanes.b.xor}[m.first_of("AND", "OR", "XOR") or "AND"]
    return combine(holds, other), combine(lanes.b.not_(holds), other)


# Least and greatest ---------------------------------------------------------------------------------------------------


def each_part(lanes: Lanes, m: Modifiers, build: Callable[..., ir.Value], *words: ir.Value) -> ir.Value:
    """`build` of whole words, or of the halves or bytes that a name such as .S16x2 tells."""
    width = next((width for width, names in PARTS.items() if m.first_of(*names)), None)
    if width is None:
        return build(*words)
    b, narrow = lanes.b, vector(ir.IntType(width))
    result = lanes.constant(I32, 0)
    for first in range(0, 32, width):
        place = lanes.constant(I32, first)
        part = build(*(b.trunc(b.lshr(word, place), narrow) for word in words))
        result = b.or_(result, b.shl(b.zext(part, vector(I32)), place))
    return result


def in_parts(lanes: Lanes, m: Modifiers, build: Callable[..., ir.Value], *words: ir.Value) -> ir.Value:
    """The same; a negative result is 0 with .RELU."""

    def limited(*given: ir.Value) -> ir.Value:
        result = build(*given)
        return lanes.map("llvm.smax", result, lanes.like(result, 0)) if "RELU" in m else result

    return each_part(lanes, m, limited, *words)


def bound(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, least: ir.Value) -> ir.Value:
    kind = "u" if m.first_of("U32", "U64", "U16x2", "U8x4") else "s"
    return lanes.b.select(least, lanes.map(f"llvm.{kind}min", x, y), lanes.map(f"llvm.{kind}max", x, y))


@operation("VIMNMX{.U32,.S32}[.RELU]", "u32 = u32 u32 P")
@operation("VIMNMX{.U16x2,.S16x2}.RELU", "u32 = u32 u32 P")
@operation("VIMNMX.U8x4", "u32 = u32 u32 P")
@operation("VIMNMX{.U64,.S64}", "u64 = u64 u64 P")
def minimum_or_maximum(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, least: ir.Value) -> ir.Value:
    """The lesser where the predicate holds, else the greater."""
    return in_parts(lanes, m, lambda p, q: bound(lanes, m, p, q, least), x, y)


@operation("VIMNMX{.U16x2,.S16x2}", "u32 P? P? = u32 u32 P")
def bound_of_halves(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, least: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The lesser or greater of the lower and of the upper halves; whether each is the first one's."""
    result = minimum_or_maximum(lanes, m, x, y, least)
    same = lanes.b.xor(result, x)
    low = lanes.b.icmp_unsigned("==", lanes.b.and_(same, lanes.constant(I32, 0xFFFF)), lanes.constant(I32, 0))
    return result, low, lanes.b.icmp_unsigned("<", same, lanes.constant(I32, 0x10000))


@operation("VIMNMX3{.U32,.S32,.U16x2,.S16x2}[.RELU]", "u32 = u32 u32 u32 P")
def bound_of_three(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value, least: ir.Value) -> ir.Value:
    """The least of three where the predicate holds, else the greatest."""
    return in_parts(lanes, m, lambda p, q, r: bound(lanes, m, bound(lanes, m, p, q, least), r, least), x, y, z)


@operation("VIADDMNMX{.U32,.S32,.U16x2,.S16x2}[.RELU]", "u32 = u32 u32 u32 P")
def add_and_bound(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value, least: ir.Value) -> ir.Value:
    """A sum, then its lesser or greater with a third; not below zero with .RELU."""
    return in_parts(lanes, m, lambda p, q, r: bound(lanes, m, lanes.b.add(p, q), r, least), x, y, z)


@operation("VIADD{.16x2,.U8x4}", "u32 = u32 u32", own_marks=True)
def add_parts(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The sums of halves or bytes, each negated by itself."""

    def total(*parts: ir.Value) -> ir.Value:
        return lanes.b.add(*(lanes.b.neg(part) if lanes.shape.mark(1 + k) == "-" else part for k, part in enumerate(parts)))

    return each_part(lanes, m, total, x, y)


@operation("VIADD.ISAT", "s32 = s32 s32", own_marks=True)
def add_within_limits(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """A sum or difference, exact, then limited to the numbers of s32."""
    b = lanes.b
    given = [b.sext(value, vector(I64)) for value in (x, y)]
    total = b.add(*(b.neg(value) if lanes.shape.mark(1 + k) == "-" else value for k, value in enumerate(given)))
    return b.trunc(convert.clamped(lanes, total, "s64", "s32"), vector(I32))


@operation("SGXT[.W][.U32]", "u32 = u32 u32")
def extend_sign(lanes: Lanes, m: Modifiers, x: ir.Value, width: ir.Value) -> ir.Value:
    """The low bits of x, extended by the topmost of them or by zeros. All of x if there are 32 or more."""
    b = lanes.b
    if "W" in m:
        width = low_five(lanes, width)
    whole = b.icmp_unsigned(">=", width, lanes.constant(I32, 32))
    kept = b.select(whole, lanes.constant(I32, 32), width)
    away = b.zext(b.sub(lanes.constant(I32, 32), kept), vector(I64))
    shifted = b.trunc(b.shl(wide(lanes, x), away), vector(I32))
    if "U32" in m:
        return b.trunc(b.lshr(wide(lanes, shifted), away), vector(I32))
    return b.trunc(b.ashr(b.sext(shifted, vector(I64)), away), vector(I32))


@operation("R2P{.B0,.B1,.B2,.B3}", "P P P P P P P = u32")
def register_to_predicates(lanes: Lanes, m: Modifiers, x: ir.Value) -> tuple[ir.Value, ...]:
    """The bits of one byte of a register as predicates."""
    first = 8 * int(m.parts[0][1])
    return tuple(lanes.b.icmp_unsigned("!=", lanes.b.and_(x, lanes.constant(I32, 1 << first + k)), lanes.constant(I32, 0))
                 for k in range(7))  # fmt: skip


@operation("P2R{.B0,.B1,.B2,.B3}", "u32 = P P P P P P P u32 u32")
def predicates_to_register(lanes: Lanes, m: Modifiers, *given: ir.Value) -> ir.Value:
    """The predicates as bits of one byte of a register, where a mask has them; the rest is the register's."""
    *predicates, x, chosen = given
    b, first = lanes.b, 8 * int(m.parts[0][1])
    found = lanes.constant(I32, 0)
    for k, one in enumerate(predicates):
        found = b.or_(found, b.shl(b.zext(one, vector(I32)), lanes.constant(I32, first + k)))
    mask = b.shl(b.and_(chosen, lanes.constant(I32, 0x7F)), lanes.constant(I32, first))
    return b.or_(b.and_(x, b.not_(mask)), b.and_(found, mask))

