"""What machine code does to memory and PTX does not: constants by an index, atomics that tell whether they were done."""

from llvmlite import ir

from simtlab.isa import move
from simtlab.isa.access import Access, memory_type, read_lane, write_lane
from simtlab.isa.atomic import each_atomic
from simtlab.isa.lanes import I32, I64, Lanes
from simtlab.isa.shape import ADDRESS, ADDRESS_64, PREDICATE, SCALAR, SINK, WORD
from simtlab.isa.table import Modifiers, operation
from simtlab.isa.walk import each_lane, mark_nothing

SPACES = {"S": "shared", "L": "local", "G": "global"}
NOT_IN_SHARED_MEMORY = "{.and.b64,.or.b64,.xor.b64,.add.u64,.min.u64,.min.s64,.max.u64,.max.s64,.add.f32,.add.f64}"
CHANGES_FIELD = 5  # of the window: atomics that changed memory


@operation("LDC[.v2,.v4].{u8,s8,u16,s16,b32}", "V = u32 u32 u32 u32", raw=True)
def load_indexed_constant(lanes: Lanes, m: Modifiers) -> None:
    """Words of a constant bank at an index of each lane; 0 beyond its end. Sources: index, offset, the bank's start and length."""
    b, type, count = lanes.b, memory_type(m.type), m.lanes_per_access
    banks = b.load(b.bitcast(lanes.context, I64.as_pointer()))
    offset, start, length = (lanes.raw_operand(count + k) for k in (1, 2, 3))
    size = type.width // 8
    if lanes.shape.kinds[0] in (SCALAR, SINK) and lanes.shape.kinds[count] != WORD:
        index = b.zext(b.add(lanes.read_scalar(count, "u32"), b.trunc(offset, I32)), I64)
        inside = b.icmp_unsigned("<=", b.add(index, I64(count * size)), length)
        at = b.add(b.add(banks, start), b.select(inside, index, I64(0)))
        for part in range(count):
            value = b.load(b.inttoptr(b.add(at, I64(part * size)), type.as_pointer()), align=1)
            lanes.write_scalar(part, b.select(inside, value, type(0)), m.type)
        return
    with each_lane(lanes, lanes.mask) as walk:
        index = b.zext(b.add(read_lane(lanes, count, walk, I32), b.trunc(offset, I32)), I64)
        inside = b.icmp_unsigned("<=", b.add(index, I64(count * size)), length)
        at = b.add(b.add(banks, start), b.select(inside, index, I64(0)))
        for part in range(count):
            value = b.load(b.inttoptr(b.add(at, I64(part * size)), type.as_pointer()), align=1)
            write_lane(lanes, part, walk, b.select(inside, value, type(0)), m.type)


@operation("CAST.{b32,b64}", "T = M T T", raw=True, action="atomic")
@operation("CAST.P.{b32,b64}", "P = M T T", raw=True, action="atomic")
def compare_swap_tell(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Compare and swap; 1 where it swapped, else 0."""
    b, type, swapped = lanes.b, memory_type(m.type), mark_nothing(lanes)
    access = Access(lanes, 1, type.width // 8)
    failed = mark_nothing(lanes)
    changes = b.gep(b.bitcast(lanes.context, I64.as_pointer()), [I32(CHANGES_FIELD)])
    end = len(lanes.shape.kinds.rstrip(ADDRESS + ADDRESS_64))
    with each_lane(lanes, lanes.mask, failed) as walk:
        offset = access.offset(walk)
        with b.if_else(access.allowed(offset), likely=True) as (inside, outside):
            with inside:
                expected, new = (read_lane(lanes, k, walk, type) for k in range(3, end))
                place = access.place(offset, walk, 0, type)
                old = b.load(place)
                same = b.icmp_unsigned("==", old, expected)
                b.store(b.select(same, new, old), place)
                b.store(b.add(b.load(changes), b.zext(same, I64)), changes)
                if lanes.shape.kinds[0] == PREDICATE:
                    b.store(b.or_(b.load(swapped), b.select(same, walk.bit, I32(0))), swapped)
                else:
                    write_lane(lanes, 0, walk, b.zext(same, type), m.type)
            with outside:
                walk.mark(lanes)
    if lanes.shape.kinds[0] == PREDICATE:
        lanes.write_mask(0, b.load(swapped))
    return b.load(failed)


@operation(f"ATOM.G{NOT_IN_SHARED_MEMORY}", "P T = M T", raw=True, action="atomic")
@operation("ATOM.G.add.noftz.{f16x2,bf16x2}", "P T = M T", raw=True, action="atomic")
def in_global_memory(lanes: Lanes, m: Modifiers) -> ir.Value:
    """An atomic at a generic address, done where it is global; 1 there, else 0: what follows sees to the other lanes."""
    return each_atomic(lanes, m, destination=1, address=2, told=0, elsewhere=("shared", "local"))


@operation("ATOM.GS.exch.b64", "P T = M T", raw=True, action="atomic")
@operation("ATOM.GS.cas.b64", "P T = M T T", raw=True, action="atomic")
def in_global_or_shared_memory(lanes: Lanes, m: Modifiers) -> ir.Value:
    """An atomic at a generic address, done where it is not local; 1 there, else 0. Shared memory can do these by itself."""
    return each_atomic(lanes, m, destination=1, address=2, told=0, elsewhere=("local",))


@operation("ATOM{.min,.max}.noftz.{f16x2,bf16x2}", "T = M T", raw=True, action="atomic")
def atomic_bound(lanes: Lanes, m: Modifiers) -> ir.Value:
    """The lesser or greater of two halves and those in memory; gives the old ones."""
    return each_atomic(lanes, m, destination=0, address=1)


@operation("RED{.min,.max}.noftz.{f16x2,bf16x2}", "= M T", raw=True, action="atomic")
def reduce_bound(lanes: Lanes, m: Modifiers) -> ir.Value:
    """The same where nobody wants the old ones."""
    return each_atomic(lanes, m, destination=None, address=0)


@operation("QSPC{.S,.L,.G}", "P = u64 u64 u64")
def is_in_space(lanes: Lanes, m: Modifiers, base: ir.Value, offset: ir.Value, uniform: ir.Value) -> ir.Value:
    """Whether the sum of an address's parts is a generic address of shared, local or global memory."""
    spelling = Modifiers(f"isspacep.{SPACES[m.parts[0]]}")
    return move.is_in_space(lanes, spelling, lanes.b.add(lanes.b.add(base, offset), uniform))
