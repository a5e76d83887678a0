"""Whether the CTAs of a kernel may see each other's work: then only one order of running them gives the same bytes each time."""

from collections.abc import Sequence

from simtlab.program.action import Action, Service, Space
from simtlab.program.lower import Lowered

ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "STRONG"}


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


def has_plain_stores(instructions: Sequence[Lowered]) -> bool:
    """Stores, other than by atomics, to where another thread may look."""
    return any(one.action == Action.STORE and one.space != Space.LOCAL for one in instructions)
