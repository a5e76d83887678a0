"""Moves: between registers, into and out of parts of a register, and between address spaces."""

from llvmlite import ir

from simtlab.isa.lanes import LANES, Lanes, bits_of, vector
from simtlab.isa.spaces import WINDOWS, space_of
from simtlab.isa.table import Modifiers, operation

TYPES = "{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}"
SPACES = "{global,shared,shared::cta,shared::cluster,local,const,param,param::entry}"


@operation(f"mov.{TYPES}", "T = T")
def mov(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return x


@operation("mov.pred", "P = P", raw=True)
def mov_predicate(lanes: Lanes, m: Modifiers) -> None:
    lanes.write_mask(0, lanes.read_mask(1))


# Parts of a register: PTX writes `mov.b64 d, {lo, hi}` and `mov.b64 {lo, hi}, a`. -------------------------------------


@operation("pack.{b32,b64}", "T = E…", raw=True)
def pack(lanes: Lanes, m: Modifiers) -> None:
    """`mov.b64 d, {lo, hi}`: two or four equal parts, the first lowest."""
    count = len(lanes.shape.kinds) - 1
    part = f"b{bits_of(m.type) // count}"
    values = [lanes.read(1 + k, part) for k in range(count)]
    while len(values) > 1:
        values = [interleave(lanes, low, high) for low, high in zip(values[::2], values[1::2], strict=True)]
    lanes.write(0, values[0], m.type)


def interleave(lanes: Lanes, low: ir.Value, high: ir.Value) -> ir.Value:
    """Lanes of twice the width from their lower and upper halves."""
    order = [lane + half for lane in range(LANES) for half in (0, LANES)]
    pairs = lanes.b.shuffle_vector(low, high, ir.Constant(ir.VectorType(ir.IntType(32), 2 * LANES), order))
    return lanes.b.bitcast(pairs, vector(ir.IntType(2 * low.type.element.width)))


@operation("unpack.{b32,b64}", "E… = T", raw=True)
def unpack(lanes: Lanes, m: Modifiers) -> None:
    """`mov.b64 {lo, hi}, a`: two or four equal parts, the first lowest; a part may be dropped."""
    count = len(lanes.shape.kinds) - 1
    whole, bits = lanes.read(count, m.type), bits_of(m.type) // count
    for k in range(count):
        part = lanes.b.trunc(lanes.b.lshr(whole, lanes.like(whole, k * bits)), vector(ir.IntType(bits)))
        lanes.write(k, part, f"b{bits}")


# Address spaces -------------------------------------------------------------------------------------------------------


@operation(f"cvta.{SPACES}.u64", "T = T")
def to_generic(lanes: Lanes, m: Modifiers, address: ir.Value) -> ir.Value:
    """An address of a space as a generic address: shared and local addresses move into their windows."""
    window = WINDOWS.get(space_of(m.parts[0]))
    return lanes.b.add(address, lanes.like(address, window[0])) if window else address


@operation(f"cvta.to.{SPACES}.u64", "T = T")
def from_generic(lanes: Lanes, m: Modifiers, address: ir.Value) -> ir.Value:
    """A generic address as an address of a space."""
    window = WINDOWS.get(space_of(m.parts[1]))
    return lanes.b.sub(address, lanes.like(address, window[0])) if window else address


@operation(f"isspacep.{SPACES}", "P = u64")
def is_in_space(lanes: Lanes, m: Modifiers, address: ir.Value) -> ir.Value:
    """Does a generic address lie in the space? Outside both windows it is global; never constant, never a parameter."""
    space = space_of(m.parts[0])
    if space in WINDOWS:
        return in_window(lanes, space, address)
    if space == "global":
        return lanes.b.not_(lanes.b.or_(in_window(lanes, "shared", address), in_window(lanes, "local", address)))
    return lanes.constant(ir.IntType(1), 0)


def in_window(lanes: Lanes, space: str, address: ir.Value) -> ir.Value:
    base, size = WINDOWS[space]
    return lanes.b.icmp_unsigned("<", lanes.b.sub(address, lanes.like(address, base)), lanes.like(address, size))
