"""Scores of warps that fall by one a cycle, and who is below a cutoff when they are stacked (Rogers et al., MICRO 2012; Fig 5.1).

A mechanism's records of warps have the fields `score` and, the cycle in which it was set, `since`.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.policies.sets import added, each, removed


@compiled
def below_cutoff(core, warps, least, cycle):
    """The warps whose scores, stacked from the highest down, begin below `least` for each warp, and those at a barrier."""
    left, allowed = np.uint64(core.occupied & ~core.barrier), core.barrier
    room = least * count_bits(core.occupied)
    while left != 0 and room > 0:
        best = highest(warps, left, least, cycle)
        room -= score_of(warps[best], least, cycle)
        allowed, left = added(allowed, best), removed(left, best)
    return allowed


@compiled
def score_of(warp, least, cycle):
    return max(warp.score - (cycle - warp.since), least)


@compiled
def highest(warps, some, least, cycle):
    """The warp of a set with the highest score, of equal ones the first."""
    best = lowest_bit(some)
    for w in each(some):
        if score_of(warps[w], least, cycle) > score_of(warps[best], least, cycle):
            best = w
    return best
