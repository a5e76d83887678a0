"""Priority-based cache allocation (PCAL, Li et al., HPCA 2015; BOOK 4.4.7): only warps with a token may take lines of the L1.

Of a core's warps the `warps` oldest may issue (W), and the `tokens` oldest have tokens (T). One without can hit in the L1, but what
it misses goes around: it uses the memory's bandwidth and pollutes nothing. A warp that ends passes its token on. `adaptive` = 1
learns T (the paper's dynPCAL_MTLP): in the first intervals of `period` cycles the cores differ in T, which is all, a half, a
quarter, an eighth and a sixteenth of the warp slots, and the T with most instructions stays. `adaptive` = 2 then moves W too (as
dynPCAL_CCWS does): one less where the mean round trip of an interval's requests takes three times the shortest so far or more, one
more where it takes less than half as much again.

Choices: cores take turns with the values of T, so that each has had all after five intervals; W begins at `warps`, where the paper
asks CCWS; the round trip is our measure of how far shared resources are used; a line in flight is merged with, token or not; a warp
without a token does not take empty lines either; in every 32nd interval all warps may issue, so that none that others wait for is
held back for ever. Moving W by the round trip alone gains much where fewer warps' lines fit (KM), and loses where they do not
(SPMV).
"""

import numpy as np

from simtlab.machine.limits import MAX_CORES
from simtlab.policies.accesses import is_another
from simtlab.policies.ages import is_open, older_than, oldest_that_run
from simtlab.policies.congestion import trip_since
from simtlab.policies.hook import count_bits, hook
from simtlab.policies.looks import is_there_or_coming
from simtlab.policies.sets import whole_numbers

source = "Li et al., HPCA 2015; BOOK 4.4.7"
bytes_a_core = 6 + 2 + 5 * 4 + 7  # a bit for each of 48 warps; W and T; adaptive: instructions for five T, trips, cycles, shortest
scope = "chip"
N_TRIED, CONGESTED, FREE = 5, 300, 150  # values of T; a mean round trip in percent of the shortest
parameters = {"warps": 64, "tokens": 8, "adaptive": 0, "period": 4096}
limits = {"warps": (1, 64), "tokens": (0, 64), "adaptive": (0, 2), "period": (1, None)}
counters = {
    "bypassed": ("accesses", "Accesses of warps without a token that missed, and went around the L1."),
    "fewer": ("samples", "Times that one warp less of a core might issue."), "more": ("samples", "Times that one more might."),
    "best": ("tokens", "The number of tokens that was learnt, or 0."),
}  # fmt: skip
core_t = np.dtype(whole_numbers(["warps", "tokens", "tried", "issued", "trips", "cycles", "is_open", "last"]))
state = np.dtype([*whole_numbers(parameters, counters), ("core", core_t, (MAX_CORES,)), ("issued", "i8", (N_TRIED,))])
patient = True  # what it holds back it holds back until the core changes, or the time is told


@hook
def allow(core, own, ready, cycle):
    mine = own.core[core.number]
    return ready if mine.is_open else oldest_that_run(core, ready, mine.warps)


@hook
def l1_allocation_bypass(core, own, op, cycle):
    load, mine = core.ops[op], own.core[core.number]
    if older_than(core, core.occupied, load.slot) < mine.tokens or is_there_or_coming(core, op):
        return 0
    own.bypassed += is_another(mine, load)
    return 1


@hook
def on_tick(core, own, count, cycle):
    mine = own.core[core.number]
    trip, issued = trip_since(core, mine), core.instructions - mine.issued
    mine.issued, mine.is_open = core.instructions, is_open(count)
    if count == 0:
        mine.warps, mine.tokens = own.warps, own.tokens
    if own.adaptive == 0:
        return
    has_learnt = count > N_TRIED + 1
    if 1 < count <= N_TRIED + 1:  # the first interval is not looked at: the caches are empty
        own.issued[mine.tried] += issued
    mine.tried = np.argmax(own.issued) if has_learnt else (core.number + int(count)) % N_TRIED
    mine.tokens = core.warp_slots >> mine.tried
    if has_learnt:
        own.best = mine.tokens
    running = min(mine.warps, count_bits(core.occupied))
    if own.adaptive == 2 and has_learnt and trip >= CONGESTED and running > max(mine.tokens, 1):
        mine.warps = running - 1
        own.fewer += 1
    elif own.adaptive == 2 and has_learnt and trip < FREE and mine.warps < own.warps:
        mine.warps += 1
        own.more += 1
