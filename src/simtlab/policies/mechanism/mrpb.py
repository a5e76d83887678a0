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

from simtlab.policies.accesses import is_another
from simtlab.policies.congestion import found_no_line
from simtlab.policies.hook import hook, waiting
from simtlab.policies.ldst_order import issued_first, of_lowest_warp
from simtlab.policies.sets import whole_numbers

source = "Jia, Shaw, Martonosi, HPCA 2014; BOOK 4.4.3"
bytes_a_core = 16 * 32 * 6 + 16 * 4  # 16 instructions, each up to 32 line addresses of 48 bits, and its warp, pc and mask
parameters = {"queue_entries": 16, "reorder": 1, "bypass": 1, "patience": 16_000}
limits = {"queue_entries": (1, 64), "reorder": (0, 1), "bypass": (0, 1), "patience": (1, None)}
counters = {
    "reordered": ("instructions", "Served before an older one of another warp."),
    "bypassed": ("accesses", "Sent around the L1, for no line of their set was free."),
}
state = np.dtype(whole_numbers(parameters, counters, ["last"]))


@hook
def ldst_queue_next(core, own, count, cycle):
    """The oldest instruction of the lowest warp, unless one has waited too long."""
    if not own.reorder:
        return 0
    oldest = issued_first(core, np.int64(count))
    has_waited = cycle - core.ops[waiting(core, oldest)].issued
    place = oldest if has_waited > own.patience else of_lowest_warp(core, np.int64(count))
    own.reordered += place > 0
    return place


@hook
def l1_allocation_bypass_stall(core, own, op, cycle):
    if not own.bypass or not found_no_line(core):
        return 0
    own.bypassed += is_another(own, core.ops[op])
    return 1
