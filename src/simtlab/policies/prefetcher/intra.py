"""Intra-warp stride prefetching (CAPS, section III-A): a warp that repeats a load in a loop fetches for its next iteration.

Each warp has a small table by PC. A load whose address has moved by the same stride twice in a row is expected to go on so.
"""

import numpy as np

from simtlab.machine.limits import MAX_WARPS
from simtlab.policies.hook import hook, prefetch
from simtlab.policies.strides import begin, step, stride_t
from simtlab.policies.tables import NOT_THERE, find, key_of

ENTRIES = 4  # loads of a warp; chosen as many as CAPS follows
state = np.dtype([("table", stride_t, (MAX_WARPS, ENTRIES)), ("confidence", "i8"), ("degree", "i8")])
outlives_launch = True
parameters = {"confidence": 2, "degree": 1}
limits = {"confidence": (1, 8), "degree": (1, 8)}


@hook
def on_load(core, own, op, cycle):
    load = core.ops[op]
    table, key = own.table[load.slot], key_of(core, load)
    k = find(table, key)
    if k == NOT_THERE:
        begin(table, key, load, cycle)
        return
    step(table[k], load, 1, cycle)
    if table[k].same >= own.confidence:
        for ahead in range(1, own.degree + 1):
            for access in range(load.accesses):
                prefetch(core, load.first[access] + ahead * table[k].stride, load.slot, load.pc, cycle)


@hook
def on_cta(core, own, cta, cycle):
    for warp in range(core.ctas[int(cta)].n_warps):
        for k in range(ENTRIES):
            own.table[core.slot_of[int(cta), warp], k].updated = 0
