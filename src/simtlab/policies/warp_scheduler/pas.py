"""Prefetch-aware scheduling (PAS of CAPS, section V-A): two-level scheduling that lets one warp of every CTA lead.

Leading warps become active first and issue first, so that every CTA's base addresses are known early. A warp whose
prefetched data have come is made active at once; a trailing warp makes room for it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import NO_WARP, bit_of, count_bits, hook, next_after

state = np.dtype([("active", "u8"), ("leading", "u8"), ("last", "i8"), ("next", "i8"), ("active_warps", "i8"), ("wake", "i8")])
parameters = {"active_warps": 8, "wake": 1}
limits = {"active_warps": (1, 64), "wake": (0, 1)}


@hook
def pick(core, own, ready, cycle):
    own.active = np.uint64(own.active & core.occupied & ~waiting(core))
    admit(own, np.uint64(ready & own.leading))
    admit(own, ready)
    choice = np.uint64(ready & own.active)
    leaders = np.uint64(choice & own.leading)
    if choice == 0:
        return NO_WARP
    return next_after(leaders if leaders != 0 else choice, own.last)


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp


@hook
def on_cta(core, own, cta, cycle):
    for k in range(core.ctas[int(cta)].n_warps):
        own.leading = np.uint64(own.leading & ~bit_of(core.slot_of[int(cta), k]))
    own.leading = np.uint64(own.leading | bit_of(core.slot_of[int(cta), 0]))


@hook
def on_data(core, own, warp, cycle):
    bit = bit_of(warp)
    if own.wake == 0 or bit & own.active or bit & waiting(core) or bit & core.occupied == 0:
        return
    trailing = np.uint64(own.active & ~own.leading)
    if count_bits(own.active) >= own.active_warps and trailing == 0:
        return
    if count_bits(own.active) >= own.active_warps:
        pushed = own.last if trailing & bit_of(own.last) else next_after(trailing, own.last)
        own.active = np.uint64(own.active & ~bit_of(pushed))
    own.active = np.uint64(own.active | bit)


@compiled
def waiting(core):
    return np.uint64(core.long | core.barrier | core.membar)


@compiled
def admit(own, warps):
    """Make pending warps of a set active, in turn, while there is room."""
    pending = np.uint64(warps & ~own.active)
    while pending != 0 and count_bits(own.active) < own.active_warps:
        own.next = next_after(pending, own.next)
        own.active = np.uint64(own.active | bit_of(own.next))
        pending = np.uint64(pending & ~bit_of(own.next))
