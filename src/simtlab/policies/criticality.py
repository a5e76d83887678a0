"""Warp criticality (Lee, Arunkumar, Wu, ISCA 2015): instructions left times the mean cycles an instruction, and stalls so far.

Choices: the paper adds the length of a path at each branch and takes one off at each instruction. Here what a warp has left is how
far its pc, in a loop the loop's first, is behind the furthest that a warp of the core has come to: one that takes the longer way
is behind, and stays so until it leaves the loop. The mean is that of all warps in the core: by its own, a warp that is preferred
would at once seem to have little left.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import NO_LOOP, count_bits, fact_of, lowest_bit, next_pc
from simtlab.policies.sets import added, each

MAX_WARPS, MAX_SCHEDULERS = 64, 4
warp_t = np.dtype([("began", "i8"), ("issued", "i8")])
fields = [  # of a mechanism's state
    ("warp", warp_t, (MAX_WARPS,)), ("together", warp_t), ("furthest", "i8"), ("last", "i8", (MAX_SCHEDULERS,)),
]  # fmt: skip
BYTES = 49 * 8 + 4 + 2  # of each of 48 warps, and of all, when it began and what it issued; the furthest pc; a warp a scheduler


@compiled
def note_issue(core, own, w, cycle):
    """A warp has issued: one instruction more, and the scheduler's choice."""
    count(own.warp[w], cycle)
    count(own.together, cycle)
    own.furthest = max(own.furthest, place_of(core, w))
    own.last[core.scheduler] = w


@compiled
def count(warp, cycle):
    if warp.issued == 0:
        warp.began = cycle
    warp.issued += 1


@compiled
def place_of(core, w):
    """Where a warp is, in a loop its start: it is likely to go round again."""
    pc = next_pc(core, w)
    fact = fact_of(core, w, pc)
    return pc if fact.loop == NO_LOOP else np.int64(fact.header)


@compiled
def criticality(core, own, w, cycle):
    """The higher, the later a warp will end. A stall is a cycle in which it did not issue."""
    warp, left = own.warp[w], own.furthest - place_of(core, w)
    if warp.issued == 0:
        return np.int64(0)
    cycles_an_instruction = (cycle - own.together.began) * count_bits(core.occupied) // own.together.issued
    return left * cycles_an_instruction + cycle - warp.began - warp.issued


@compiled
def most_critical(core, own, warps, cycle):
    """The most critical warp of a set, of equal ones the oldest."""
    best = lowest_bit(warps)
    highest = criticality(core, own, best, cycle)
    for w in each(warps):
        score = criticality(core, own, w, cycle)
        if score > highest or (score == highest and core.slots[w].age < core.slots[best].age):
            best, highest = w, score
    return best


@compiled
def above_mean(core, own, cycle):
    """The warps of a core that are more critical than its mean."""
    total, found = np.int64(0), np.uint64(0)
    for w in each(core.occupied):
        total += criticality(core, own, w, cycle)
    for w in each(core.occupied):
        if criticality(core, own, w, cycle) * count_bits(core.occupied) > total:
            found = added(found, w)
    return found
