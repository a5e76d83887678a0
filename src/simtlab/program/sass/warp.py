"""Lowering of shuffles, votes, matches, reductions, and of special registers."""

from simtlab.frontend.sass import text as sass
from simtlab.isa.shape import UNIFORM
from simtlab.isa.spaces import SHARED_BASE
from simtlab.program import context
from simtlab.program.action import Action
from simtlab.program.operand import Operand, immediate
from simtlab.program.sass.given import NOTHING, Given, lowers

EVERY_LANE = immediate(0xFFFFFFFF)
SPECIAL = {
    "SR_LANEID": "laneid", "SR_EQMASK": "lanemask_eq", "SR_LTMASK": "lanemask_lt", "SR_LEMASK": "lanemask_le",
    "SR_GTMASK": "lanemask_gt", "SR_GEMASK": "lanemask_ge", "SR_CLOCKLO": "clock", "SR_CLOCKHI": "clock_hi",
    "SR_GLOBALTIMERLO": "globaltimer_lo", "SR_GLOBALTIMERHI": "globaltimer_hi",
    "SR_VIRTUALSMID": "smid", "SR_SMEMSZ": "total_smem_size",
    **{f"SR_{name}.{axis}": f"{name.lower()}.{axis.lower()}" for name in ("TID", "CTAID", "NTID", "NCTAID") for axis in "XYZ"},
}  # fmt: skip
NUMBERS = {"SRZ": 0, "SR_CgaCtaId": 0, "SR_CgaSize": 0, "SR_SWINHI": SHARED_BASE >> 32, "SR_SWINLO": SHARED_BASE & 0xFFFFFFFF}
WHOLE = {"SR_CLOCKLO": "clock64", "SR_GLOBALTIMERLO": "globaltimer"}


@lowers("S2R", "S2UR", "CS2R", "CS2UR")
def read_special(g: Given) -> None:
    wide = g.i.opcode in ("CS2R", "CS2UR") and not g.has("32")
    target, source = g.destination("b64" if wide else "b32"), g.take()
    if not isinstance(source, sass.Register) or source.file != "SR":
        raise g.unknown("no special register")
    type = "b64" if wide else "b32"
    if source.name in NUMBERS:
        g.emit(Action.COMPUTE, f"mov.{type}", [target, immediate(NUMBERS[source.name])])
        return
    if source.name == "SR_VIRTID":  # %warpid in bits 8 to 14, as what ptxas does with it says
        g.emit(Action.COMPUTE, "shl.b32", [target, Operand(UNIFORM, value=context.offset("warpid")), immediate(8)])
        return
    name = WHOLE.get(source.name) if wide else SPECIAL.get(source.name)
    known = context.special(name) if name else None
    if known is None or name is None:
        raise g.unknown(f"the special register {source.name}")
    kind, offset = known
    action = Action.TIME if context.reads_time(name) else Action.COMPUTE
    g.emit(action, f"mov.{type}", [target, Operand(kind, value=offset)])


@lowers("SHFL")
def shuffle(g: Given) -> None:
    mode = (g.first_of("IDX", "UP", "DOWN", "BFLY") or "IDX").lower()
    told, target = g.destination("P"), g.destination("b32")
    g.emit(Action.COMPUTE, f"shfl.{mode}.b32", [target, told, g.source("b32"), g.source("b32"), g.source("b32")])


@lowers("VOTE", "VOTEU")
def vote(g: Given) -> None:
    ballot = NOTHING if g.next_is_predicate else g.destination("u32")
    told = g.destination("P") if len(g.left) > 1 else NOTHING
    g.emit(Action.COMPUTE, f"VOTE.{g.first_of('ALL', 'ANY', 'EQ') or 'ANY'}", [ballot, told, g.source("P")])


@lowers("MATCH")
def match(g: Given) -> None:
    type = "b64" if g.has("U64") else "b32"
    if g.has("ALL"):
        told = g.destination("P") if g.next_is_predicate else NOTHING
        g.emit(Action.COMPUTE, f"match.all.sync.{type}", [g.destination("b32"), told, g.source(type), EVERY_LANE])
    elif g.has("ANY"):
        if g.next_is_predicate:
            g.take()
        g.emit(Action.COMPUTE, f"match.any.sync.{type}", [g.destination("b32"), g.source(type), EVERY_LANE])
    else:
        raise g.unknown()


@lowers("REDUX", "CREDUX")
def redux(g: Given) -> None:
    """REDUX alone is AND: ptxas has it for atomicAnd. CREDUX is what sm_100 has for the least and the greatest."""
    if g.i.opcode == "CREDUX" and not g.has("MIN", "MAX"):
        raise g.unknown()
    names = {"SUM": "add", "MIN": "min", "MAX": "max", "AND": "and", "OR": "or", "XOR": "xor"}
    name = names[g.first_of(*names) or "AND"]
    type = "b32" if name in ("and", "or", "xor") else "s32" if g.has("S32") else "u32"
    g.emit(Action.COMPUTE, f"redux.sync.{name}.{type}", [g.destination(type), g.source(type), EVERY_LANE])


@lowers("ELECT")
def elect(g: Given) -> None:
    """The lowest active lane: true for itself, its number for all."""
    told, leader = g.destination("P"), g.destination("b32")
    if g.source("P") != immediate(1):
        raise g.unknown("a predicate")
    g.emit(Action.COMPUTE, "elect.sync", [leader, told, EVERY_LANE])


@lowers("R2UR")
def to_uniform(g: Given) -> None:
    told = g.destination("P") if g.next_is_predicate else NOTHING
    g.emit(Action.COMPUTE, "R2UR.OR" if g.has("OR") else "R2UR", [g.destination("u32"), told, g.source("u32")])


