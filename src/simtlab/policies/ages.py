"""Warps by age, for mechanisms that let only the oldest of them do something."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import count_bits
from simtlab.policies.sets import added, each

OPEN_EVERY = 32  # intervals


@compiled
def older_than(core, warps, w):
    """How many warps of a set came to the core before a warp."""
    count, age = 0, core.slots[w].age
    for other in each(warps):
        count += core.slots[other].age < age
    return count


@compiled
def among_oldest(core, warps, some, limit):
    """Those of some warps of a set that are among its `limit` oldest."""
    found = np.uint64(0)
    for w in each(some):
        if older_than(core, warps, w) < limit:
            found = added(found, w)
    return found


@compiled
def oldest_that_run(core, ready, limit):
    """Those of the ready warps that are among the `limit` oldest; a warp at a barrier does not count."""
    could = np.uint64(core.occupied & ~core.barrier)
    return ready if limit >= count_bits(could) else among_oldest(core, could, ready, limit)


@compiled
def is_open(count):
    """Whether in an interval all warps may issue, so that none that others wait for is held back for ever."""
    return count % OPEN_EVERY == OPEN_EVERY - 1
