"""Integer arithmetic: add … sad, multiplication in its widths, saturation, carries, dot products."""

from llvmlite import ir

from simtlab.isa.lanes import Lanes, is_signed, vector
from simtlab.isa.table import Modifiers, operation

INTEGERS = "{u16,u32,u64,s16,s32,s64}"


@operation(f"add.{INTEGERS}", "T = T T")
def add(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.add(x, y)


@operation(f"sub.{INTEGERS}", "T = T T")
def sub(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.sub(x, y)


@operation(f"mul.lo.{INTEGERS}", "T = T T")
def mul_lo(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.mul(x, y)


@operation("mul.wide.{u16,s16,u32,s32}", "W = T T")
def mul_wide(lanes: Lanes, m: Modifiers, x: ir.Value, y: ir.Value) -> ir.Value:
    return lanes.b.mul(widen(lanes, m.type, x), widen(lanes, m.type, y))


def widen(lanes: Lanes, type: str, x: ir.Value) -> ir.Value:
    """x at twice its width, extended by the sign of its type."""
    wide = vector(ir.IntType(2 * x.type.element.width))
    return (lanes.b.sext if is_signed(type) else lanes.b.zext)(x, wide)
