"""Neighbouring CTAs on one core (LOADS section X-B): a core takes `size` CTAs in a row before it goes on to the next ones that
nobody has. Cores take one CTA in turn, as in round-robin. What is left at the end of the grid goes to whoever has room."""

import numpy as np

from simtlab.machine.limits import MAX_CORES
from simtlab.policies.hook import NEXT_CTA, NO_CORE, hook, waits

parameters = {"size": 4}
limits = {"size": (1, 1024)}
state = np.dtype([
    ("size", "i8"), ("turn", "i8"),
    ("kernel", "i8"), ("fresh", "i8"),  # the first CTA of the kernel that is in no core's row
    ("next", "i8", (MAX_CORES,)), ("end", "i8", (MAX_CORES,)),  # the row that each core is in
])  # fmt: skip


@hook
def choose(gpu, own, kernel, cycle):
    for k in range(gpu.cores):
        c = (own.turn + k) % gpu.cores
        if gpu.room[c]:
            own.turn = (c + 1) % gpu.cores
            return c
    return NO_CORE


@hook
def which(gpu, own, core, cycle):
    c = np.int64(core)
    if own.kernel != gpu.placing + 1:  # another kernel: nobody is in a row of it
        own.kernel, own.fresh = gpu.placing + 1, gpu.kernel[gpu.placing].first_waiting
        for k in range(gpu.cores):
            own.next[k], own.end[k] = 0, 0
    if own.next[c] == own.end[c]:
        own.next[c], own.end[c] = own.fresh, own.fresh + own.size
        own.fresh += own.size
    cta = own.next[c]
    if not waits(gpu, cta):
        own.next[c] = own.end[c]
        return NEXT_CTA
    own.next[c] += 1
    return cta
