"""A loop over the lanes of a mask, lowest first: for what cannot be done to 32 lanes at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir

from simtlab.isa.lanes import I1, I32, I64, Lanes


@dataclass
class Walk:
    """The loop's body: the lane's number (32 and 64 bits) and the lanes marked so far."""

    lane: ir.Value
    lane_64: ir.Value
    bit: ir.Value
    marked: ir.Value  # a pointer to the mask of marked lanes

    def mark(self, lanes: Lanes) -> None:
        """Add this lane to the marked ones."""
        lanes.b.store(lanes.b.or_(lanes.b.load(self.marked), self.bit), self.marked)


@contextmanager
def each_lane(lanes: Lanes, mask: ir.Value, marked: ir.Value | None = None) -> Iterator[Walk]:
    """`with each_lane(lanes, mask) as walk:` builds the body once; it runs for every set bit of the mask."""
    b = lanes.b
    head, body, done = (lanes.function.append_basic_block(name) for name in ("walk", "lane", "walked"))
    if marked is None:
        marked = mark_nothing(lanes)
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    left = b.phi(I32)
    left.add_incoming(mask, before)
    b.cbranch(b.icmp_unsigned("==", left, I32(0)), done, body)
    b.position_at_end(body)
    number = lanes.call("llvm.cttz.i32", I32, [left, I1(1)])
    rest = b.and_(left, b.sub(left, I32(1)))
    yield Walk(number, b.zext(number, I64), b.shl(I32(1), number), marked)
    left.add_incoming(rest, b.block)
    b.branch(head)
    b.position_at_end(done)


def mark_nothing(lanes: Lanes) -> ir.Value:
    """A fresh mask of marked lanes, empty, on the function's stack."""
    with lanes.b.goto_entry_block():
        place = lanes.b.alloca(I32)
    lanes.b.store(I32(0), place)
    return place
