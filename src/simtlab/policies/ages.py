"""Warps by age, for mechanisms that let only the oldest of them do something."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.scoreboard import bit_of


@compiled
def older_than(core, warps, w):
    """How many warps of a set came to the core before a warp."""
    count, age = 0, core.slots[w].age
    while warps != 0:
        other = lowest_bit(warps)
        warps = np.uint64(warps & ~bit_of(other))
        count += core.slots[other].age < age
    return count


@compiled
def among_oldest(core, warps, some, limit):
    """Those of some warps of a set that are among its `limit` oldest."""
    found = np.uint64(0)
    while some != 0:
        w = lowest_bit(some)
        some = np.uint64(some & ~bit_of(w))
        if older_than(core, warps, w) < limit:
            found = np.uint64(found | bit_of(w))
    return found
