"""Lowering of loads, stores, atomics, constants and fences: to PTX's rows, with the address as machine code has it."""

import re
from dataclasses import replace

from simtlab.frontend.sass import text as sass
from simtlab.isa.access import SCALES
from simtlab.isa.shape import ABSENT, CONSTANT, CONSTANT_64, PAIR, SCALAR, SCALAR_64, WORD
from simtlab.isa.table import find
from simtlab.program.action import Action, Space
from simtlab.program.operand import Operand, immediate
from simtlab.program.sass.given import NOTHING, Given, lowers
from simtlab.program.sass.registers import number_of

SPACES = {
    "LDG": Space.GLOBAL, "STG": Space.GLOBAL, "LD": Space.GENERIC, "ST": Space.GENERIC, "LDS": Space.SHARED, "STS": Space.SHARED,
    "LDL": Space.LOCAL, "STL": Space.LOCAL, "ATOMG": Space.GLOBAL, "ATOM": Space.GENERIC, "ATOMS": Space.SHARED,
    "REDG": Space.GLOBAL, "RED": Space.GENERIC,
}  # fmt: skip
SIZES = {"U8": "u8", "S8": "s8", "U16": "u16", "S16": "s16", "64": "v2.b32", "128": "v4.b32"}
WIDE = (Space.GLOBAL, Space.GENERIC)


def size_of(g: Given) -> str:
    """How PTX spells what is loaded or stored: a vector of words where it is more than one."""
    return SIZES.get(g.first_of(*SIZES) or "", "b32")


def words(g: Given, size: str, written: bool) -> list[Operand]:
    """The next operand, a register, as so many words."""
    operand, count = g.take(), int(size[1]) if size[0] == "v" else 1
    if not isinstance(operand, sass.Register) or operand.file not in ("R", "UR"):
        raise g.unknown(f"'{operand}' is no register")
    if operand.number is None:
        return [NOTHING if written else immediate(0)] * count
    kind = SCALAR if operand.file == "UR" else WORD
    return [Operand(kind, number_of(operand.file, operand.number + k), written=written) for k in range(count)]


def address_in(g: Given, space: Space) -> tuple[list[Operand], list[Operand]]:
    """Base and offset of an access, and a uniform register that is added. Global addresses take two registers."""
    (base, offset), last = g.address(space in WIDE)
    named = next((one for one in g.i.operands if isinstance(one, sass.Address)), None)
    narrow = named is not None and any("U32" in register.parts for register in named.registers)
    if base.kind == WORD and space in WIDE and not narrow:
        base = Operand(PAIR, base.register)
    scales = [part for register in named.registers for part in register.parts if part in SCALES] if named else []
    if scales:
        base = replace(base, mark=scales[0])
    return [base, offset], last


@lowers("LDG", "LD", "LDS", "LDL")
def load(g: Given) -> None:
    space, size = SPACES[g.i.opcode], size_of(g)
    target = words(g, size, written=True)
    while g.next_is_predicate:
        if g.source("P") != immediate(1):
            raise g.unknown("a load with a predicate")
    place, last = address_in(g, space)
    g.emit(Action.LOAD, f"ld.{size}", [*target, *place, *last], space=space)


@lowers("STG", "ST", "STS", "STL")
def store(g: Given) -> None:
    space, size = SPACES[g.i.opcode], size_of(g)
    place, last = address_in(g, space)
    spelling = f"st.{size.replace('u', 'b').replace('s', 'b')}"
    g.emit(Action.STORE, spelling, [*place, *words(g, size, written=False), *last], space=space)


# Atomics --------------------------------------------------------------------------------------------------------------

NAMES = {"ADD": "add", "MIN": "min", "MAX": "max", "AND": "and", "OR": "or", "XOR": "xor", "EXCH": "exch", "CAS": "cas",
         "INC": "inc", "DEC": "dec"}  # fmt: skip
REAL = {
    "F32": "f32", "F64": "f64", "F16x2": "f16x2", "F16": "f16", "BF16x2": "bf16x2", "BF16_V2": "bf16x2", "BF16": "bf16",
    "F32x2": "v2.f32", "F32x4": "v4.f32", "F16x4": "v2.f16x2", "F16x8": "v4.f16x2", "BF16x4": "v2.bf16x2", "BF16x8": "v4.bf16x2",
}  # fmt: skip
NOT_IN_PTX = re.compile(r"(min|max)\.noftz\.b?f16x2")  # which has them for vectors only
IN_SHARED_MEMORY = ("exch.b64", "cas.b64")  # what the unit at shared memory does with 64 bits


def operation_of(g: Given) -> str:
    """What an atomic does, as PTX spells it: "add.f32"."""
    name = NAMES.get(g.first_of(*NAMES) or "")
    if name is None:
        raise g.unknown()
    real = g.first_of(*REAL)
    g.has("FTZ")  # PTX's rows do what the hardware does with subnormal numbers in each kind of memory
    wide = g.has("64", "S64", "U64")
    if real and name in ("add", "min", "max"):
        halves = ".noftz" if "f16" in REAL[real] else ""
        return f"{name}{halves}.{REAL[real]}"
    if name in ("and", "or", "xor", "exch", "cas"):
        return f"{name}.b{64 if wide else 32}"
    if name in ("min", "max"):
        return f"{name}.{'s' if g.has('S32', 'S64') else 'u'}{64 if wide else 32}"
    return f"{name}.u{64 if wide else 32}"


def values_of(g: Given, operation: str, written: bool = False) -> list[Operand]:
    """The next operand, or the old value, as the type says: a word, two, or the words of a vector."""
    *_, vector, type = operation.split(".")
    if vector in ("v2", "v4"):
        return words(g, f"{vector}.b32", written)
    type = "b64" if type.endswith("64") else "b32"
    if written:
        return [g.destination(type)]
    return [g.source(type) for _ in range(len(g.left))]


def spelled(name: str, operation: str) -> str:
    return f"{name.upper() if NOT_IN_PTX.fullmatch(operation) else name}.{operation}"


@lowers("ATOMG", "ATOM", "ATOMS")
def atomic(g: Given) -> None:
    space = SPACES[g.i.opcode]
    if g.has("CAST"):
        return swap_and_tell(g, space)
    if g.has("POPC") and g.has("INC"):  # counts the lanes: each adds one
        g.only("POPC", "INC", "32")
        target = words(g, "b32", written=True)
        place, last = address_in(g, space)
        return g.emit(Action.ATOMIC, "atom.add.u32", [*target, *place, immediate(1), *last], space=space)
    operation = operation_of(g)
    told = g.destination("P") if g.next_is_predicate else NOTHING
    old = values_of(g, operation, written=True)
    place, last = address_in(g, space)
    operands = [*old, *place, *values_of(g, operation), *last]
    if told is NOTHING:
        return g.emit(Action.ATOMIC, spelled("atom", operation), operands, space=space)
    spelling = f"ATOM.{'GS' if operation in IN_SHARED_MEMORY else 'G'}.{operation}"
    if space != Space.GENERIC or find(spelling) is None:
        raise g.unknown("where it is done is not known")
    return g.emit(Action.ATOMIC, spelling, [told, *operands], space=space)


def swap_and_tell(g: Given, space: Space) -> None:
    """ATOMS.CAST.SPIN: compare and swap; 1 where it swapped, in a register or, on sm_100 and later, a predicate."""
    type = "b64" if g.has("64") else "b32"
    if space == Space.GENERIC and g.destination("P") is not NOTHING:
        raise g.unknown("an atomic that writes a predicate")
    tells = g.next_is_predicate
    target = g.destination("P" if tells else type)
    place, last = address_in(g, space)
    g.emit(Action.ATOMIC, f"CAST{'.P' * tells}.{type}", [target, *place, g.source(type), g.source(type), *last], space=space)


@lowers("REDG", "RED")
def reduce(g: Given) -> None:
    space = SPACES[g.i.opcode]
    operation = operation_of(g)
    place, last = address_in(g, space)
    g.emit(Action.ATOMIC, spelled("red", operation), [*place, *values_of(g, operation), *last], space=space)


# Constants ------------------------------------------------------------------------------------------------------------


@lowers("LDC", "ULDC", "LDCU")
def load_constant(g: Given) -> None:
    size, operand = size_of(g), g.left[1] if len(g.left) > 1 else None
    if not isinstance(operand, sass.Constant) or not isinstance(operand.bank, int):
        raise g.unknown("no constant that simtlab knows")
    target = words(g, size, written=True)
    if g.has("IL", "IS", "ISL"):
        raise g.unknown("an indexed mode")
    index = operand.index
    place = g.place_in_bank(operand.bank, operand.offset)
    if index is None or index.number is None:
        if len(target) == 1 and size == "b32":
            g.emit(Action.COMPUTE, "mov.b32", [*target, Operand(CONSTANT, value=place)])
        elif size == "v2.b32" and target[0].kind in (WORD, SCALAR):
            kind = SCALAR_64 if target[0].kind == SCALAR else PAIR
            g.emit(Action.COMPUTE, "mov.b64", [Operand(kind, target[0].register, written=True), Operand(CONSTANT_64, value=place)])
        else:
            g.emit(Action.COMPUTE, f"ld.param.{size}", [*target, Operand(ABSENT), immediate(place)])
        return
    source = g.register(index, "b32")
    start = g.place_in_bank(operand.bank, 0)
    limits = [immediate(operand.offset), immediate(start), immediate(g.bank_bytes[operand.bank])]
    g.emit(Action.COMPUTE, f"LDC.{size}", [*target, source, *limits])


# Order ----------------------------------------------------------------------------------------------------------------


@lowers("MEMBAR", "FENCE")
def fence(g: Given) -> None:
    g.emit(Action.FENCE)


@lowers("ERRBAR", "CCTL", "CCTLL", "CCTLT", "DEPBAR", "LDGDEPBAR", "PREEXIT", "ACQBULK", "PMTRIG", "CGAERRBAR")
def nothing(g: Given) -> None:
    """Whatever they say: memory is in order here."""
    g.asked.update(g.i.parts)
    g.emit(Action.NOTHING)


@lowers("QSPC")
def query_space(g: Given) -> None:
    """Whether an address is shared (.S), local (.L), global (.G), or another CTA's shared memory (.D): without clusters, never."""
    target = g.destination("P")
    g.take()
    place, last = address_in(g, Space.GENERIC)
    if g.has("D"):
        return g.emit(Action.COMPUTE, "mov.pred", [target, immediate(0)])
    space = g.first_of("S", "L", "G")
    if space is None:
        raise g.unknown()
    uniform = Operand(SCALAR_64, last[0].register) if last else immediate(0)
    return g.emit(Action.COMPUTE, f"QSPC.{space}", [target, *place, uniform])
