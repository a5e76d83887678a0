"""Video instructions: scalar ones that saturate and accumulate, and SIMD ones on the bytes or halves of a word.

Compilers have emulated them since Maxwell, and on an H200 the scalar ones differ from PTX's text: an unsigned result
saturates at zero but wraps at its top, vshl keeps 34 bits before it saturates, the second operation sees more bits than
the result has, and vmad takes whole words as signed whatever their type. So do these.
"""

from collections.abc import Callable

from llvmlite import ir

from simtlab.isa.compare import SYMBOLS
from simtlab.isa.integer import low_bits, part
from simtlab.isa.lanes import I32, I64, Lanes, is_signed, vector
from simtlab.isa.table import Modifiers, operation

WORD = "{u32,s32}"
THREE = f"{WORD}.{WORD}.{WORD}"
SECOND = "{.add,.min,.max}"


# The arithmetic, on lanes wide enough that nothing overflows ----------------------------------------------------------


def _add(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.add(x, y)


def _sub(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.sub(x, y)


def _difference(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.sub(_max(lanes, x, y), _min(lanes, x, y))


def _min(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.smin", x, y)


def _max(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.map("llvm.smax", x, y)


def _average(lanes: Lanes, x: ir.Value, y: ir.Value) -> ir.Value:
    """Half the sum, a half rounded away from zero."""
    b, total = lanes.b, lanes.b.add(x, y)
    not_negative = b.icmp_signed(">=", total, lanes.like(total, 0))
    return b.ashr(b.add(total, b.zext(not_negative, total.type)), lanes.like(total, 1))


ARITHMETIC: dict[str, Callable] = {
    "vadd": _add,
    "vsub": _sub,
    "vabsdiff": _difference,
    "vmin": _min,
    "vmax": _max,
    "vavrg": _average,
}


def saturate(lanes: Lanes, x: ir.Value, type: str, bits: int) -> ir.Value:
    """x limited to what so many bits of a type hold."""
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(type) else (0, (1 << bits) - 1)
    return _min(lanes, _max(lanes, x, lanes.like(x, least)), lanes.like(x, most))


def compared(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    """1 or 0."""
    name = next(part for part in m.parts if part in SYMBOLS)
    return lanes.b.zext(lanes.b.icmp_signed(SYMBOLS[name], x, y), x.type)


# Scalar ---------------------------------------------------------------------------------------------------------------


def extended(lanes: Lanes, type: str, x: ir.Value) -> ir.Value:
    """A word as 64 bits, by the sign of its type."""
    return (lanes.b.sext if is_signed(type) else lanes.b.zext)(x, vector(I64))


def as_word(lanes: Lanes, x: ir.Value) -> ir.Value:
    """The low word of x, as a signed number."""
    return lanes.b.sext(lanes.b.trunc(x, vector(I32)), x.type)


def saturated(lanes: Lanes, m: Modifiers, type: str, value: ir.Value) -> ir.Value:
    """A 64-bit result as the second operation will see it."""
    saturates, shifts_left = "sat" in m, m.opcode == "vshl"
    if saturates and shifts_left:
        value = low_bits(lanes, "s32", value, 34)
    if saturates and (shifts_left or is_signed(type)):
        value = saturate(lanes, value, type, 32)
    elif saturates:
        value = _max(lanes, value, lanes.like(value, 0))
    wraps = m.opcode in ("vadd", "vsub") or (saturates and m.opcode in ("vshl", "vshr"))
    return as_word(lanes, value) if wraps else value


def finish(lanes: Lanes, m: Modifiers, type: str, value: ir.Value, third: tuple[ir.Value, ...]) -> ir.Value:
    """Saturate a 64-bit result, apply the second operation, and cut it to a word."""
    value = saturated(lanes, m, type, value)
    for operand in third:
        wide = extended(lanes, type, operand)
        second = m.first_of("add", "min", "max")
        if second == "add":
            value = lanes.b.add(value, wide)
        else:
            value = lanes.map(f"llvm.{'s' if is_signed(type) else 'u'}{second}", value, wide)
    return lanes.b.trunc(value, vector(I32))


def _scalar_arithmetic(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, *third: ir.Value) -> ir.Value:
    """vadd, vsub, vabsdiff, vmin, vmax."""
    into, x_type, y_type = m.types
    value = ARITHMETIC[m.opcode](lanes, extended(lanes, x_type, x), extended(lanes, y_type, y))
    return finish(lanes, m, into, value, third)


for _name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    operation(f"{_name}.{THREE}[.sat]", "T0 = T1 T2")(_scalar_arithmetic)
    operation(f"{_name}.{THREE}[.sat]{SECOND}", "T0 = T1 T2 T0")(_scalar_arithmetic)


def _scalar_shift(lanes: Lanes, m: Modifiers, x: ir.Value, amount: ir.Value, *third: ir.Value) -> ir.Value:
    """vshl and vshr by up to 32."""
    b, (into, x_type, _) = lanes.b, m.types
    if "wrap" in m:
        amount = b.and_(amount, lanes.like(amount, 31))
    else:
        amount = lanes.map("llvm.umin", amount, lanes.like(amount, 32))
    value, amount = extended(lanes, x_type, x), b.zext(amount, vector(I64))
    return finish(lanes, m, into, b.shl(value, amount) if m.opcode == "vshl" else b.ashr(value, amount), third)


for _name in ("vshl", "vshr"):
    operation(f"{_name}.{WORD}.{WORD}.u32[.sat].{{clamp,wrap}}", "T0 = T1 T2")(_scalar_shift)
    operation(f"{_name}.{WORD}.{WORD}.u32[.sat].{{clamp,wrap}}{SECOND}", "T0 = T1 T2 T0")(_scalar_shift)


@operation(f"vset.{WORD}.{WORD}.{{eq,ne,lt,le,gt,ge}}", "u32 = T0 T1")
@operation(f"vset.{WORD}.{WORD}.{{eq,ne,lt,le,gt,ge}}{SECOND}", "u32 = T0 T1 u32")
def vset(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, *third: ir.Value) -> ir.Value:
    """1 where the comparison holds, else 0."""
    value = compared(lanes, m, extended(lanes, m.types[0], x), extended(lanes, m.types[1], y))
    return finish(lanes, m, m.types[0], value, third)


@operation(f"vmad.{THREE}[.po][.sat][.shr7,.shr15]", "T0 = T1 T2 T0", note="Operands are not negated.")
def vmad(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """x y + z, one more with .po, scaled down; limited to an unsigned word where x and y are both unsigned."""
    b, (_, x_type, y_type) = lanes.b, m.types
    type = "s32" if is_signed(x_type) or is_signed(y_type) else "u32"
    x, y, z = (extended(lanes, "s32", word) for word in (x, y, z))
    value = b.add(b.mul(x, y), z)
    if "po" in m:
        value = b.add(value, lanes.like(value, 1))
    scale = {"shr7": 7, "shr15": 15}.get(m.parts[-1], 0)
    value = (b.ashr if is_signed(type) else b.lshr)(value, lanes.like(value, scale))
    return b.trunc(saturate(lanes, value, type, 32) if "sat" in m else value, vector(I32))


# SIMD -----------------------------------------------------------------------------------------------------------------


def _simd(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    """Two halves or four bytes at once: packed again, or (.add) their sum added to z.

    Without selectors and masks, which name single parts, nothing of z is merged into a packed result.
    """
    b, count = lanes.b, int(m.opcode[-1])
    bits, (x_type, y_type) = 32 // count, m.types[-2:]
    into = m.types[0] if len(m.types) == 3 else "u32"
    result = z if "add" in m else lanes.constant(I32, 0)
    for k in range(count):
        pair = part(lanes, x_type, x, bits, k), part(lanes, y_type, y, bits, k)
        name = m.opcode[:-1]
        value = compared(lanes, m, *pair) if name == "vset" else ARITHMETIC[name](lanes, *pair)
        if "sat" in m:
            value = saturate(lanes, value, into, bits)
        if "add" in m:
            result = b.add(result, value)
        else:
            value = b.and_(value, lanes.constant(I32, (1 << bits) - 1))
            result = b.or_(result, b.shl(value, lanes.constant(I32, bits * k)))
    return result


for _count in (2, 4):
    for _name in ARITHMETIC:
        operation(f"{_name}{_count}.{THREE}[.sat,.add]", "T0 = T1 T2 T0")(_simd)
    operation(f"vset{_count}.{WORD}.{WORD}.{{eq,ne,lt,le,gt,ge}}[.add]", "u32 = T0 T1 u32")(_simd)
