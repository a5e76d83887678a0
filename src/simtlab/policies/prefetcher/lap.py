"""Locality-aware prefetching (Jog et al., "Orchestrated Scheduling and Prefetching for GPGPUs", ISCA 2013; CAPS, VI-B).

Lines are grouped in macro blocks of four. The second line of a block to miss fetches the rest of it.
"""

import numpy as np

from simtlab.policies.hook import count_bits, hook, prefetch
from simtlab.policies.tables import NOT_THERE, find, place_for

ENTRIES = 64  # macro blocks remembered; chosen
state = np.dtype(
    [("table", [("key", "i8"), ("missed", "u8"), ("updated", "i8")], (ENTRIES,)), ("block_lines", "i8"), ("misses", "i8")]
)
outlives_launch = True
parameters = {"block_lines": 4, "misses": 2}
limits = {"block_lines": (2, 32), "misses": (1, 32)}


@hook
def on_miss(core, own, op, cycle):
    load = core.ops[op]
    line = load.lines[load.served] // core.l1d.line_bytes
    block = line // own.block_lines
    k = find(own.table, block)
    if k == NOT_THERE:
        k = place_for(own.table)
        own.table[k].key, own.table[k].missed = block, 0
    entry = own.table[k]
    entry.updated = cycle
    entry.missed |= np.uint64(1) << np.uint64(line % own.block_lines)
    if count_bits(entry.missed) >= own.misses:
        for place in range(own.block_lines):
            if entry.missed & (np.uint64(1) << np.uint64(place)) == 0:
                prefetch(core, (block * own.block_lines + place) * core.l1d.line_bytes, load.slot, load.pc, cycle)
        entry.updated = 0  # it begins anew
