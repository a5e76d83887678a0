"""Inter-warp stride prefetching (CAPS, section III-B): a load's addresses in two warps predict those of the warps after.

One table by PC for the core. The stride is that of the address over the number of the warp slot, whatever CTA the warps
belong to; seen twice in a row, it is expected of the next warps.
"""

import numpy as np

from simtlab.policies.hook import hook, prefetch
from simtlab.policies.strides import begin, step, stride_t
from simtlab.policies.tables import NOT_THERE, find, key_of

ENTRIES = 8  # loads of a core; chosen as many as the inter-thread table of MTA has
state = np.dtype([("table", stride_t, (ENTRIES,)), ("confidence", "i8"), ("degree", "i8")])
outlives_launch = True
parameters = {"confidence": 2, "degree": 8}  # the degree is chosen: CAPS gives none, and traffic follows it
limits = {"confidence": (1, 8), "degree": (1, 48)}


@hook
def on_load(core, own, op, cycle):
    load, key = core.ops[op], key_of(core, core.ops[op])
    k = find(own.table, key)
    if k == NOT_THERE:
        begin(own.table, key, load, cycle)
        return
    if load.slot == own.table[k].warp:
        return
    step(own.table[k], load, load.slot - own.table[k].warp, cycle)
    if own.table[k].same >= own.confidence:
        for ahead in range(1, own.degree + 1):
            if load.slot + ahead < core.warp_slots:
                for access in range(load.accesses):
                    prefetch(core, load.first[access] + ahead * own.table[k].stride, load.slot + ahead, load.pc, cycle)
