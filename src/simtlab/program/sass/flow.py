"""Lowering of what moves lanes about: branches, calls, convergence barriers, the CTA's barriers, exits."""

from simtlab.frontend.sass import text as sass
from simtlab.isa.shape import ABSENT, IMMEDIATE, NOT_PREDICATE, PREDICATE, SINK, WORD
from simtlab.program.action import Action, Condition, Members
from simtlab.program.operand import Operand, immediate
from simtlab.program.sass.given import NOTHING, Given, lowers
from simtlab.program.sass.registers import number_of

INSTRUCTION_BYTES = 16
NONE = Operand(ABSENT)


def label(address: int) -> str:
    return f"{address:#x}"


def condition_of(g: Given) -> tuple[Condition, Operand]:
    """What a branch asks for beside its guard."""
    if g.has("DIV", "CONV"):
        return (Condition.DIVERGED if g.has("DIV") else Condition.CONVERGED), mask_of(g)
    if not g.next_is_predicate:
        return (Condition.ANY if g.has("ANY") else Condition.NONE), immediate(0)
    if g.has("ANY"):
        raise g.unknown("a predicate")
    operand = g.source("P")
    if operand.kind == IMMEDIATE:
        return (Condition.NONE if operand.value else Condition.NEVER), immediate(0)
    return (Condition.NOT_PREDICATE if operand.kind == NOT_PREDICATE else Condition.PREDICATE), operand


def mask_of(g: Given) -> Operand:
    """The lanes that a branch asks about: a uniform register's, or all (~URZ, which nvdisasm leaves out of its JSON at times)."""
    first = g.left[0]
    if not isinstance(first, sass.Register):
        return immediate(0xFFFFFFFF)
    operand = g.source("u32")
    if first.number is None and first.mark == "~":
        return immediate(0xFFFFFFFF)
    if operand.mark or operand.kind == WORD:
        raise g.unknown("lanes that are in no uniform register")
    return operand


def target_of(g: Given) -> int:
    """Where it goes, in bytes from the program's start: an address, or a function of the kernel."""
    operand = g.take()
    if isinstance(operand, sass.Number):
        return operand.value + g.i.section
    if isinstance(operand, sass.Name) and operand.text in g.functions:
        return g.functions[operand.text]
    raise g.unknown(f"'{operand}' is nowhere in this kernel")


@lowers("BRA", "JMP")
def branch(g: Given) -> None:
    how, operand = condition_of(g)
    is_number = operand.kind == IMMEDIATE
    g.emit(Action.SPLIT, "", [operand, immediate(int(is_number))], targets=(label(target_of(g)),), values=(how,))


@lowers("BRX", "BRXU", "JMX", "JMXU")
def indirect_branch(g: Given) -> None:
    """To a register plus a number, counted from the next instruction."""
    if g.next_is_predicate:
        raise g.unknown("a predicate")
    register = g.source("u32")
    distance = g.integer() if g.left else 0
    base = distance + g.i.address + INSTRUCTION_BYTES
    how = Members.UNIFORM if register.kind not in (WORD,) else Members.REGISTER
    g.emit(Action.JUMP, "", [register, immediate(base)], values=(how,))


@lowers("CALL")
def call(g: Given) -> None:
    if g.left and isinstance(g.left[0], sass.Register):
        register = g.source("u32")
        if g.has("ABS"):
            g.emit(Action.LIBRARY_CALL, "", [register, immediate(0)], values=(Members.REGISTER,))
        else:
            base = target_of(g) if g.left else g.i.address + INSTRUCTION_BYTES
            g.emit(Action.JUMP, "", [register, immediate(base)], values=(Members.REGISTER,))
        return
    g.emit(Action.SPLIT, "", [immediate(0)], targets=(label(target_of(g)),), values=(Condition.NONE,))


@lowers("RET")
def ret(g: Given) -> None:
    register = g.source("u32")
    base = target_of(g) if g.left and g.has("REL") else 0
    g.emit(Action.JUMP, "", [register, immediate(base)], values=(Members.REGISTER,))


@lowers("EXIT", "KILL")
def leave(g: Given) -> None:
    if g.i.parts:
        raise g.unknown()
    how, operand = condition_of(g)
    g.emit(Action.END, "", [operand], values=(how,))


@lowers("BPT")
def trap(g: Given) -> None:
    g.emit(Action.TRAP if g.has("TRAP") else Action.NOTHING)


# Convergence barriers -------------------------------------------------------------------------------------------------


def barrier_of(g: Given) -> Operand:
    operand = g.take()
    if not isinstance(operand, sass.Register) or operand.file != "B" or operand.number is None:
        raise g.unknown(f"'{operand}' is no convergence barrier")
    return immediate(operand.number)


@lowers("BSSY")
def meet(g: Given) -> None:
    while g.next_is_predicate:
        if g.source("P") != immediate(1):
            raise g.unknown("a predicate")
    g.emit(Action.MEET, "", [barrier_of(g)])


@lowers("BSYNC")
def converge(g: Given) -> None:
    while g.next_is_predicate:
        if g.source("P") != immediate(1):
            raise g.unknown("a predicate")
    g.emit(Action.CONVERGE, "", [barrier_of(g)])


@lowers("BREAK")
def break_barrier(g: Given) -> None:
    first = None if g.next_is_predicate else barrier_of(g)  # the predicate, if any, stands on either side of it
    how, operand = condition_of(g)
    g.emit(Action.LEAVE, "", [operand, first or barrier_of(g)], values=(how,))


@lowers("BMOV")
def move_barrier(g: Given) -> None:
    first = g.left[0]
    if not g.has("32") or not isinstance(first, sass.Register):
        raise g.unknown()
    if first.file == "B":
        barrier = barrier_of(g)
        source = g.source("u32")
        if source.kind not in (IMMEDIATE, WORD):
            raise g.unknown("a source that is no register")
        g.emit(Action.RESTORE_BARRIER, "", [barrier, source], values=(int(source.kind == WORD),))
    else:
        target = g.destination("u32")
        if target.kind not in (WORD, SINK):
            raise g.unknown("a target that is no register")
        barrier, clears = barrier_of(g), g.has("CLEAR")
        if target.kind == SINK:  # on sm_75 before a BSSY to which lanes come again, where later compilers have none: docs/sass.md
            g.emit(Action.NOTHING)
        else:
            g.emit(Action.SAVE_BARRIER, "", [target, barrier], values=(int(clears),))


@lowers("WARPSYNC")
def warp_sync(g: Given) -> None:
    if g.has("ALL") or not g.left:
        g.emit(Action.WARP_SYNC, "", [immediate(0)], values=(Members.ALL,))
        return
    operand = g.source("u32")
    how = {IMMEDIATE: Members.NUMBER, WORD: Members.REGISTER}.get(operand.kind, Members.UNIFORM)
    if g.has("COLLECTIVE"):
        g.emit(Action.COLLECTIVE, "", [operand], targets=(label(target_of(g)),), values=(how,))
    else:
        g.emit(Action.EXCLUSIVE if g.has("EXCLUSIVE") else Action.WARP_SYNC, "", [operand], values=(how,))


@lowers("YIELD", "NANOSLEEP")
def give_way(g: Given) -> None:
    g.emit(Action.YIELD)


@lowers("ENDCOLLECTIVE")
def end_collective(g: Given) -> None:
    """Lanes that executed something together go on behind the WARPSYNC.COLLECTIVE that each came to."""
    g.emit(Action.END_COLLECTIVE)


@lowers("LEPC")
def own_address(g: Given) -> None:
    """The address that a call is to come back to: the host's functions do so by themselves."""
    g.emit(Action.COMPUTE, "mov.b64", [g.destination("b64"), immediate(target_of(g) if g.left else g.i.address)])


# The CTA's barriers ---------------------------------------------------------------------------------------------------


@lowers("BAR")
def cta_barrier(g: Given) -> None:
    """BAR.SYNC id, threads; BAR.RED.POPC id, threads, predicate: its result goes where the next B2R wants it."""
    number = g.source("u32")
    threads = NONE if not g.left or g.next_is_predicate else g.source("u32")
    operands = [number, threads]
    if g.has("RED") and g.has("POPC", "AND", "OR"):  # forms.py reads which
        operands = [g.result, number, threads, g.source("P")]
    elif not g.has("SYNC", "ARV"):
        raise g.unknown()
    if any(operand.kind not in (WORD, IMMEDIATE, ABSENT) for operand in (number, threads)):
        raise g.unknown("a barrier in a uniform register")
    g.emit(Action.CTA_BARRIER, "", operands)


@lowers("B2R")
def barrier_result(g: Given) -> None:
    if not g.has("RESULT"):
        raise g.unknown()
    g.emit(Action.NOTHING)


def result_behind(instructions: list[sass.SassInstruction], k: int) -> Operand:
    """Where the B2R behind a barrier puts its result; nowhere, if another barrier or a jump comes first."""
    for one in instructions[k + 1 :]:
        if one.opcode == "B2R":
            return result_of(one)
        if one.opcode in ("BAR", "BRA", "EXIT", "CALL", "RET", "BRX"):
            break
    return Operand(SINK, written=True)


def result_of(i: sass.SassInstruction) -> Operand:
    """Where a B2R.RESULT puts what a barrier's reduction gave: a register, or a predicate."""
    for operand in i.operands:
        if isinstance(operand, sass.Register) and operand.number is not None:
            kind = PREDICATE if operand.is_predicate else WORD
            return Operand(kind, number_of(operand.file, operand.number), written=True)
    return NOTHING

