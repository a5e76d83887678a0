"""Prefetch-aware scheduling on loose round robin, as CAPS, section V-A, sketches it: ready leading warps take turns first."""

import numpy as np

from simtlab.policies.hook import bit_of, hook, next_after

state = np.dtype([("leading", "u8"), ("last", "i8")])


@hook
def pick(core, own, ready, cycle):
    leaders = np.uint64(ready & own.leading)
    return next_after(leaders if leaders != 0 else ready, own.last)


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp


@hook
def on_cta(core, own, cta, cycle):
    for k in range(core.ctas[int(cta)].n_warps):
        own.leading = np.uint64(own.leading & ~bit_of(core.slot_of[int(cta), k]))
    own.leading = np.uint64(own.leading | bit_of(core.slot_of[int(cta), 0]))
