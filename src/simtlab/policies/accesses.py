"""The next access of a load of core.ops, for mechanisms that count accesses or draw lots: one that is rejected is tried again."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.state import MAX_ACCESSES
from simtlab.machine.limits import MAX_WARPS

MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def instruction_number(load):
    """A number that a load has, and no other of the core."""
    return load.issued * MAX_WARPS + load.slot


@compiled
def access_number(load):
    """A number that the next access of a load has, and no other access of the core."""
    return instruction_number(load) * MAX_ACCESSES + load.served


@compiled
def is_another(seen, load):
    """Whether the next access of a load is not the one seen last, which found no room and is tried again."""
    before, seen.last = seen.last, access_number(load) + 1
    return before != seen.last


@compiled
def random_bits(load, count):
    """So many bits, as if at random, for the next access of a load; the same ones when it is tried again."""
    return np.int64(np.uint64(access_number(load)) * MIX >> np.uint64(64 - count))
