"""Extended precision: sums and products that leave a carry in CC, and those that take one from it.

CC is a predicate nobody names. A subtraction adds the complement: an H200 leaves 1 in CC where nothing was borrowed,
which PTX's text calls the borrow and which shows where a subtraction follows an addition.
"""

from llvmlite import ir

from simtlab.isa.integer import high_product
from simtlab.isa.lanes import Lanes
from simtlab.isa.table import Modifiers, operation

TYPES = "{u32,s32,u64,s64}"
SumAndCarry = tuple[ir.Value, ir.Value]


def add_with_carry(lanes: Lanes, x: ir.Value, y: ir.Value, carry: ir.Value | None = None) -> SumAndCarry:
    """x + y + carry and the carry out of it."""
    b = lanes.b
    total = b.add(x, y)
    out = b.icmp_unsigned("<", total, x)
    if carry is None:
        return total, out
    with_carry = b.add(total, b.zext(carry, x.type))
    return with_carry, b.or_(out, b.icmp_unsigned("<", with_carry, total))


def sub_with_carry(lanes: Lanes, x: ir.Value, y: ir.Value, carry: ir.Value | None = None) -> SumAndCarry:
    """x - y, one less where there is no carry, and whether it needed no borrow."""
    if carry is None:
        return lanes.b.sub(x, y), lanes.b.icmp_unsigned(">=", x, y)
    return add_with_carry(lanes, x, lanes.b.not_(y), carry)


@operation(f"add.cc.{TYPES}", "T CC = T T")
@operation(f"addc.cc.{TYPES}", "T CC = T T CC")
def add_leaving_carry(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> SumAndCarry:
    return add_with_carry(lanes, *sources)


@operation(f"addc.{TYPES}", "T = T T CC")
def addc(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> ir.Value:
    return add_with_carry(lanes, *sources)[0]


@operation(f"sub.cc.{TYPES}", "T CC = T T")
@operation(f"subc.cc.{TYPES}", "T CC = T T CC")
def sub_leaving_carry(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> SumAndCarry:
    return sub_with_carry(lanes, *sources)


@operation(f"subc.{TYPES}", "T = T T CC")
def subc(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> ir.Value:
    return sub_with_carry(lanes, *sources)[0]


@operation(f"mad.{{lo,hi}}.cc.{TYPES}", "T CC = T T T")
@operation(f"madc.{{lo,hi}}.cc.{TYPES}", "T CC = T T T CC")
def mad_leaving_carry(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value, *rest: ir.Value) -> SumAndCarry:
    """Half of the product plus a number: the carry is that of the addition."""
    half = high_product(lanes, m.type, x, y) if "hi" in m else lanes.b.mul(x, y)
    return add_with_carry(lanes, half, *rest)


@operation(f"madc.{{lo,hi}}.{TYPES}", "T = T T T CC")
def madc(lanes: Lanes, m: Modifiers, *sources: ir.Value) -> ir.Value:
    return mad_leaving_carry(lanes, m, *sources)[0]
