"""Lowering of integer, logic, shift, move and predicate instructions."""

from dataclasses import replace

from simtlab.frontend.sass import text as sass
from simtlab.isa.shape import PREDICATE
from simtlab.isa.table import find
from simtlab.program.action import Action
from simtlab.program.operand import ABSENT_OPERAND, Operand, immediate
from simtlab.program.sass.given import NOTHING, Given, lowers
from simtlab.program.sass.registers import number_of


@lowers("MOV", "UMOV")
def move(g: Given) -> None:
    operands = [g.destination("b64" if g.has("64") else "b32"), g.source("b64" if g.has("64") else "b32")]
    g.emit(Action.COMPUTE, "mov.b64" if g.has("64") else "mov.b32", operands)


@lowers("IADD3", "UIADD3")
def iadd3(g: Given) -> None:
    if g.has("64"):
        g.compute("IADD3.64", "u64 P? P? = u64 u64 u64")
    else:
        g.compute("IADD3.X" if g.has("X") else "IADD3", "u32 P? P? = u32 u32 u32 P? P?")


@lowers("VIADD", "UVIADD")
def viadd(g: Given) -> None:
    """.S32 alone changes nothing: a sum has no sign of its own."""
    parts = "ISAT" if g.has("S32") and g.has("ISAT") else g.first_of("16x2", "U8x4")
    g.compute(f"VIADD.{parts}" if parts else "add.u32", "u32 = u32 u32")


@lowers("IADD", "UIADD")
def iadd(g: Given) -> None:
    """The sum of two: IADD3's row with a zero."""
    if g.has("64") and g.has("X"):
        g.compute("IADD.64.X", "u64 P? = u64 u64 P")
        return
    if g.has("64"):
        target, carry, first, second = g.assign("u64 P? = u64 u64")
        g.emit(Action.COMPUTE, "IADD3.64", [target, carry, NOTHING, first, second, immediate(0)])
        return
    target, carry, first, second, more = g.assign("u32 P? = u32 u32 P?")
    operands = [target, carry, NOTHING, first, second, immediate(0), more, ABSENT_OPERAND]
    g.emit(Action.COMPUTE, "IADD3.X" if g.has("X") else "IADD3", operands)


@lowers("IMAD", "UIMAD")
def imad(g: Given) -> None:
    """.MOV, .SHL and .IADD say what it is for: one of its factors or its addend is a number."""
    g.has("MOV", "SHL", "IADD")
    tail = ".U32" * g.has("U32") + ".X" * g.has("X")
    if g.has("WIDE"):
        g.compute(f"IMAD.WIDE{tail}", "u64 P? = u32 u32 u64 P?")
    elif g.has("HI"):
        g.compute(f"IMAD.HI{tail}", "u32 P? = u32 u32 u64 P?")
    else:
        g.compute("IMAD.X" if g.has("X") else "IMAD", "u32 P? = u32 u32 u32 P?")


@lowers("LEA", "ULEA")
def lea(g: Given) -> None:
    tail = ".X" * g.has("X") + ".SX32" * g.has("SX32")
    if g.has("HI"):
        g.compute(f"LEA.HI{tail}", "u32 P? = u32 u32 u32 P?" if g.has("SX32") else "u32 P? = u32 u32 u32 u32 P?")
    else:
        g.compute(f"LEA{tail}", "u32 P? = u32 u32 u32 P?")


@lowers("SHF", "USHF")
def shf(g: Given) -> None:
    type = g.first_of("U32", "S32", "U64", "S64") or "U32"
    g.compute(f"SHF.{g.first_of('L', 'R')}{'.W' * g.has('W')}.{type}{'.HI' * g.has('HI')}", "u32 = u32 u32 u32")


@lowers("LOP3", "ULOP3")
def lop3(g: Given) -> None:
    table = lookup_table(g, -1 if not isinstance(g.left[-1], sass.Register) else -2)
    g.compute(f"LOP3{'.PAND' * g.has('PAND')}.T{table:02X}", "P? u32 = u32 u32 u32 P?")


@lowers("PLOP3", "UPLOP3")
def plop3(g: Given) -> None:
    """R2.SIGN among the sources is a word's sign."""
    second, first = lookup_table(g, -1), lookup_table(g, -1)
    tables = f"T{first:02X}.T{second:02X}"
    if all(isinstance(one, sass.Register) and one.is_predicate for one in g.left):
        g.compute(f"PLOP3.{tables}", "P P = P P P")
        return
    written = g.assign("P P =")
    signs = [sign_of(g) if not g.next_is_predicate else g.source("P") for _ in range(3)]
    g.emit(Action.COMPUTE, f"PLOP3.SIGN.{tables}", [*written, *signs])


def sign_of(g: Given) -> Operand:
    operand = g.left[0]
    if not isinstance(operand, sass.Register) or operand.parts != ("SIGN",) or operand.mark:
        raise g.unknown("no predicate and no sign of a word")
    return replace(g.source("u32"), mark="SIGN")


def lookup_table(g: Given, at: int) -> int:
    operand = g.left.pop(at)
    if not isinstance(operand, sass.Number):
        raise g.unknown("its table is not a number")
    return operand.value & 0xFF


COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")


@lowers("ISETP", "UISETP")
def isetp(g: Given) -> None:
    how, combine = g.first_of(*COMPARISONS), g.first_of("AND", "OR", "XOR") or "AND"
    if how is None:
        raise g.unknown("it compares in a way that is not known")
    tail = ".U32" * g.has("U32") + f".{combine}"
    if g.has("U64", "S64"):
        g.compute(f"ISETP.{how}.{'U64' if g.has('U64') else 'S64'}.{combine}", "P P = u64 u64 P")
    elif g.has("EX"):
        g.compute(f"ISETP.{how}{tail}.EX", "P P = u32 u32 P P")
    else:
        g.compute(f"ISETP.{how}{tail}", "P P = u32 u32 P")


@lowers("SEL", "USEL", "FSEL")
def select(g: Given) -> None:
    type = "f32" if g.i.opcode == "FSEL" else "b64" if g.has("64") else "b32"
    g.compute(f"selp.{type}", f"{type} = {type} {type} P")


BOUNDS = ("U32", "S32", "U16x2", "S16x2", "U8x4")


def bound_name(g: Given) -> str:
    """VIMNMX.S16x2.RELU and the like. Only VIADD is known to negate halves."""
    type = g.first_of(*BOUNDS) or "S32"
    if "x" in type and any(isinstance(one, sass.Register) and one.mark and not one.is_predicate for one in g.left):
        raise g.unknown("pairs that are negated")
    name = g.i.opcode.removeprefix("U")
    spelling = f"{'VIMNMX' if name == 'IMNMX' else name}.{type}{'.RELU' * g.has('RELU')}"
    if find(spelling) is None:
        raise g.unknown()
    return spelling


@lowers("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX")
def bound(g: Given) -> None:
    if g.has("U64", "S64"):
        return bound_of_two_words(g)
    spelling, target = bound_name(g), g.destination("u32")
    told = []
    while g.next_is_predicate:  # whether it is the first one's: known of pairs, which have one for each half
        told.append(g.destination("P"))
    pairs = "16x2" in spelling and "RELU" not in spelling
    if not pairs and any(one is not NOTHING for one in told):
        raise g.unknown("a predicate that it writes is not known")
    written = [target, *(told or [NOTHING] * 2)] if pairs else [target]
    return g.emit(Action.COMPUTE, spelling, [*written, *g.assign("= u32 u32 P")])


def bound_of_two_words(g: Given) -> None:
    """IMNMX.U64 PT, PT, R6, R2, R4, PT, !PT: the lesser with PT behind the sources. What !PT says is not known."""
    written = g.assign("P P u64 =")
    operands = [written[2], *g.assign("= u64 u64 P")]
    if any(one is not NOTHING for one in written[:2]) or g.source("P") != immediate(0):
        raise g.unknown("a predicate that is not known")
    g.emit(Action.COMPUTE, f"VIMNMX.{g.first_of('U64', 'S64')}", operands)


@lowers("VIMNMX3", "VIADDMNMX")
def bound_of_three(g: Given) -> None:
    """The least (or, with !PT last, the greatest) of three; of a sum and a third."""
    g.compute(bound_name(g), "u32 = u32 u32 u32 P")


@lowers("IABS")
def absolute(g: Given) -> None:
    g.compute("abs.s32", "s32 = s32")


@lowers("POPC", "UPOPC")
def popc(g: Given) -> None:
    g.compute("popc.b32", "u32 = b32")


@lowers("BREV", "UBREV")
def brev(g: Given) -> None:
    g.compute("brev.b32", "b32 = b32")


@lowers("FLO", "UFLO")
def find_leading_one(g: Given) -> None:
    type = (g.first_of("U32", "S32") or "S32").lower()
    g.compute(f"bfind{'.shiftamt' * g.has('SH')}.{type}", f"u32 = {type}")


@lowers("BMSK", "UBMSK")
def bit_mask(g: Given) -> None:
    g.compute(f"bmsk.{'wrap' if g.has('W') else 'clamp'}.b32", "b32 = u32 u32")


@lowers("SGXT", "USGXT")
def extend_sign(g: Given) -> None:
    g.compute(f"SGXT{'.W' * g.has('W')}{'.U32' * g.has('U32')}", "u32 = u32 u32")


@lowers("PRMT", "UPRMT")
def permute(g: Given) -> None:
    mode = g.first_of("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")
    first, second, third, fourth = g.assign("b32 = b32 b32 b32")  # the selector stands in the middle
    g.emit(Action.COMPUTE, "prmt.b32" + (f".{mode.lower()}" if mode else ""), [first, second, fourth, third])


@lowers("VABSDIFF")
def sum_of_absolute_difference(g: Given) -> None:
    type = (g.first_of("U32", "S32") or "S32").lower()
    g.compute(f"sad.{type}", f"{type} = {type} {type} {type}")


@lowers("VABSDIFF4")
def absolute_differences(g: Given) -> None:
    """Of four bytes, or their sum and a third (.ACC)."""
    if not g.has("U8"):
        raise g.unknown()
    g.compute(f"vabsdiff4.u32.u32.u32{'.add' * g.has('ACC')}", "u32 = u32 u32 u32")


@lowers("IDP")
def dot_product(g: Given) -> None:
    types = [part.lower() for part in g.all_of("S8", "U8", "S16", "U16")]
    half = g.first_of("LO", "HI")
    if len(types) != 2 or g.has("4A") == g.has("2A") or g.has("2A") != bool(half):
        raise g.unknown()
    name = f"dp2a.{half.lower()}." if half else "dp4a."
    g.compute(name + ".".join(f"{type[0]}32" for type in types), "b32 = b32 b32 b32")


@lowers("P2R")
def predicates_to_register(g: Given) -> None:
    target = g.destination("u32")
    if isinstance(g.left[0], sass.Name):
        g.take()  # PR
    byte = g.first_of("B0", "B1", "B2", "B3") or "B0"
    predicates = [g.register(sass.Register("P", k), "P") for k in range(7)]
    g.emit(Action.COMPUTE, f"P2R.{byte}", [target, *predicates, *g.assign("= u32 u32")])


@lowers("R2P")
def register_to_predicates(g: Given) -> None:
    """The bits of a register that a mask names become predicates."""
    if isinstance(g.left[0], sass.Name):
        g.take()  # PR
    source, chosen = g.take(), g.integer()
    if not isinstance(source, sass.Register):
        raise g.unknown("no register")
    byte = next((part for part in (*source.parts, *g.i.parts) if part in ("B0", "B1", "B2", "B3")), "B0")
    targets = [Operand(PREDICATE, number_of("P", k), written=True) if chosen >> k & 1 else NOTHING for k in range(7)]
    g.emit(Action.COMPUTE, f"R2P.{byte}", [*targets, g.register(replace(source, parts=()), "u32")])


@lowers("NOP")
def nothing(g: Given) -> None:
    g.emit(Action.NOTHING)
