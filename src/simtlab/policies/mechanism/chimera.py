"""Chimera (Park et al., ASPLOS 2015; BOOK 5.1.3): a CTA makes room for an urgent kernel by switch, drain or flush, the cheapest.

Of each CTA that could go it estimates how long that takes and what throughput it costs, in cycles of the core: a context switch
takes the time to save the context and costs twice that; draining takes what the CTA has left to do, by the instructions that CTAs
of its kernel took so far and its own pace, and costs nothing; a flush takes no time and costs all the CTA has done, and is possible
while the CTA has not overwritten what it read. The cheapest that meets `latency_cycles` goes; if none does, the fastest.

Choices: one CTA of a core at a time; before any CTA of a kernel has ended, draining is taken to last for ever; a CTA's pace is its
instructions over the time it has been there.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import DRAIN, FLUSH, NOTHING, SWITCH, bit_of, can_flush, hook, lowest_bit, stop, switch_cycles

source = "Park et al., ASPLOS 2015; BOOK 5.1.3"
bytes_a_core = 8 * 3 * 4  # of eight CTAs: instructions, start, and whether it can be flushed, beside a kernel's average
MAX_CTAS, MAX_KERNELS, FOR_EVER = 32, 64, 1 << 40
state = np.dtype([
    ("latency_cycles", "i8"), ("switch", "i8"), ("drain", "i8"), ("flush", "i8"),
    ("done", "i8", (MAX_CTAS,)), ("since", "i8", (MAX_CTAS,)),
    ("ended", "i8", (MAX_KERNELS,)), ("took", "i8", (MAX_KERNELS,)), ("switched", "i8"), ("drained", "i8"), ("flushed", "i8"),
])  # fmt: skip
parameters = {"latency_cycles": 10000, "switch": 1, "drain": 1, "flush": 1}
limits = {"latency_cycles": (0, None), "switch": (0, 1), "drain": (0, 1), "flush": (0, 1)}
counters = {
    "switched": ("CTAs", "Whose context was saved."), "drained": ("CTAs", "That were let run to their end."),
    "flushed": ("CTAs", "That were dropped, to begin anew."),
}  # fmt: skip


@hook
def on_cta_start(core, own, cta, cycle):
    own.done[cta], own.since[cta] = 0, cycle


@hook
def on_issue(core, own, warp, cycle):
    own.done[core.slots[warp].cta] += 1


@hook
def on_cta_end(core, own, cta, cycle):
    own.ended[core.cta_kernel[cta]] += 1
    own.took[core.cta_kernel[cta]] += own.done[cta]


@compiled
def left_to_do(core, own, cta, cycle):
    """The cycles that a CTA will take still, at its own pace."""
    kernel = core.cta_kernel[cta]
    if own.ended[kernel] == 0 or own.done[cta] == 0:
        return FOR_EVER
    left = max(own.took[kernel] // own.ended[kernel] - own.done[cta], 0)
    return left * (cycle - own.since[cta]) // own.done[cta]


@compiled
def estimate(core, own, cta, how, cycle):
    """How long a way takes, and what it costs."""
    if how == SWITCH:
        takes = switch_cycles(core, cta)
        return (takes, 2 * takes) if own.switch else (FOR_EVER, FOR_EVER)
    if how == FLUSH:
        return (0, cycle - own.since[cta]) if own.flush and can_flush(core, cta) else (FOR_EVER, FOR_EVER)
    return (left_to_do(core, own, cta, cycle), 0) if own.drain else (FOR_EVER, FOR_EVER)


@hook
def preemption_choose(core, own, could, cycle):
    best, least, quickest = np.int64(NOTHING), FOR_EVER, FOR_EVER
    meets = False
    while could != 0:
        cta = lowest_bit(could)
        could = np.uint64(could & ~bit_of(cta))
        for how in (SWITCH, DRAIN, FLUSH):
            takes, costs = estimate(core, own, cta, how, cycle)
            in_time = takes <= own.latency_cycles
            if (in_time and (not meets or costs < least)) or (not in_time and not meets and takes < quickest):
                best, least, quickest, meets = stop(cta, how), costs, takes, in_time
    if best != NOTHING:
        own.switched += best % 8 == SWITCH
        own.drained += best % 8 == DRAIN
        own.flushed += best % 8 == FLUSH
    return best
