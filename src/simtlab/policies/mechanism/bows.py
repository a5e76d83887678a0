"""Back-off warp spinning (ElTantawy and Aamodt, HPCA 2018; BOOK 5.1.4): warps that spin on a lock are found, go last, and wait.

A warp that takes a branch confirmed to be that of a spin loop (policies/spinning.py), and so has given its locks back, goes behind
all others: it issues only where no warp does that is not backed off, first in, first out. Then it is a warp as any other, until it
takes the branch again; but its turns begin at least `delay` cycles apart. With `adaptive` the delay changes every `period` cycles:
by a `step` more while more than `spin_percent` of the instructions are such branches, else by a step less; by two steps less if
there were fewer instructions for each of them than `useful_percent` of those in the period before.

Choices: the paper's table of parameters was not at hand: thresholds and steps are chosen. The delay begins at 0 and `spin_percent`
is 10, for with 1000 and 5 the crowded bank of the test (ATM with few accounts) gains little; HT and ATM at `small` gain with 5, and
with fixed delays, and not with 10 (docs/papers/surveys.md). A search through equal values, whose loop compares nothing else, looks
like spinning.
"""

import numpy as np

from simtlab.machine.limits import MAX_WARPS
from simtlab.policies.hook import bit_of, hook
from simtlab.policies.sets import added, each, removed, whole_numbers
from simtlab.policies.spinning import BYTES_A_WARP, BYTES_OF_BRANCHES, branches_t, forget, history_t, note_branch, note_comparison

source = "ElTantawy and Aamodt, HPCA 2018; BOOK 5.1.4"
# Detection; of each of 48 warps 14 bits of delay and 6 of its place in the queue; the delay and the counts of two periods.
bytes_a_core = 48 * BYTES_A_WARP + BYTES_OF_BRANCHES + 48 * 20 // 8 + 10
parameters = {
    "threshold": 4, "adaptive": 1, "delay": 0, "step": 250, "most": 10_000, "period": 1000, "spin_percent": 10,
    "useful_percent": 80,
}  # fmt: skip
limits = {"threshold": (1, 15), "adaptive": (0, 1), "step": (1, None), "spin_percent": (0, 100), "useful_percent": (0, 100)}
counters = {
    "found": ("times", "A branch was confirmed as that of a loop that spins."),
    "spun": ("turns", "Of such loops, after which a warp backed off."),
    "held_back": ("cycles", "In which a scheduler's ready warps waited, backed off."),
}
warp_t = np.dtype([("history", history_t), *whole_numbers(["queued", "next"])])
fields = whole_numbers(parameters, counters, ["limit", "issued", "turns", "before"])
state = np.dtype([*fields, ("warp", warp_t, (MAX_WARPS,)), ("branches", branches_t), ("backed_off", "u8")])


@hook
def on_compare(core, own, warp, cycle):
    note_comparison(core, own.warp[warp].history, warp)


@hook
def on_loop(core, own, warp, cycle):
    spins, is_new = note_branch(own.branches, core.slots[warp].head, own.warp[warp].history.spins, own.threshold)
    own.found += is_new
    if spins:
        own.spun += 1
        own.turns += 1
        own.backed_off, own.warp[warp].queued = added(own.backed_off, warp), cycle


@hook
def on_issue(core, own, warp, cycle):
    """A warp that was backed off begins another turn, unless what it has issued is the branch of the last one."""
    own.issued += 1
    if own.backed_off & bit_of(warp) and own.warp[warp].queued < cycle:
        own.backed_off, own.warp[warp].next = removed(own.backed_off, warp), cycle + own.limit


@hook
def allow(core, own, ready, cycle):
    others, best, since = np.uint64(ready & ~own.backed_off), np.uint64(0), cycle
    if others != 0:
        own.held_back += others != ready
        return others
    for w in each(ready):
        if own.warp[w].next <= cycle and own.warp[w].queued < since:
            best, since = bit_of(w), own.warp[w].queued
    own.held_back += best == 0
    return best


@hook
def on_tick(core, own, count, cycle):
    useful = own.issued // own.turns if own.turns > 0 else 0
    if count == 0:
        own.limit = own.delay
    elif own.adaptive:
        own.limit += own.step if 100 * own.turns > own.spin_percent * own.issued else -own.step
        if own.turns > 0 and 100 * useful < own.useful_percent * own.before:
            own.limit -= 2 * own.step
        own.limit = min(max(own.limit, 0), own.most)
    own.before, own.issued, own.turns = useful, 0, 0


@hook
def on_warp_end(core, own, warp, cycle):
    own.backed_off, own.warp[warp].next = removed(own.backed_off, warp), 0
    forget(own.warp[warp].history)
