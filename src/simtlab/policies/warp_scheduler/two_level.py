"""Two-level scheduling with an active set (Gebhart et al., ISCA 2011), as CAPS's baseline has it: 8 ready warps.

A few active warps are scheduled round robin. An active warp that waits for long-latency data or at a barrier makes room for
the next pending one that does not.
"""

import numpy as np

from simtlab.policies.hook import NO_WARP, bit_of, count_bits, hook, next_after

source = "Gebhart et al., ISCA 2011; BOOK 5.1.2"
bytes_a_core = 2 * (6 + 2)  # of two schedulers: a bit for each of 48 warps, the last one active and the last one to issue
state = np.dtype([("active", "u8"), ("last", "i8"), ("next", "i8"), ("active_warps", "i8")])
parameters = {"active_warps": 8}
limits = {"active_warps": (1, 64)}
patient = True  # what it holds back it holds back until the core changes


@hook
def pick(core, own, ready, cycle):
    waiting = core.long | core.barrier | core.membar | core.draining | core.paused | core.held
    own.active = np.uint64(own.active & core.occupied & ~waiting)
    pending = np.uint64(ready & ~own.active)
    while pending != 0 and count_bits(own.active) < own.active_warps:
        own.next = next_after(pending, own.next)
        own.active = np.uint64(own.active | bit_of(own.next))
        pending = np.uint64(pending & ~bit_of(own.next))
    choice = np.uint64(ready & own.active)
    return next_after(choice, own.last) if choice != 0 else NO_WARP


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp
