"""Bitwise logic on registers and on predicates. Predicates are lane masks, so theirs is one scalar operation a warp."""

from llvmlite import ir

from simtlab.isa.lanes import Lanes
from simtlab.isa.table import Modifiers, operation

BITS = "{b16,b32,b64}"


def boolean(lanes: Lanes, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """x and y, or, xor, of lanes or of lane masks."""
    return {"and": lanes.b.and_, "or": lanes.b.or_, "xor": lanes.b.xor}[name](x, y)


@operation(f"and.{BITS}", "T = T T")
@operation(f"or.{BITS}", "T = T T")
@operation(f"xor.{BITS}", "T = T T")
def bitwise(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return boolean(lanes, m.opcode, x, y)


@operation("and.pred", "P = P P", raw=True)
@operation("or.pred", "P = P P", raw=True)
@operation("xor.pred", "P = P P", raw=True)
def bitwise_of_predicates(lanes: Lanes, m: Modifiers) -> None:
    lanes.write_mask(0, boolean(lanes, m.opcode, lanes.read_mask(1), lanes.read_mask(2)))


@operation(f"not.{BITS}", "T = T")
def invert(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    return lanes.b.not_(x)


@operation("not.pred", "P = P", raw=True)
def invert_predicate(lanes: Lanes, m: Modifiers) -> None:
    lanes.write_mask(0, lanes.b.not_(lanes.read_mask(1)))


@operation(f"cnot.{BITS}", "T = T")
def c_not(lanes: Lanes, m: Modifiers, x: ir.Value) -> ir.Value:
    """1 where x is zero, else 0, as `!` in C."""
    return lanes.b.zext(lanes.b.icmp_unsigned("==", x, lanes.like(x, 0)), x.type)
