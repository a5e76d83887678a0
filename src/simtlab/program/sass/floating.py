"""Lowering of f32 and f64 arithmetic, comparisons, and the special functions."""

from dataclasses import replace

from simtlab.frontend.sass import text as sass
from simtlab.isa.sass.floating import EXCHANGED, ONE_WORD
from simtlab.isa.table import find
from simtlab.program.action import Action
from simtlab.program.operand import Operand, immediate
from simtlab.program.sass.given import Given, lowers

DIRECTIONS = {"RM": "rm", "RP": "rp", "RZ": "rz"}
SEED = ("RCP64H", "RSQ64H")
FUNCTIONS = {"RCP": "rcp", "RSQ": "rsqrt", "SQRT": "sqrt", "EX2": "ex2", "LG2": "lg2"}


def compute(g: Given, spelling: str, signature: str) -> None:
    """A row of the table, if there is one of that spelling."""
    if find(spelling) is None:
        raise g.unknown()
    g.compute(spelling, signature)


def direction(g: Given) -> str:
    """rn, rm, rp or rz."""
    return DIRECTIONS.get(g.first_of(*DIRECTIONS) or "", "rn")


def tail(g: Given) -> str:
    return ".ftz" * g.has("FTZ") + ".sat" * g.has("SAT")


SCALES = ("D2", "D4", "D8", "M2", "M4", "M8")  # the product is divided, multiplied by a power of two


@lowers("FADD", "UFADD", "FMUL", "UFMUL", "FFMA", "UFFMA")
def single(g: Given) -> None:
    scale = g.first_of(*SCALES) if g.i.opcode == "FMUL" else None
    if scale:
        g.only("FTZ", scale)
        return compute(g, f"FMUL.{scale}{'.FTZ' * g.has('FTZ')}", "f32 = f32 f32")
    g.only("FTZ", "SAT", *DIRECTIONS)
    name, count = {"FADD": ("add", 2), "FMUL": ("mul", 2), "FFMA": ("fma", 3)}[g.i.opcode.removeprefix("U")]
    return compute(g, f"{name}.{direction(g)}{tail(g)}.f32", "f32 =" + " f32" * count)


@lowers("DADD", "DMUL", "DFMA")
def double(g: Given) -> None:
    g.only(*DIRECTIONS)
    name, count = {"DADD": ("add", 2), "DMUL": ("mul", 2), "DFMA": ("fma", 3)}[g.i.opcode]
    compute(g, f"{name}.{direction(g)}.f64", "f64 =" + " f64" * count)


@lowers("FADD2", "FMUL2", "FFMA2")
def of_two(g: Given) -> None:
    g.only("FTZ", *DIRECTIONS)
    way = g.first_of(*DIRECTIONS)
    spelling = f"{g.i.opcode}{'.FTZ' * g.has('FTZ')}" + (f".{way}" if way else "")
    g.emit(Action.COMPUTE, spelling, [g.destination("b64"), *(two_floats(g) for _ in range(len(g.left)))])


def two_floats(g: Given) -> Operand:
    """A pair of registers as it is (.F32x2.HI_LO) or exchanged (.F32x2.LO_HI), or one float for both (.F32, a number)."""
    operand = g.left[0]
    if isinstance(operand, sass.Number):
        word = g.source("f32").value & 0xFFFFFFFF
        return immediate(word << 32 | word)
    parts = operand.parts if isinstance(operand, sass.Register | sass.Constant) else ()
    if parts == ("F32",):
        found = g.source("f32")
        return replace(found, mark=found.mark + ONE_WORD)
    if parts not in ((), ("F32x2", "HI_LO"), ("F32x2", EXCHANGED)):
        raise g.unknown(f"what .{'.'.join(parts)} of an operand is, is not known")
    found = g.source("b64")
    return replace(found, mark=found.mark + EXCHANGED * (EXCHANGED in parts))


@lowers("FHADD", "FHFMA")
def with_halves(g: Given) -> None:
    g.only("FTZ", "SAT", "BF16", *DIRECTIONS)
    type = "bf16" if g.has("BF16") else "f16"
    way = g.first_of(*DIRECTIONS)
    spelling = g.i.opcode + ".FTZ" * g.has("FTZ") + ".SAT" * g.has("SAT") + (f".{way}" if way else "") + f".{type}"
    g.compute(spelling, f"f32 = {type} f32" if g.i.opcode == "FHADD" else f"f32 = {type} {type} f32")


# Comparisons ----------------------------------------------------------------------------------------------------------


def combine_of(g: Given) -> str:
    return g.first_of("AND", "OR", "XOR") or "AND"


@lowers("FSETP", "UFSETP", "DSETP")
def compare(g: Given) -> None:
    how, type = g.i.parts[0], "f64" if g.i.opcode == "DSETP" else "f32"
    g.only(how, "FTZ", combine_of(g))
    if how in ("MIN", "MAX"):
        compute(g, f"DSETP.{how}.{combine_of(g)}" if type == "f64" else "", "P P = f64 f64 P")
    else:
        compute(g, f"FSETP.{how}{'.FTZ' * g.has('FTZ')}.{combine_of(g)}.{type}", f"P P = {type} {type} P")


@lowers("FSET", "UFSET")
def compare_to_number(g: Given) -> None:
    how = next((part for part in g.i.parts if part not in ("BF", "FTZ", combine_of(g))), "")
    g.only(how, "BF", "FTZ", combine_of(g))
    type = "f32" if g.has("BF") else "u32"
    spelling = f"set.{how.lower()}.{combine_of(g).lower()}{'.ftz' * g.has('FTZ')}.{type}.f32"
    compute(g, spelling, f"{type} = f32 f32 P")


@lowers("FMNMX", "UFMNMX")
def bound(g: Given) -> None:
    g.only("FTZ", "NAN", "XORSIGN")
    bounded(g, "f32", g.assign("f32 = f32 f32") if not g.has("XORSIGN") else without_signs(g, "f32"))


def without_signs(g: Given, type: str) -> list[Operand]:
    """Operands whose magnitudes are compared and whose signs are combined: |a| and |b| in the text."""
    for k in (1, 2):
        operand = g.left[k]
        if not isinstance(operand, sass.Register) or operand.mark != "|":
            raise g.unknown("signs are combined of what is no magnitude")
        g.left[k] = replace(operand, mark="")
    return g.assign(f"{type} = {type} {type}")


def bounded(g: Given, type: str, operands: list[Operand]) -> None:
    """The lesser where a predicate holds, else the greater. Nearly always it is PT or !PT."""
    least = g.source("P")
    parts = ".ftz" * g.has("FTZ") + ".NaN" * g.has("NAN") + ".xorsign.abs" * g.has("XORSIGN")
    if least in (immediate(1), immediate(0)):
        spelling = f"{'min' if least == immediate(1) else 'max'}{parts}.{type}"
    elif g.has("XORSIGN"):
        raise g.unknown()
    else:
        spelling = f"FMNMX{'.FTZ' * g.has('FTZ')}{'.NAN' * g.has('NAN')}.{type}"
        operands = [*operands, least]
    if find(spelling) is None:
        raise g.unknown()
    g.emit(Action.COMPUTE, spelling, operands)


@lowers("FMNMX3", "UFMNMX3")
def bound_of_three(g: Given) -> None:
    g.only("FTZ", "NAN")
    g.compute(f"FMNMX3{'.FTZ' * g.has('FTZ')}{'.NAN' * g.has('NAN')}.f32", "f32 = f32 f32 f32 P")


@lowers("FCHK")
def check(g: Given) -> None:
    g.only("DIVIDE")
    g.compute("FCHK", "P = f32 f32")


# Special functions ----------------------------------------------------------------------------------------------------


@lowers("MUFU")
def special(g: Given) -> None:
    """Without a type they are those of PTX with .ftz: around them ptxas puts what a subnormal operand needs."""
    function = g.i.parts[0]
    g.only(function, "F16", "BF16")
    if g.has("F16", "BF16"):
        type = "f16" if g.has("F16") else "bf16"
        flush = ".ftz" * (function == "EX2" and type == "bf16")
        compute(g, f"{function.lower()}.approx{flush}.{type}", f"{type} = {type}")
    elif function in ("SIN", "COS", *SEED):
        g.compute(f"MUFU.{function}", "f32 = f32")
    elif function == "TANH":
        g.compute("tanh.approx.f32", "f32 = f32")
    elif function in FUNCTIONS:
        g.compute(f"{FUNCTIONS[function]}.approx.ftz.f32", "f32 = f32")
    else:
        raise g.unknown()
