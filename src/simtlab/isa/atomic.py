"""Atomic operations: lane after lane, lowest first, so that one order is the only one.

A lane's operation reads the old value, writes the new one, and gives the old one back. The window counts the operations
that changed memory (field `changes`): a warp that spins on a lock it does not get changes nothing. Its field `flushes`
says whether sums of f32 take subnormal numbers as zeros: an H200 does so in global memory and not in shared memory.
The elements of a vector are changed one by one: PTX promises each to be atomic, not all of them together.
"""

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from simtlab.isa.access import Access, memory_type, read_lane, write_lane
from simtlab.isa.lanes import F32, F64, I1, I16, I32, I64, Lanes
from simtlab.isa.rounding import FORMATS
from simtlab.isa.shape import ADDRESS, ADDRESS_64
from simtlab.isa.spaces import WINDOWS
from simtlab.isa.table import Modifiers, operation
from simtlab.isa.walk import each_lane, mark_nothing

ORDER = "[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys][.global,.shared,.shared::cta,.shared::cluster]"
SCOPE_LAST = "[.cta,.cluster,.gpu,.sys]"  # where older compilers write it
ARITHMETIC = "{.and.b32,.and.b64,.or.b32,.or.b64,.xor.b32,.xor.b64,.add.u32,.add.s32,.add.u64,.add.s64,.add.f32,.add.f64,.inc.u32,.dec.u32,.min.u32,.min.s32,.min.u64,.min.s64,.max.u32,.max.s32,.max.u64,.max.s64}"  # noqa: E501
LATE = "[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys][.global,.shared]"  # order after the operation
LATE_FORMS = (
    f"{{.and,.or,.xor}}{LATE}.{{b32,b64}}",
    f"{{.min,.max}}{LATE}.{{u32,s32,u64,s64}}",
    f".add{LATE}.{{u32,s32,u64,s64,f32,f64}}",
)
HALVES = ".add.noftz.{f16,f16x2,bf16,bf16x2}"
VECTOR_ORDER = "[.relaxed,.acquire,.release,.acq_rel][.cta,.cluster,.gpu,.sys][.global]"
VECTORS = (  # in the order that PTX's grammar has, and in that of its examples
    ".add.{v2,v4}.f32",
    "{.add,.min,.max}.noftz.{v2,v4,v8}.{f16,bf16}",
    "{.add,.min,.max}.noftz.{v2,v4}.{f16x2,bf16x2}",
    ".{v2,v4}.f32.add",
    ".{v2,v4,v8}.{f16,bf16}{.add,.min,.max}.noftz",
    ".{v2,v4}.{f16x2,bf16x2}{.add,.min,.max}.noftz",
)
CHANGES_FIELD, FLUSHES_FIELD = 5, 6  # of the window


@operation(f"atom{ORDER}{SCOPE_LAST}{ARITHMETIC}", "T = M T", raw=True, action="atomic")
@operation(f"atom{LATE_FORMS[0]}", "T = M T", raw=True, action="atomic")
@operation(f"atom{LATE_FORMS[1]}", "T = M T", raw=True, action="atomic")
@operation(f"atom{LATE_FORMS[2]}", "T = M T", raw=True, action="atomic")
@operation(f"atom{ORDER}{SCOPE_LAST}{HALVES}", "T = M T", raw=True, action="atomic")
@operation(f"atom{ORDER}{SCOPE_LAST}.exch.{{b32,b64}}", "T = M T", raw=True, action="atomic")
@operation(f"atom.exch{LATE}.{{b32,b64}}", "T = M T", raw=True, action="atomic")
@operation(f"atom{ORDER}{SCOPE_LAST}.cas.{{b16,b32,b64}}", "T = M T T", raw=True, action="atomic")
@operation(f"atom.cas{LATE}.{{b16,b32,b64}}", "T = M T T", raw=True, action="atomic")
def atom(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Read, change and write one place without interruption; gives the old value."""
    return each_atomic(lanes, m, destination=0, address=m.lanes_per_access)


@operation(f"red{ORDER}{SCOPE_LAST}{ARITHMETIC}", "= M T", raw=True, action="atomic")
@operation(f"red{LATE_FORMS[0]}", "= M T", raw=True, action="atomic")
@operation(f"red{LATE_FORMS[1]}", "= M T", raw=True, action="atomic")
@operation(f"red{LATE_FORMS[2]}", "= M T", raw=True, action="atomic")
@operation(f"red{ORDER}{SCOPE_LAST}{HALVES}", "= M T", raw=True, action="atomic")
def red(lanes: Lanes, m: Modifiers) -> ir.Value:
    """An atomic operation whose old value nobody wants."""
    return each_atomic(lanes, m, destination=None, address=0)


for _form in VECTORS:
    operation(f"atom{VECTOR_ORDER}{_form}", "V = M V", raw=True, action="atomic")(atom)
    operation(f"red{VECTOR_ORDER}{_form}", "= M V", raw=True, action="atomic")(red)


def each_atomic(
    lanes: Lanes, m: Modifiers, destination: int | None, address: int, told: int | None = None, elsewhere: tuple[str, ...] = ()
) -> ir.Value:
    """Lane after lane. In machine code a predicate, operand `told`, says where it was done: not in the spaces `elsewhere`."""
    b, type, count = lanes.b, memory_type(m.type), m.lanes_per_access
    access = Access(lanes, address, count * type.width // 8)
    failed, done = mark_nothing(lanes), mark_nothing(lanes)
    changes = b.gep(b.bitcast(lanes.context, I64.as_pointer()), [I32(CHANGES_FIELD)])
    with each_lane(lanes, lanes.mask, failed) as walk:
        offset = access.offset(walk)
        with b.if_else(access.allowed(offset), likely=True) as (inside, outside):
            with inside:
                end = len(lanes.shape.kinds.rstrip(ADDRESS + ADDRESS_64))
                given = [read_lane(lanes, k, walk, type) for k in range(address + 2, end)]
                for part in range(count):
                    place = access.place(offset, walk, part, type)
                    old = b.load(place)
                    new = _combine(lanes, m, old, given[part : part + 1] if count > 1 else given)
                    b.store(new, place)
                    changed = b.zext(b.icmp_unsigned("!=", old, new), I64)
                    b.store(b.add(b.load(changes), changed), changes)
                    if destination is not None:
                        write_lane(lanes, destination + part, walk, old, m.type)
                b.store(b.or_(b.load(done), walk.bit), done)
            with outside, b.if_then(b.not_(_is_in(b, elsewhere, b.add(offset, access.window.first)))):
                walk.mark(lanes)
    if told is not None:
        lanes.write_mask(told, b.load(done))
    return b.load(failed)


def _is_in(b: ir.IRBuilder, spaces: tuple[str, ...], address: ir.Value) -> ir.Value:
    """Whether a generic address lies in one of some spaces."""
    found = I1(0)
    for base, size in (WINDOWS[space] for space in spaces):
        found = b.or_(found, b.icmp_unsigned("<", b.sub(address, I64(base)), I64(size)))
    return found


def _combine(lanes: Lanes, m: Modifiers, old: ir.Value, operands: list[ir.Value]) -> ir.Value:
    """The value an atomic leaves behind."""
    b, x = lanes.b, operands[0]
    name = m.first_of("and", "or", "xor", "add", "inc", "dec", "min", "max", "exch", "cas")
    if name == "exch":
        return x
    if name == "cas":
        return b.select(b.icmp_unsigned("==", old, x), operands[1], old)
    if name in ("and", "or", "xor"):
        return {"and": b.and_, "or": b.or_, "xor": b.xor}[name](old, x)
    if name == "inc":
        return b.select(b.icmp_unsigned(">=", old, x), I32(0), b.add(old, I32(1)))
    if name == "dec":
        wraps = b.or_(b.icmp_unsigned("==", old, I32(0)), b.icmp_unsigned(">", old, x))
        return b.select(wraps, x, b.sub(old, I32(1)))
    if name in ("min", "max") and m.type[0] in "fb":
        infinity = FORMATS[m.type.removesuffix("x2")].infinity
        return _each_half(b, m.type, partial(_extremum, infinity, name == "max"), old, x)
    if name in ("min", "max"):
        compare = b.icmp_signed if m.type[0] == "s" else b.icmp_unsigned
        return b.select(compare("<" if name == "min" else ">", old, x), old, x)
    return _add(lanes, m.type, old, x)


def _add(lanes: Lanes, type: str, old: ir.Value, x: ir.Value) -> ir.Value:
    b = lanes.b
    if type == "f32":
        flushes = b.load(b.gep(b.bitcast(lanes.context, I64.as_pointer()), [I32(FLUSHES_FIELD)]))
        flush = b.icmp_unsigned("!=", flushes, I64(0))
        total = b.fadd(b.bitcast(_flushed(b, old, flush), F32), b.bitcast(_flushed(b, x, flush), F32))
        bits = _flushed(b, b.bitcast(total, I32), flush)
        return b.select(b.fcmp_unordered("uno", total, total), I32(0x7FFFFFFF), bits)
    if type == "f64":
        return _add_f64(b, old, x)
    if type in ("f16", "f16x2", "bf16", "bf16x2"):
        return _each_half(b, type, _add_f16 if type[0] == "f" else _add_bf16, old, x)
    return b.add(old, x)


def _flushed(b: ir.IRBuilder, bits: ir.Value, flush: ir.Value) -> ir.Value:
    """A subnormal f32 as zero of its sign, if `flush` holds."""
    small = b.icmp_unsigned("==", b.and_(bits, I32(0x7F800000)), I32(0))
    return b.select(b.and_(small, flush), b.and_(bits, I32(0x80000000)), bits)


def _add_f64(b: ir.IRBuilder, old: ir.Value, x: ir.Value) -> ir.Value:
    """f64 keeps an operand's NaN, made quiet, and makes 0xfff8… of an invalid operation, as `add.f64` does."""
    left, right = b.bitcast(old, F64), b.bitcast(x, F64)
    total = b.fadd(left, right)
    quiet = I64(0x0008000000000000)
    result = b.select(b.fcmp_unordered("uno", total, total), I64(0xFFF8000000000000), b.bitcast(total, I64))
    result = b.select(b.fcmp_unordered("uno", right, right), b.or_(x, quiet), result)
    return b.select(b.fcmp_unordered("uno", left, left), b.or_(old, quiet), result)


def _each_half(b: ir.IRBuilder, type: str, build: Callable[..., ir.Value], old: ir.Value, x: ir.Value) -> ir.Value:
    """`build(b, old, x)` of a half, or of both halves of a pair."""
    if not type.endswith("x2"):
        return build(b, old, x)
    low = build(b, b.trunc(old, I16), b.trunc(x, I16))
    high = build(b, b.trunc(b.lshr(old, I32(16)), I16), b.trunc(b.lshr(x, I32(16)), I16))
    return b.or_(b.zext(low, I32), b.shl(b.zext(high, I32), I32(16)))


def _add_f16(b: ir.IRBuilder, old: ir.Value, x: ir.Value) -> ir.Value:
    """Half precision by way of f32, whose 24 bits make the second rounding harmless (24 ≥ 2·11 + 2)."""
    half = ir.HalfType()
    total = b.fadd(b.fpext(b.bitcast(old, half), F32), b.fpext(b.bitcast(x, half), F32))
    bits = b.bitcast(b.fptrunc(total, half), I16)
    return b.select(b.fcmp_unordered("uno", total, total), I16(0x7FFF), bits)


def _add_bf16(b: ir.IRBuilder, old: ir.Value, x: ir.Value) -> ir.Value:
    """bf16 is the upper half of an f32; the sum there is rounded to it once more, to nearest even, without harm."""
    left, right = (b.bitcast(b.shl(b.zext(value, I32), I32(16)), F32) for value in (old, x))
    total = b.fadd(left, right)
    bits = b.bitcast(total, I32)
    odd = b.and_(b.lshr(bits, I32(16)), I32(1))
    rounded = b.trunc(b.lshr(b.add(bits, b.add(odd, I32(0x7FFF))), I32(16)), I16)
    return b.select(b.fcmp_unordered("uno", total, total), I16(0x7FFF), rounded)


def _extremum(infinity: int, largest: bool, b: ir.IRBuilder, old: ir.Value, x: ir.Value) -> ir.Value:
    """The larger or the smaller of two halves; the number where one is a NaN; -0 is below +0."""

    def is_nan(value: ir.Value) -> ir.Value:
        return b.icmp_unsigned(">", b.and_(value, I16(0x7FFF)), I16(infinity))

    def rank(value: ir.Value) -> ir.Value:
        return b.xor(value, b.and_(b.ashr(value, I16(15)), I16(0x7FFF)))

    result = b.select(b.icmp_signed(">" if largest else "<", rank(old), rank(x)), old, x)
    result = b.select(is_nan(old), x, b.select(is_nan(x), old, result))
    return b.select(is_nan(result), I16(0x7FFF), result)
