"""Lowering of half-precision instructions. Operands are pairs of halves, or one half twice (.H0_H0, .H1_H1)."""


from simtlab.frontend.sass import text as sass
from simtlab.isa.table import find
from simtlab.program.action import Action
from simtlab.program.operand import Operand
from simtlab.program.sass.floating import bounded, combine_of, without_signs
from simtlab.program.sass.given import Given, lowers

ARITHMETIC = {"HADD2": ("add", 2), "HMUL2": ("mul", 2), "HFMA2": ("fma", 3)}


def type_of(g: Given) -> str:
    return "bf16x2" if g.has("BF16_V2") else "f16x2"


def sources(g: Given, count: int, type: str) -> list[Operand]:
    """The next operands. An immediate pair is written as two numbers, the upper half first; its bits are in one field."""
    found = []
    for _ in range(count):
        if len(g.left) > 1 and isinstance(g.left[0], sass.Number) and isinstance(g.left[1], sass.Number):
            g.take()
        found.append(g.source(type))
    return found


def emit(g: Given, spelling: str, operands: list[Operand]) -> None:
    if find(spelling) is None:
        raise g.unknown()
    g.emit(Action.COMPUTE, spelling, operands)


@lowers(*ARITHMETIC)
def arithmetic(g: Given) -> None:
    """.MMA names the unit that computes it."""
    if g.has("F32"):
        to_single(g)
        return
    if any(is_single(operand) for operand in g.left):
        from_single(g)
        return
    g.only("MMA", "BF16_V2", "FTZ", "SAT", "RELU", "OOB")
    name, count = ARITHMETIC[g.i.opcode]
    type = type_of(g)
    parts = ".oob" * g.has("OOB") + ".ftz" * g.has("FTZ") + ".sat" * g.has("SAT") + ".relu" * g.has("RELU")
    emit(g, f"{name}.rn{parts}.{type}", [g.destination(type), *sources(g, count, type)])


def to_single(g: Given) -> None:
    """HADD2.F32: the sum of two halves, each named, as an f32."""
    g.only("F32", "SAT")
    for operand in g.left[1:]:
        if not isinstance(operand, sass.Register) or not (operand.number is None or operand.parts in (("H0_H0",), ("H1_H1",))):
            raise g.unknown("which half it takes is not known")
    emit(g, f"{g.i.opcode}.F32{'.SAT' * g.has('SAT')}.f16", g.assign("f32 = f16 f16"))


def from_single(g: Given) -> None:
    """HADD2 of an f32 and -0, as sm_75 has it for a conversion that rounds toward zero, and of constants that need no rounding."""
    g.only()
    target, *given = g.left
    singles, zeros = [one for one in given if is_single(one)], [one for one in given if is_minus_zero(one)]
    if g.i.opcode != "HADD2" or len(singles) != 1 or len(zeros) != 1 or len(given) != 2:
        raise g.unknown("an f32 among halves")
    g.left = [target, *singles, *singles]
    emit(g, "cvt.rz.f16x2.f32", g.assign("f16x2 = f32 f32"))


def is_single(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register | sass.Constant) and operand.parts == ("F32",)


def is_minus_zero(operand: sass.Operand) -> bool:
    return isinstance(operand, sass.Register) and operand.number is None and operand.mark == "-"


@lowers("HMNMX2")
def bound(g: Given) -> None:
    g.only("BF16_V2", "FTZ", "NAN", "XORSIGN")
    type = type_of(g)
    bounded(g, type, without_signs(g, type) if g.has("XORSIGN") else [g.destination(type), *sources(g, 2, type)])


@lowers("HSETP2")
def compare(g: Given) -> None:
    how = next((part for part in g.i.parts if part not in ("BF16_V2", "FTZ", combine_of(g))), "")
    g.only(how, "BF16_V2", "FTZ", combine_of(g))
    type = type_of(g)
    written = [g.destination("P"), g.destination("P")]
    spelling = f"HSETP2.{how}{'.FTZ' * g.has('FTZ')}.{combine_of(g)}.{type}"
    emit(g, spelling, [*written, *sources(g, 2, type), g.source("P")])


@lowers("HSET2")
def compare_to_number(g: Given) -> None:
    how = next((part for part in g.i.parts if part not in ("BF16_V2", "BF", "FTZ", combine_of(g))), "")
    g.only(how, "BF16_V2", "BF", "FTZ", combine_of(g))
    type = type_of(g)
    spelling = f"HSET2{'.BF' * g.has('BF')}.{how}{'.FTZ' * g.has('FTZ')}.{combine_of(g)}.{type}"
    emit(g, spelling, [g.destination(type), *sources(g, 2, type), g.source("P")])


