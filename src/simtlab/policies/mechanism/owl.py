"""OWL (Jog et al., ASPLOS 2013; BOOK 5.1.2): CTA-aware two-level scheduling for cache locality and parallel banks, and prefetching.

The CTAs of a core form groups, in the order in which they came, of as many as have at least `warps` warps. One group goes first
while any of its warps can run, then the next: groups reach their loads at different times. With `locality` the first group is
always the same, and goes first again as soon as its data are there, until its CTAs are done: fewer CTAs share the L1. Cores side by
side have CTAs side by side, which use the same rows of DRAM; with `banks` each core's first group is another, so that they use
different banks. With `prefetch` a miss also fetches so many lines after it, for CTAs that come to them later.

Choices: issue slots that the group leaves empty go to the next one that is ready; with `banks` core c begins with the group c
modulo the groups that fit. The paper's prefetcher sits at the memory and fills the L2 from a row that is open; policies cannot
prefetch there, so that ours fills the L1 on the way, and is off unless asked for. Holding back the loads of later groups was tried
and did worse. `locality` gains on lines that are read again soon; streams and CTAs with a large working set were mostly slower, by
up to 16%. `banks` gains where CTAs side by side use rows of their own in one bank, and nothing where they share rows.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CTAS
from simtlab.policies.hook import hook, prefetch
from simtlab.policies.looks import can_run
from simtlab.policies.sets import added, each, whole_numbers

source = "Jog et al., ASPLOS 2013; BOOK 5.1.2"
bytes_a_core = MAX_CTAS * 2 + 2 + 2  # of each CTA slot the CTA's number in order; how many have come, the current group
parameters = {"warps": 8, "locality": 1, "banks": 1, "prefetch": 0}
limits = {"warps": (1, 64), "locality": (0, 1), "banks": (0, 1), "prefetch": (0, 8)}
counters = {
    "held_back": ("cycles", "In which a scheduler's ready warps of later groups waited for an earlier one."),
    "switches": ("switches", "To another group, when all warps of the current one waited (without `locality`)."),
    "asked": ("lines", "Prefetched after a miss."),
}
state = np.dtype([*whole_numbers(parameters, counters, ["came", "current"]), ("order", "i8", (MAX_CTAS,))])
patient = True  # it never holds all back
LATER = 1 << 40


@hook
def on_cta_start(core, own, cta, cycle):
    own.order[cta], own.came = own.came, own.came + 1


@compiled
def turn_of(core, own, w):
    """The place of a warp's group in the order of groups; those before the core's first come after all that fit."""
    cta = core.slots[w].cta
    ctas = (own.warps + core.ctas[cta].n_warps - 1) // core.ctas[cta].n_warps
    group, fit = own.order[cta] // ctas, max(core.most_ctas // ctas, 1)
    return 2 * (group + fit) - 1 if own.banks and group < core.number % fit else 2 * group


@compiled
def earliest(core, own, warps, first):
    """The first turn of a set of warps, counted from `first` on."""
    best = LATER + LATER
    for w in each(warps):
        best = min(best, turn_of(core, own, w) + LATER * (turn_of(core, own, w) < first))
    return best


@hook
def allow(core, own, ready, cycle):
    if own.locality == 0:
        current = earliest(core, own, np.uint64(can_run(core) | ready), own.current) % LATER
        own.switches += current != own.current
        own.current = current
    turn, chosen = earliest(core, own, ready, own.current) % LATER, np.uint64(0)
    for w in each(ready):
        if turn_of(core, own, w) == turn:
            chosen = added(chosen, w)
    own.held_back += chosen != ready
    return chosen


@hook
def on_l1_miss(core, own, op, cycle):
    load = core.ops[op]
    for k in range(own.prefetch):
        own.asked += 1
        prefetch(core, load.lines[load.served] + (k + 1) * core.l1d.line_bytes, load.slot, load.pc, cycle)
