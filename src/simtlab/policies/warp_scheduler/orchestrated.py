"""Prefetch-aware two-level scheduling of ORCH (Jog et al., ISCA 2013): consecutive warps are in different groups.

Two-level scheduling whose active warps come from one group while it has any that can run, then from the next. A group's
warps are spread over the core, so that what they prefetch around their lines is for warps of groups to come.
"""

import numpy as np

from simtlab.policies.hook import NO_WARP, bit_of, count_bits, hook, next_after

state = np.dtype([("active", "u8"), ("last", "i8"), ("group", "i8"), ("active_warps", "i8")])
parameters = {"active_warps": 8}
limits = {"active_warps": (1, 64)}


@hook
def pick(core, own, ready, cycle):
    waiting = core.long | core.barrier | core.membar | core.draining | core.paused | core.held
    own.active = np.uint64(own.active & core.occupied & ~waiting)
    groups = max(1, core.warp_slots // (core.schedulers * own.active_warps))
    first = own.group
    for turn in range(groups):
        group = (first + turn) % groups
        for w in range(group, core.warp_slots, groups):
            if count_bits(own.active) < own.active_warps and ready & bit_of(w) & ~own.active:
                own.active = np.uint64(own.active | bit_of(w))
                own.group = group
    choice = np.uint64(ready & own.active)
    return next_after(choice, own.last) if choice != 0 else NO_WARP


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp
