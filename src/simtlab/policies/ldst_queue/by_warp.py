"""The lowest warp's oldest memory instruction is served first, as MRPB drains its queues (Jia et al., HPCA 2014; BOOK 4.4.3).

`queue_entries` is how many instructions can wait.
"""

import numpy as np

from simtlab.policies.hook import hook, waiting

state = np.dtype([("queue_entries", "i8")])
parameters = {"queue_entries": 16}
limits = {"queue_entries": (1, 64)}


@hook
def next(core, own, count, cycle):
    best = 0
    for place in range(1, count):
        if core.ops[waiting(core, place)].slot < core.ops[waiting(core, best)].slot:
            best = place
    return best
