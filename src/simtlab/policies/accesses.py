"""Accesses of loads, for mechanisms that count them: one that is rejected is tried again, and is still the same."""

from simtlab.compiled import compiled
from simtlab.machine.core.state import MAX_ACCESSES
from simtlab.machine.limits import MAX_WARPS


@compiled
def access_number(load):
    """A number that the next access of a load of core.ops has, and no other access of the core."""
    return (load.issued * MAX_WARPS + load.slot) * MAX_ACCESSES + load.served + 1


@compiled
def is_another(seen, load):
    """Whether the next access of a load is not the one seen last, which found no room towards the network and is tried again."""
    before, seen.last = seen.last, access_number(load)
    return before != seen.last
