"""What a warp does with uniform registers and votes, as machine code has it."""

from llvmlite import ir

from simtlab.isa.lanes import I1, I32, I64, Lanes
from simtlab.isa.shape import WORD
from simtlab.isa.table import Modifiers, operation


@operation("VOTE{.ALL,.ANY,.EQ}", "u32? P? = P")
def vote(lanes: Lanes, m: Modifiers, holds: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The active lanes that hold a predicate; whether all do, any does, or all agree."""
    b = lanes.b
    holding = b.and_(lanes.compress(holds), lanes.mask)
    every, none = b.icmp_unsigned("==", holding, lanes.mask), b.icmp_unsigned("==", holding, I32(0))
    result = {"ALL": every, "ANY": b.not_(none), "EQ": b.or_(every, none)}[m.parts[0]]
    return lanes.splat(holding), lanes.splat(result)


@operation("R2UR", "u32 P? = u32", raw=True)
def to_uniform(lanes: Lanes, m: Modifiers) -> None:
    """A register's value in the lowest active lane; whether other active lanes have another."""
    b = lanes.b
    lane = b.zext(lanes.call("llvm.cttz.i32", I32, [lanes.mask, I1(1)]), I64)
    if lanes.shape.kinds[2] != WORD:
        lanes.write_scalar(0, lanes.read_scalar(2, "u32"), "u32")
        lanes.write(1, lanes.constant(I1, 0), "pred")
        return
    place = b.gep(lanes.registers, [b.add(lanes.raw_operand(2), b.mul(lane, I64(4)))])
    chosen = b.load(b.bitcast(place, I32.as_pointer()))
    others = lanes.compress(b.icmp_unsigned("!=", lanes.read(2, "u32"), lanes.splat(chosen)))
    differ = b.icmp_unsigned("!=", b.and_(others, lanes.mask), I32(0))
    lanes.write_scalar(0, chosen, "u32")
    lanes.write(1, lanes.splat(differ), "pred")
