"""Who goes first in the load/store unit's queue, for mechanisms that reorder it: places in the queue, 0 the first."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.timing import Memory
from simtlab.policies.looks import is_in_l1, waiting

SHARED = int(Memory.SHARED)


@compiled
def of_lowest_warp(core, count):
    """The first instruction of the warp with the lowest slot."""
    best = 0
    for place in range(1, count):
        if core.ops[waiting(core, place)].slot < core.ops[waiting(core, best)].slot:
            best = place
    return best


@compiled
def issued_first(core, count):
    """The instruction that was issued longest ago."""
    best = 0
    for place in range(1, count):
        if core.ops[waiting(core, place)].issued < core.ops[waiting(core, best)].issued:
            best = place
    return best


@compiled
def first_that_hits(core, count):
    """The first instruction whose next access needs nothing of the memory beyond the core; `count` if there is none."""
    for place in range(count):
        if hits(core, waiting(core, place)):
            return place
    return count


@compiled
def miss_of(core, warp, count):
    """Of the loads that miss, before anything that does not, the first of a warp, or else of the oldest warp."""
    best, best_age = 0, np.int64(-1)
    for place in range(count):
        op = waiting(core, place)
        age = np.int64(0) if core.ops[op].slot == warp else core.slots[core.ops[op].slot].age + 1
        if not is_miss(core, op):
            break
        if best_age < 0 or age < best_age:
            best, best_age = place, age
    return best


@compiled
def is_miss(core, op):
    """Whether an instruction is a load whose next access would miss in the L1."""
    return core.ops[op].deterministic >= 0 and not hits(core, op)


@compiled
def hits(core, op):
    """Whether the next access of an instruction needs nothing of the memory beyond the core."""
    memory = core.ops[op]
    if memory.memory == SHARED:
        return True
    return memory.deterministic >= 0 and memory.served < memory.accesses and is_in_l1(core, op)
