"""Prefetch-aware scheduling (PAS of CAPS, section V-A): two-level scheduling that lets one warp of every CTA lead.

Leading warps have a place among the active ones whenever they do not wait, and issue first, so that every CTA's base
addresses are known early. A warp whose prefetched data have come is made active at once. For either a trailing warp goes
back to the pending ones if it must.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import NO_WARP, bit_of, count_bits, hook, next_after

state = np.dtype(
    [("active", "u8"), ("leading", "u8"), ("last", "i8"), ("next", "i8"), ("scheduler", "i8"),
     ("active_warps", "i8"), ("wake", "i8")]
)  # fmt: skip
parameters = {"active_warps": 8, "wake": 1}
limits = {"active_warps": (1, 64), "wake": (0, 1)}
patient = True  # what it holds back it holds back until the core changes


@hook
def pick(core, own, ready, cycle):
    own.active = np.uint64((own.active | own.leading) & able(core, own))
    make_room(own, own.active_warps)
    pending = np.uint64(ready & ~own.active)
    while pending != 0 and count_bits(own.active) < own.active_warps:
        own.next = next_after(pending, own.next)
        own.active = np.uint64(own.active | bit_of(own.next))
        pending = np.uint64(pending & ~bit_of(own.next))
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
    if own.wake and bit_of(warp) & able(core, own) & ~own.active:
        make_room(own, own.active_warps - 1)
        if count_bits(own.active) < own.active_warps:
            own.active = np.uint64(own.active | bit_of(warp))


@compiled
def able(core, own):
    """The scheduler's warps that neither wait for long nor have ended nor belong to a paused CTA."""
    waiting = core.long | core.barrier | core.membar | core.draining | core.paused | core.held
    return np.uint64(core.occupied & core.mine[own.scheduler] & ~waiting)


@compiled
def make_room(own, most):
    """Push trailing warps out, the one that issued last first, until no more than so many warps are active."""
    trailing = np.uint64(own.active & ~own.leading)
    while trailing != 0 and count_bits(own.active) > most:
        pushed = own.last if trailing & bit_of(own.last) else next_after(trailing, own.last)
        own.active = np.uint64(own.active & ~bit_of(pushed))
        trailing = np.uint64(trailing & ~bit_of(pushed))
