"""Comparisons: setp and set in all their forms, the class tests of floating-point numbers, and selections."""

from collections.abc import Callable

from llvmlite import ir

from simtlab.isa.lanes import F32, Lanes, is_signed
from simtlab.isa.logic import boolean
from simtlab.isa.table import Modifiers, operation

SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNSIGNED_SYMBOLS = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}

ORDER = "eq,ne,lt,le,gt,ge"
UNORDERED = "equ,neu,ltu,leu,gtu,geu,num,nan"
COMBINE = "{.and,.or,.xor}"
COMPARISONS = (
    "{eq,ne}@.{b16,b32,b64}",
    f"{{{ORDER}}}@.{{s16,s32,s64}}",
    f"{{{ORDER},lo,ls,hi,hs}}@.{{u16,u32,u64}}",
    f"{{{ORDER},{UNORDERED}}}@[.ftz].{{f32,f16}}",
    f"{{{ORDER},{UNORDERED}}}@.{{f64,bf16}}",
)

# magnitude of infinity and of the smallest normal number
FLOATS = {
    "f16": (0x7C00, 0x0400),
    "bf16": (0x7F80, 0x0080),
    "f32": (0x7F800000, 0x00800000),
    "f64": (0x7FF0000000000000, 0x0010000000000000),
}
ONE = {"f32": 1.0, "f16": 0x3C00, "bf16": 0x3F80}  # half-precision numbers are their bits


# Which lanes a comparison holds in ------------------------------------------------------------------------------------


def compare(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """The booleans of `x CmpOp y` for operands of the instruction's last type."""
    name, type = m.parts[0], m.type
    if type in ("f32", "f64"):
        if "ftz" in m:
            x, y = flush(lanes, x), flush(lanes, y)
        return compare_floats(lanes, name, x, y)
    if type in ("f16", "bf16"):
        return compare_halves(lanes, name, type, "ftz" in m, x, y)
    if name in UNSIGNED_SYMBOLS:
        return lanes.b.icmp_unsigned(UNSIGNED_SYMBOLS[name], x, y)
    return (lanes.b.icmp_signed if is_signed(type) else lanes.b.icmp_unsigned)(SYMBOLS[name], x, y)


def compare_floats(lanes: Lanes, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """`lt` is false and `ltu` true where an operand is no number; so for the others, `ne` being an ordered one too."""
    if name == "num":
        return lanes.b.fcmp_ordered("ord", x, y)
    if name == "nan":
        return lanes.b.fcmp_unordered("uno", x, y)
    if name.endswith("u"):
        return lanes.b.fcmp_unordered(SYMBOLS[name[:2]], x, y)
    return lanes.b.fcmp_ordered(SYMBOLS[name], x, y)


def flush(lanes: Lanes, x: ir.Value) -> ir.Value:
    """Zero in place of a subnormal single; its sign is of no account to a comparison."""
    tiny = lanes.b.fcmp_ordered("<", lanes.map("llvm.fabs", x), lanes.constant(F32, 2.0**-126))
    return lanes.b.select(tiny, lanes.constant(F32, 0.0), x)


def compare_halves(lanes: Lanes, name: str, type: str, ftz: bool, x: ir.Value, y: ir.Value) -> ir.Value:
    """Half-precision numbers ordered by their bits: a negative one counts down from zero."""
    b = lanes.b
    infinity, smallest_normal = FLOATS[type]
    ranks, number = [], None
    for value in (x, y):
        size = b.and_(value, lanes.like(value, 0x7FFF))
        is_number = b.icmp_unsigned("<=", size, lanes.like(size, infinity))
        number = is_number if number is None else b.and_(number, is_number)
        if ftz:
            tiny = b.icmp_unsigned("<", size, lanes.like(size, smallest_normal))
            size = b.select(tiny, lanes.like(size, 0), size)
        negative = b.icmp_signed("<", value, lanes.like(value, 0))
        ranks.append(b.select(negative, b.neg(size), size))
    if name == "num":
        return number
    if name == "nan":
        return b.not_(number)
    holds = b.icmp_signed(SYMBOLS[name[:2]], *ranks)
    return b.or_(holds, b.not_(number)) if name.endswith("u") else b.and_(holds, number)


# setp and set ---------------------------------------------------------------------------------------------------------


def _all(opcode: str, types: str, combine: str, signature: str, raw: bool = False) -> Callable:
    """Declare a builder for every comparison there is."""

    def declare(build: Callable) -> Callable:
        for comparison in COMPARISONS:
            name, _, operands = comparison.partition("@")
            flush_to_zero, _, source = operands.rpartition(".")
            operation(f"{opcode}.{name}{combine}{flush_to_zero}{types}.{source}", signature, raw=raw)(build)
        return build

    return declare


@_all("setp", "", "", "P|P? = T T", raw=True)
@_all("setp", "", COMBINE, "P|P? = T T P", raw=True)
def setp(lanes: Lanes, m: Modifiers) -> None:
    """p = the comparison, q = its opposite; each combined with a third predicate where there is one."""
    holds = lanes.compress(compare(lanes, m, lanes.read(2, m.type), lanes.read(3, m.type)))
    fails = lanes.b.not_(holds)
    combine = m.first_of("and", "or", "xor")
    if combine:
        other = lanes.read_mask(4)
        holds, fails = boolean(lanes, combine, holds, other), boolean(lanes, combine, fails, other)
    lanes.write_mask(0, holds)
    lanes.write_mask(1, fails)


@_all("set", ".{u32,s32,f32,u16,s16,f16,bf16}", "", "T0 = T1 T1")
@_all("set", ".{u32,s32,f32,u16,s16,f16,bf16}", COMBINE, "T0 = T1 T1 P")
def set_(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, other: ir.Value | None = None) -> ir.Value:
    """The comparison as a number: all ones, or 1.0."""
    holds = compare(lanes, m, x, y)
    combine = m.first_of("and", "or", "xor")
    if combine:
        holds = boolean(lanes, combine, holds, other)
    result = m.types[0]
    type = F32 if result == "f32" else ir.IntType(int(result.lstrip("usbf")))
    return lanes.b.select(holds, lanes.constant(type, ONE.get(result, -1)), lanes.constant(type, 0))


# Tests and selections -------------------------------------------------------------------------------------------------


@operation("testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", "P = T")
def testp(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """The class of a floating-point number. Zero counts as normal."""
    b, bits = lanes.b, lanes.to_bits(x)
    infinity, smallest_normal = FLOATS[m.type]
    size = b.and_(bits, lanes.like(bits, (1 << (bits.type.element.width - 1)) - 1))
    against = {"finite": "<", "infinite": "==", "number": "<=", "notanumber": ">"}.get(m.parts[0])
    if against:
        return b.icmp_unsigned(against, size, lanes.like(size, infinity))
    below_normal = b.sub(size, lanes.like(size, 1))  # zero wraps to the top
    subnormal = b.icmp_unsigned("<", below_normal, lanes.like(size, smallest_normal - 1))
    if m.parts[0] == "subnormal":
        return subnormal
    return b.and_(b.not_(subnormal), b.icmp_unsigned("<", size, lanes.like(size, infinity)))


SELECTED = "{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}"


@operation(f"selp.{SELECTED}", "T = T T P")
def selp(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, choose_x: ir.Value) -> ir.Value:
    return lanes.b.select(choose_x, x, y)


@operation(f"slct.{SELECTED}.s32", "T0 = T0 T0 T1")
@operation(f"slct[.ftz].{SELECTED}.f32", "T0 = T0 T0 T1")
def slct(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, sign: ir.Value) -> ir.Value:
    """x where the third operand is not negative; -0.0 is not, and NaN is no reason to take x."""
    if m.type == "s32":
        choose_x = lanes.b.icmp_signed(">=", sign, lanes.like(sign, 0))
    else:
        sign = flush(lanes, sign) if "ftz" in m else sign
        choose_x = lanes.b.fcmp_ordered(">=", sign, lanes.constant(F32, 0.0))
    return lanes.b.select(choose_x, x, y)
