"""Operations across the lanes of a warp: shuffles, votes, matches, reductions.

A lane takes part with the active lanes that its membermask names: each lane has a membermask of its own, as tiles of a
warp do that shuffle or vote side by side. Lanes that it names and that are not active are left out. On an H200 a lane
that its own membermask does not name is an illegal instruction; the native function gives back the mask of such lanes,
and the executor reports them. All of this was recorded (`tests/data/hardware/warp_operations.npz`).
"""

from llvmlite import ir

from simtlab.isa.access import read_lane
from simtlab.isa.lanes import FULL_MASK, I1, I32, LANES, Lanes, vector
from simtlab.isa.shape import ABSENT, IMMEDIATE
from simtlab.isa.table import Modifiers, operation
from simtlab.isa.walk import each_lane

LANE_NUMBERS = ir.Constant(vector(I32), list(range(LANES)))


# Who takes part -------------------------------------------------------------------------------------------------------


class Members:
    """The membermask of an instruction, operand k: a number where it is the same in every lane, else one for each lane."""

    def __init__(self, lanes: Lanes, k: int):
        self.lanes = lanes
        kinds = lanes.shape.kinds
        if k >= len(kinds) or kinds[k] == ABSENT:
            self.named = I32(FULL_MASK)
        elif kinds[k] == IMMEDIATE:
            self.named = lanes.read_scalar(k, "b32")
        else:
            self.named = lanes.read(k, "b32")
        self.one_for_all = not isinstance(self.named.type, ir.VectorType)
        self.taking = lanes.b.and_(self.alike(lanes.mask), self.named)  # the active lanes among them

    def alike(self, number: ir.Value) -> ir.Value:
        """A 32-bit number in the form that the membermask has: as it is, or in every lane."""
        return number if self.one_for_all else self.lanes.splat(number)

    def spread(self, value: ir.Value) -> ir.Value:
        """A result in that form as one for each lane."""
        return self.lanes.splat(value) if self.one_for_all else value

    def outside(self) -> ir.Value:
        """The active lanes that their own membermask does not name."""
        lanes, b = self.lanes, self.lanes.b
        if self.one_for_all:
            return b.and_(lanes.mask, b.not_(self.named))
        own = ir.Constant(vector(I32), [1 << lane for lane in range(LANES)])
        named = b.icmp_unsigned("!=", b.and_(self.named, own), lanes.constant(I32, 0))
        return b.and_(lanes.mask, b.not_(lanes.compress(named)))

    def lowest(self) -> ir.Value:
        """The lowest lane that takes part; 32 where there is none."""
        intrinsic = "llvm.cttz.i32" if self.one_for_all else "llvm.cttz.v32i32"
        return self.lanes.call(intrinsic, self.taking.type, [self.taking, I1(0)])


def room_for_lanes(lanes: Lanes) -> ir.Value:
    """A word for each lane on the function's stack."""
    with lanes.b.goto_entry_block():
        return lanes.b.alloca(vector(I32))


def gather(lanes: Lanes, held: ir.Value, source: ir.Value) -> ir.Value:
    """For each lane, the word of the lane that `source` names."""
    b = lanes.b
    words = b.bitcast(held, I32.as_pointer())
    result = ir.Constant(vector(I32), ir.Undefined)
    for lane in range(LANES):
        taken = b.load(b.gep(words, [b.extract_element(source, I32(lane))]))
        result = b.insert_element(result, taken, I32(lane))
    return result


# Shuffles -------------------------------------------------------------------------------------------------------------


@operation("shfl{.up,.down,.bfly,.idx}.b32", "b32|P? = b32 b32 b32", raw=True)
@operation("shfl.sync{.up,.down,.bfly,.idx}.b32", "b32|P? = b32 b32 b32 b32", raw=True)
def shfl(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Read a register of another lane in the segment; out of range gives the lane's own value and a false predicate.

    A lane that takes no part (inactive, or not in the membermask) gives 0.
    """
    b, members = lanes.b, Members(lanes, 5)
    value, step, bounds = (lanes.read(k, "b32") for k in (2, 3, 4))
    held = room_for_lanes(lanes)
    b.store(value, held, align=16)
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
    lanes.write(0, present(lanes, members, source, gather(lanes, held, source)), "b32")
    lanes.write(1, inside, "pred")
    return members.outside()


def present(lanes: Lanes, members: Members, source: ir.Value, value: ir.Value) -> ir.Value:
    """What came from lanes that take part; 0 from the others."""
    b = lanes.b
    taking = b.lshr(members.spread(members.taking), source)
    there = b.icmp_unsigned("!=", b.and_(taking, lanes.constant(I32, 1)), lanes.constant(I32, 0))
    return b.select(there, value, lanes.constant(I32, 0))


# Votes and matches ----------------------------------------------------------------------------------------------------


@operation("vote[.sync]{.all,.any,.uni}.pred", "P = P b32?", raw=True)
def vote(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Whether all, any, or equally many of none and all of the participating lanes hold the predicate."""
    b, members = lanes.b, Members(lanes, 2)
    holding = b.and_(members.alike(lanes.compress(lanes.read(1, "pred"))), members.taking)
    every, none = b.icmp_unsigned("==", holding, members.taking), b.icmp_unsigned("==", holding, members.alike(I32(0)))
    result = {"all": every, "any": b.not_(none), "uni": b.or_(every, none)}[m.first_of("all", "any", "uni") or ""]
    lanes.write(0, members.spread(result), "pred")
    return members.outside()


@operation("vote[.sync].ballot.b32", "b32 = P b32?", raw=True)
@operation("vote.ballot.sync.b32", "b32 = P b32?", raw=True)
def ballot(lanes: Lanes, m: Modifiers) -> ir.Value:
    """The mask of participating lanes that hold the predicate."""
    members = Members(lanes, 2)
    holding = lanes.b.and_(members.alike(lanes.compress(lanes.read(1, "pred"))), members.taking)
    lanes.write(0, members.spread(holding), "b32")
    return members.outside()


@operation("activemask.b32", "b32 =", raw=True)
def activemask(lanes: Lanes, m: Modifiers) -> None:
    """The mask of active lanes."""
    lanes.write(0, lanes.splat(lanes.mask), "b32")


@operation("match.any.sync.{b32,b64}", "b32 = T b32", raw=True)
def match_any(lanes: Lanes, m: Modifiers) -> ir.Value:
    """For each lane, the mask of participating lanes with the same value."""
    members = Members(lanes, 2)
    same = lanes_with_the_same(lanes, lanes.read(1, m.type))
    lanes.write(0, lanes.b.and_(same, members.spread(members.taking)), "b32")
    return members.outside()


@operation("match.all.sync.{b32,b64}", "b32|P? = T b32", raw=True)
def match_all(lanes: Lanes, m: Modifiers) -> ir.Value:
    """The participating lanes and true if all of them have one value, else 0 and false."""
    b, members, value = lanes.b, Members(lanes, 3), lanes.read(2, m.type)
    if members.one_for_all:
        lowest = b.extract_element(value, b.and_(members.lowest(), I32(31)))
        same = lanes.compress(b.icmp_unsigned("==", value, lanes.splat(lowest)))
    else:
        same = lanes_with_the_same(lanes, value)
    agreed = b.icmp_unsigned("==", b.and_(same, members.taking), members.taking)
    lanes.write(0, members.spread(b.select(agreed, members.taking, members.alike(I32(0)))), "b32")
    lanes.write(1, members.spread(agreed), "pred")
    return members.outside()


def lanes_with_the_same(lanes: Lanes, value: ir.Value) -> ir.Value:
    """For each lane, the mask of all lanes with its value."""
    b, result = lanes.b, lanes.constant(I32, 0)
    for lane in range(LANES):
        same = b.icmp_unsigned("==", value, lanes.splat(b.extract_element(value, I32(lane))))
        result = b.or_(result, b.select(same, lanes.constant(I32, 1 << lane), lanes.constant(I32, 0)))
    return result


# Reductions and elections ---------------------------------------------------------------------------------------------


@operation("redux.sync{.add,.min,.max}.{u32,s32}", "T = T b32", raw=True)
@operation("redux.sync{.and,.or,.xor}.b32", "T = T b32", raw=True)
def redux(lanes: Lanes, m: Modifiers) -> ir.Value:
    """One value combined over the participating lanes, given to all of them."""
    b, members = lanes.b, Members(lanes, 2)
    if members.one_for_all:
        lanes.write(0, lanes.splat(combined(lanes, m, members.taking)), m.type)
        return members.outside()
    lowest = b.and_(members.lowest(), lanes.constant(I32, 31))
    groups, totals = room_for_lanes(lanes), room_for_lanes(lanes)
    b.store(members.taking, groups, align=16)
    leads = b.icmp_unsigned("==", lowest, LANE_NUMBERS)
    with each_lane(lanes, b.and_(lanes.mask, lanes.compress(leads))) as walk:
        group, total = (b.gep(b.bitcast(words, I32.as_pointer()), [walk.lane]) for words in (groups, totals))
        b.store(combined(lanes, m, b.load(group)), total)
    lanes.write(0, gather(lanes, totals, lowest), m.type)
    return members.outside()


def combined(lanes: Lanes, m: Modifiers, mask: ir.Value) -> ir.Value:
    """The values of operand 1 in the lanes of a mask as one."""
    b = lanes.b
    name = m.first_of("add", "min", "max", "and", "or", "xor") or ""
    signed = m.type == "s32"
    neutral = {"and": 0xFFFFFFFF, "min": 0x7FFFFFFF if signed else 0xFFFFFFFF, "max": 1 << 31 if signed else 0}
    with b.goto_entry_block():
        total = b.alloca(I32)
    b.store(I32(neutral.get(name, 0)), total)
    with each_lane(lanes, mask) as walk:
        held, value = b.load(total), read_lane(lanes, 1, walk, I32)
        if name in ("min", "max"):
            compare = b.icmp_signed if signed else b.icmp_unsigned
            new = b.select(compare("<" if name == "min" else ">", held, value), held, value)
        else:
            new = {"add": b.add, "and": b.and_, "or": b.or_, "xor": b.xor}[name](held, value)
        b.store(new, total)
    return b.load(total)


@operation("elect.sync", "b32|P = b32", raw=True)
def elect(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Choose the lowest participating lane: its number for all, true for itself."""
    members = Members(lanes, 2)
    leader = members.spread(members.lowest())
    lanes.write(0, leader, "b32")
    lanes.write(1, lanes.b.icmp_unsigned("==", LANE_NUMBERS, leader), "pred")
    return members.outside()


@operation("bar.warp.sync", "= b32", raw=True, action="warp barrier")
def bar_warp_sync(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Wait for the lanes of the membermask. Lanes that are together stay together: there is nothing to wait for."""
    return Members(lanes, 0).outside()
