"""Memory request prioritization (Jia, Shaw, Martonosi, HPCA 2014; BOOK 4.4.3): requests reordered by warp, stalls bypassed.

In front of the L1 stand first-in-first-out queues, one for each warp. The lowest warp whose queue is not empty is served first
(`reorder`), so that its lines are used again before others evict them. A miss that finds all lines of its set in flight, an
associativity stall, goes around the L1 (`bypass`), and those behind it need not wait.

Choices: the queues hold memory instructions, with all their requests, `queue_entries` in all, those for shared memory too; one
that has begun waits when a lower warp's comes. One that was issued more than `patience` cycles ago goes first: else warps that
spin could keep the one they wait for from the L1 for ever. Only a set without a free line bypasses: not a lack of MSHRs, nor one
of room towards the network. With `reorder` off the queue is as long, and served in order of arrival.
"""

import numpy as np

from simtlab.machine.memory.l1 import Failure
from simtlab.policies.hook import hook, waiting
from simtlab.policies.looks import access_number

source = "Jia, Shaw, Martonosi, HPCA 2014; BOOK 4.4.3"
bytes_a_core = 16 * 32 * 6 + 16 * 4  # 16 instructions, each up to 32 line addresses of 48 bits, and its warp, pc and mask
NO_LINE = int(Failure.TAG)
state = np.dtype([
    ("queue_entries", "i8"), ("reorder", "i8"), ("bypass", "i8"), ("patience", "i8"), ("last", "i8"), ("reordered", "i8"),
    ("bypassed", "i8"),
])  # fmt: skip
parameters = {"queue_entries": 16, "reorder": 1, "bypass": 1, "patience": 16_000}
limits = {"queue_entries": (1, 64), "reorder": (0, 1), "bypass": (0, 1), "patience": (1, None)}
counters = {
    "reordered": ("instructions", "Served before an older one of another warp."),
    "bypassed": ("accesses", "Sent around the L1, for no line of their set was free."),
}


@hook
def ldst_queue_next(core, own, count, cycle):
    """The oldest instruction of the lowest warp, unless one has waited too long."""
    best = oldest = 0
    if own.reorder:
        for place in range(1, count):
            best = place if core.ops[waiting(core, place)].slot < core.ops[waiting(core, best)].slot else best
            oldest = place if core.ops[waiting(core, place)].issued < core.ops[waiting(core, oldest)].issued else oldest
        if cycle - core.ops[waiting(core, oldest)].issued > own.patience:
            best = oldest
    own.reordered += best > 0
    return best


@hook
def l1_allocation_bypass_stall(core, own, op, cycle):
    if not own.bypass or core.ldst_blocked != NO_LINE:
        return 0
    own.bypassed += own.last != access_number(core, op)
    own.last = access_number(core, op)
    return 1
