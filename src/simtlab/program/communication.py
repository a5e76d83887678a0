"""Whether the CTAs of a kernel may see each other's work: then only one order of running them gives the same bytes each time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass

from simtlab.frontend import ast
from simtlab.program.action import Action, Service, Space
from simtlab.program.lower import Lowered

ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "STRONG"}
COMMUTE = {"add", "min", "max", "and", "or", "xor"}  # of these in any order the same is left,
INTEGERS = {"u32", "s32", "b32", "u64", "s64", "b64"}  # … of such, but not of floats


def may_communicate(instructions: Sequence[Lowered]) -> bool:
    """Atomics in global memory, volatile and ordered accesses, and the device heap are the ways to communicate."""
    for instruction in instructions:
        private = instruction.space in (Space.SHARED, Space.LOCAL)
        if instruction.action == Action.ATOMIC and not private:
            return True
        plain = instruction.action in (Action.LOAD, Action.STORE)
        if plain and not private and ORDERED & set(instruction.origin.modifiers):
            return True
        if instruction.action == Action.SERVICE and instruction.values[0] in (Service.MALLOC, Service.FREE):
            return True
        if instruction.action == Action.LIBRARY_CALL:  # whatever it calls
            return True
    return False


def depends_on_order(instructions: Sequence[Lowered]) -> bool:
    """Whether what CTAs tell each other may depend on which comes first. Integer sums, minima and the like do not, if nobody looks
    at what was there before; plain accesses that race are taken not to, either."""
    used = Counter(register for one in instructions for operand in one.origin.operands for register in registers_in(operand))
    return may_communicate([one for one in instructions if not is_reduction(one, used)])


def is_reduction(instruction: Lowered, used: Counter[str]) -> bool:
    """An atomic that commutes, and whose old value no instruction reads."""
    if instruction.action != Action.ATOMIC:
        return False
    kind, operation, *_, type = [*instruction.spelling.split("."), ""][:3]
    if operation not in COMMUTE or type not in INTEGERS:
        return False
    target = instruction.origin.operands[0] if kind == "atom" and instruction.origin.operands else None
    return kind == "red" or isinstance(target, ast.Sink) or (isinstance(target, ast.Register) and used[target.name] == 1)


def registers_in(part: object) -> Iterator[str]:
    """The names of the registers in an operand."""
    if isinstance(part, ast.Register):
        yield part.name
    elif isinstance(part, tuple):
        for one in part:
            yield from registers_in(one)
    elif is_dataclass(part):
        for field in fields(part):
            yield from registers_in(getattr(part, field.name))


def has_plain_stores(instructions: Sequence[Lowered]) -> bool:
    """Stores, other than by atomics, to where another thread may look."""
    return any(one.action == Action.STORE and one.space != Space.LOCAL for one in instructions)
