"""Who has touched which line: for each line and load of a CTA the first visitor, and whether there were others."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CTAS

PLACES, PROBES, NOBODY = 1 << 16, 16, -1
N_LOADS = 64
ANY_LOAD = N_LOADS  # the visitors of a line are loads then, and not warps
entry_t = np.dtype([("key", "i8"), ("generation", "i4"), ("first", "i2"), ("several", "i2")])
fields = [("generation", "i4", (MAX_CTAS,)), ("table", entry_t, (PLACES,))]  # of a mechanism's state


@compiled
def forget_cta(own, cta):
    """A new CTA is in a slot: what the last one there has touched is forgotten."""
    own.generation[int(cta)] += 1


@compiled
def note(entry, who):
    """A line's first visitor is remembered, and that there were others."""
    entry.several = entry.several or (entry.first != NOBODY and entry.first != who)
    entry.first = who if entry.first == NOBODY else entry.first


@compiled
def find(own, cta, load, line):
    """The place of a line that a CTA's load may have touched, a new one if it has not; NOBODY if there is none. Lines of CTAs that
    have gone give up theirs."""
    key = (line * (N_LOADS + 1) + load) * MAX_CTAS + cta + 1
    home, free = np.int64(np.uint64(np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)), NOBODY
    for k in range(PROBES):
        place = int(home + k) % PLACES
        entry = own.table[place]
        is_old = entry.key == 0 or entry.generation != own.generation[(entry.key - 1) % MAX_CTAS]
        if entry.key == key and not is_old:
            return place
        if is_old and free == NOBODY:
            free = place
        if entry.key == 0:
            break
    if free != NOBODY:
        entry = own.table[free]
        entry.key, entry.generation, entry.first, entry.several = key, own.generation[cta], NOBODY, 0
    return free
