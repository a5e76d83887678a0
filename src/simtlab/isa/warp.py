"""Operations across the lanes of a warp: shuffles, votes, matches, reductions."""

from llvmlite import ir

from simtlab.isa.access import read_lane
from simtlab.isa.lanes import I1, I32, LANES, Lanes, vector
from simtlab.isa.shape import ABSENT, IMMEDIATE
from simtlab.isa.table import Modifiers, operation
from simtlab.isa.walk import each_lane

LANE_NUMBERS = ir.Constant(vector(I32), list(range(LANES)))


def first_lane(lanes: Lanes) -> ir.Value:
    return lanes.call("llvm.cttz.i32", I32, [lanes.mask, I1(0)])


def participants(lanes: Lanes, k: int) -> ir.Value:
    """The lanes that take part: the active ones that the membermask, operand k, names (all active ones without it)."""
    kinds = lanes.shape.kinds
    if k >= len(kinds) or kinds[k] == ABSENT:
        return lanes.mask
    if kinds[k] == IMMEDIATE:
        return lanes.b.and_(lanes.mask, lanes.read_scalar(k, "b32"))
    named = lanes.b.extract_element(lanes.read(k, "b32"), lanes.b.and_(first_lane(lanes), I32(31)))
    return lanes.b.and_(lanes.mask, named)


@operation("shfl{.up,.down,.bfly,.idx}.b32", "b32|P? = b32 b32 b32", raw=True)
@operation("shfl.sync{.up,.down,.bfly,.idx}.b32", "b32|P? = b32 b32 b32 b32", raw=True)
def shfl(lanes: Lanes, m: Modifiers) -> None:
    """Read a register of another lane in the segment; out of range gives the lane's own value and a false predicate."""
    b = lanes.b
    value, step, bounds = (lanes.read(k, "b32") for k in (2, 3, 4))
    with b.goto_entry_block():
        copy = b.alloca(vector(I32))
    b.store(value, copy, align=16)
    low_bits, segment = lanes.constant(I32, 31), b.and_(b.lshr(bounds, lanes.constant(I32, 8)), lanes.constant(I32, 31))
    step, clamp, outside = b.and_(step, low_bits), b.and_(bounds, low_bits), b.not_(segment)
    last = b.or_(b.and_(LANE_NUMBERS, segment), b.and_(clamp, outside))
    wanted = {
        "up": lambda: b.sub(LANE_NUMBERS, step),
        "down": lambda: b.add(LANE_NUMBERS, step),
        "bfly": lambda: b.xor(LANE_NUMBERS, step),
        "idx": lambda: b.or_(b.and_(LANE_NUMBERS, segment), b.and_(step, outside)),
    }[m.first_of("up", "down", "bfly", "idx") or ""]()
    inside = b.icmp_signed(">=" if "up" in m else "<=", wanted, last)
    source = b.and_(b.select(inside, wanted, LANE_NUMBERS), low_bits)
    elements = b.bitcast(copy, I32.as_pointer())
    result = ir.Constant(vector(I32), ir.Undefined)
    for lane in range(LANES):
        taken = b.load(b.gep(elements, [b.extract_element(source, I32(lane))]))
        result = b.insert_element(result, taken, I32(lane))
    lanes.write(0, result, "b32")
    lanes.write(1, inside, "pred")


@operation("vote[.sync]{.all,.any,.uni}.pred", "P = P b32?", raw=True)
def vote(lanes: Lanes, m: Modifiers) -> None:
    """Whether all, any, or equally many of none and all of the participating lanes hold the predicate."""
    b = lanes.b
    taking = participants(lanes, 2)
    holding = b.and_(lanes.compress(lanes.read(1, "pred")), taking)
    every, none = b.icmp_unsigned("==", holding, taking), b.icmp_unsigned("==", holding, I32(0))
    result = {"all": every, "any": b.not_(none), "uni": b.or_(every, none)}[m.first_of("all", "any", "uni") or ""]
    lanes.write(0, lanes.splat(result), "pred")


@operation("vote[.sync].ballot.b32", "b32 = P b32?", raw=True)
@operation("vote.ballot.sync.b32", "b32 = P b32?", raw=True)
def ballot(lanes: Lanes, m: Modifiers) -> None:
    """The mask of participating lanes that hold the predicate."""
    holding = lanes.b.and_(lanes.compress(lanes.read(1, "pred")), participants(lanes, 2))
    lanes.write(0, lanes.splat(holding), "b32")


@operation("activemask.b32", "b32 =", raw=True)
def activemask(lanes: Lanes, m: Modifiers) -> None:
    """The mask of active lanes."""
    lanes.write(0, lanes.splat(lanes.mask), "b32")


@operation("match.any.sync.{b32,b64}", "b32 = T b32", raw=True)
def match_any(lanes: Lanes, m: Modifiers) -> None:
    """For each lane, the mask of participating lanes with the same value."""
    b = lanes.b
    taking = participants(lanes, 2)
    value = lanes.read(1, m.type)
    result = lanes.constant(I32, 0)
    for lane in range(LANES):
        same = b.icmp_unsigned("==", value, lanes.splat(b.extract_element(value, I32(lane))))
        mask = lanes.splat(b.and_(taking, I32(1 << lane)))
        result = b.or_(result, b.select(same, mask, lanes.constant(I32, 0)))
    lanes.write(0, result, "b32")


@operation("match.all.sync.{b32,b64}", "b32|P? = T b32", raw=True)
def match_all(lanes: Lanes, m: Modifiers) -> None:
    """The membermask and true if all participating lanes have one value, else 0 and false."""
    b = lanes.b
    taking = participants(lanes, 3)
    value = lanes.read(2, m.type)
    first = lanes.splat(b.extract_element(value, b.and_(first_lane(lanes), I32(31))))
    same = lanes.compress(b.icmp_unsigned("==", value, first))
    agreed = b.icmp_unsigned("==", b.and_(same, taking), taking)
    lanes.write(0, lanes.splat(b.select(agreed, taking, I32(0))), "b32")
    lanes.write(1, lanes.splat(agreed), "pred")


@operation("redux.sync{.add,.min,.max}.{u32,s32}", "T = T b32", raw=True)
@operation("redux.sync{.and,.or,.xor}.b32", "T = T b32", raw=True)
def redux(lanes: Lanes, m: Modifiers) -> None:
    """One value combined over the participating lanes, given to all of them."""
    b = lanes.b
    name = m.first_of("add", "min", "max", "and", "or", "xor") or ""
    signed = m.type == "s32"
    neutral = {"and": 0xFFFFFFFF, "min": 0x7FFFFFFF if signed else 0xFFFFFFFF, "max": 1 << 31 if signed else 0}
    with b.goto_entry_block():
        total = b.alloca(I32)
    b.store(I32(neutral.get(name, 0)), total)
    with each_lane(lanes, participants(lanes, 2)) as walk:
        held, value = b.load(total), read_lane(lanes, 1, walk, I32)
        if name in ("min", "max"):
            compare = b.icmp_signed if signed else b.icmp_unsigned
            new = b.select(compare("<" if name == "min" else ">", held, value), held, value)
        else:
            new = {"add": b.add, "and": b.and_, "or": b.or_, "xor": b.xor}[name](held, value)
        b.store(new, total)
    lanes.write(0, lanes.splat(b.load(total)), m.type)


@operation("elect.sync", "b32|P = b32", raw=True)
def elect(lanes: Lanes, m: Modifiers) -> None:
    """Choose the lowest participating lane: its number for all, true for itself."""
    b = lanes.b
    leader = lanes.call("llvm.cttz.i32", I32, [participants(lanes, 2), I1(0)])
    lanes.write(0, lanes.splat(leader), "b32")
    lanes.write(1, b.icmp_unsigned("==", LANE_NUMBERS, lanes.splat(leader)), "pred")
