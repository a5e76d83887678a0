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
from simtlab.policies.hook import DRAIN, FLUSH, NOTHING, SWITCH, can_flush, hook, stop, switch_cycles
from simtlab.policies.sets import each, whole_numbers

source = "Park et al., ASPLOS 2015; BOOK 5.1.3"
bytes_a_core = 8 * 3 * 4  # of eight CTAs: instructions, start, and whether it can be flushed, beside a kernel's average
MAX_CTAS, MAX_KERNELS, FOR_EVER = 32, 64, 1 << 40
parameters = {"latency_cycles": 10000, "switch": 1, "drain": 1, "flush": 1}
limits = {"latency_cycles": (0, None), "switch": (0, 1), "drain": (0, 1), "flush": (0, 1)}
counters = {
    "switched": ("CTAs", "Whose context was saved."), "drained": ("CTAs", "That were let run to their end."),
    "flushed": ("CTAs", "That were dropped, to begin anew."),
}  # fmt: skip
cta_t, kernel_t = np.dtype(whole_numbers(["done", "since"])), np.dtype(whole_numbers(["ended", "took"]))
state = np.dtype([*whole_numbers(parameters, counters), ("cta", cta_t, (MAX_CTAS,)), ("kernel", kernel_t, (MAX_KERNELS,))])


@hook
def on_cta_start(core, own, cta, cycle):
    own.cta[cta].done, own.cta[cta].since = 0, cycle


@hook
def on_issue(core, own, warp, cycle):
    own.cta[core.slots[warp].cta].done += 1


@hook
def on_cta_end(core, own, cta, cycle):
    kernel = own.kernel[core.cta_kernel[cta]]
    kernel.ended += 1
    kernel.took += own.cta[cta].done


@compiled
def left_to_do(core, own, cta, cycle):
    """The cycles that a CTA will take still, at its own pace."""
    kernel, mine = own.kernel[core.cta_kernel[cta]], own.cta[cta]
    if kernel.ended == 0 or mine.done == 0:
        return FOR_EVER
    return max(kernel.took // kernel.ended - mine.done, 0) * (cycle - mine.since) // mine.done


@compiled
def estimate(core, own, cta, how, cycle):
    """How long a way takes, and what it costs."""
    if how == SWITCH:
        takes = switch_cycles(core, cta)
        return (takes, 2 * takes) if own.switch else (FOR_EVER, FOR_EVER)
    if how == FLUSH:
        return (0, cycle - own.cta[cta].since) if own.flush and can_flush(core, cta) else (FOR_EVER, FOR_EVER)
    return (left_to_do(core, own, cta, cycle), 0) if own.drain else (FOR_EVER, FOR_EVER)


@hook
def preemption_choose(core, own, could, cycle):
    best, least, quickest, meets = np.int64(NOTHING), FOR_EVER, FOR_EVER, False
    for cta in each(could):
        for how in (SWITCH, DRAIN, FLUSH):
            takes, costs = estimate(core, own, cta, how, cycle)
            in_time = takes <= own.latency_cycles
            if (in_time and (not meets or costs < least)) or (not in_time and not meets and takes < quickest):
                best, least, quickest, meets = stop(cta, how), costs, takes, in_time
    own.switched += best != NOTHING and best % 8 == SWITCH
    own.drained += best != NOTHING and best % 8 == DRAIN
    own.flushed += best != NOTHING and best % 8 == FLUSH
    return best
