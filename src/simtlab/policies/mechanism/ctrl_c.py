"""Control-loop bypassing by instruction (Lee, Wu, ICCD 2016; BOOK 4.4.3): loads whose lines are not used again leave the L1 alone.

A table has, for each load by its pc, how often its lines were used again before they were evicted, and a level: so many
sixteenths of its accesses, at random, go around the L1. Each time `sample` of its lines have been evicted, the level rises by
`step` if they had fewer than `least` uses for each hundred, else it falls by `step`. It is never sixteen: lines that are still
kept show when the load's behaviour changes, and where a load has reuse, but more than the L1 can hold, the loop settles where
those that are kept are used.

Choices: all numbers; a use is a hit, or an access that merges with the miss in flight; an access whose line is in the L1 has it
from there; random is a hash of the access; every `period` cycles all levels fall by one, so that a load is tried again even where
nothing is evicted; two loads 64 instructions apart share an entry.
"""

import numpy as np

from simtlab.policies.accesses import is_another, random_bits
from simtlab.policies.hook import hook, is_in_l1
from simtlab.policies.looks import was_merged
from simtlab.policies.sets import whole_numbers

source = "Lee, Wu, ICCD 2016; BOOK 4.4.3"
LOADS, HIGHEST = 64, 15
bytes_a_core = LOADS * (4 + 8 + 4) // 8 + 128 * (6 + 4) // 8  # entries: lines, uses, level; of 128 lines the load and uses
parameters = {"sample": 16, "least": 50, "step": 5, "period": 4096}
limits = {"sample": (1, None), "least": (0, None), "step": (1, HIGHEST), "period": (1, None)}
counters = {
    "bypassed": ("accesses", "Sent around the L1, for the lines of their load were used too seldom."),
    "raised": ("decisions", "To bypass more of a load's accesses."),
}
load_t = np.dtype(whole_numbers(["evicted", "uses", "level"]))
state = np.dtype([*whole_numbers(parameters, counters, ["last"]), ("load", load_t, (LOADS,))])


@hook
def l1_allocation_bypass(core, own, op, cycle):
    load = core.ops[op]
    if random_bits(load, 4) >= own.load[load.pc % LOADS].level or is_in_l1(core, op):
        return 0
    own.bypassed += is_another(own, load)
    return 1


@hook
def on_l1_miss(core, own, op, cycle):
    own.load[core.ops[op].pc % LOADS].uses += was_merged(core, op)


@hook
def on_l1_evict(core, own, way, cycle):
    """The control loop, one for each load."""
    load = own.load[core.l1d.owner[way].pc % LOADS]
    load.evicted += 1
    load.uses += core.l1d.owner[way].uses
    if load.evicted < own.sample:
        return
    if 100 * load.uses < own.least * load.evicted:
        own.raised += load.level < HIGHEST
        load.level = min(load.level + own.step, HIGHEST)
    else:
        load.level = max(load.level - own.step, 0)
    load.evicted, load.uses = 0, 0


@hook
def on_tick(core, own, count, cycle):
    for k in range(LOADS):
        own.load[k].level = max(own.load[k].level - 1, 0)
