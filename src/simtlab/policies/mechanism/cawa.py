"""CAWA: the most critical warp issues first, and has a part of the L1 (Lee, Arunkumar, Wu, ISCA 2015; after CAWS, BOOK 5.1.2).

`gcaws`: a scheduler stays on a warp until it stalls, then takes the most critical one (policies/criticality.py). `cacp`: of each
set's ways, `critical_ways` (0: half) are for lines that critical warps want, the others for the rest. Where a line goes is
predicted by the pc of the load that brings it: a counter of 2 bits goes up when a critical warp hits a line in the other part, and
down when a line leaves the critical part without such a hit.

Choices: critical are the warps above the mean of the core's, looked at every `period` cycles; what a critical warp brings goes to
the critical part too; a part evicts its least recently used line (the paper predicts reuse as well, and evicts by that), and takes
a line of the other part where all its own are in flight; the prediction is by pc alone, 256 of them. It leaves the warp scheduler
no choice, but a two-level one lets it choose among its active warps alone.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_L1_LINES
from simtlab.policies import criticality
from simtlab.policies.criticality import above_mean, most_critical, note_issue
from simtlab.policies.hook import NO_WAY, bit_of, hook, oldest
from simtlab.policies.looks import line_in_l1
from simtlab.policies.recency import least_recent
from simtlab.policies.sets import whole_numbers

source = "Lee, Arunkumar, Wu, ISCA 2015; BOOK 5.1.2"
bytes_a_core = criticality.BYTES + 256 * 2 // 8 + 128 // 8 + 8  # 256 counters of 2 bits; a bit for each of 128 lines; a set
PCS, LIKELY, MOST = 256, 2, 3
parameters = {"gcaws": 1, "cacp": 1, "critical_ways": 0, "period": 64}
limits = {"gcaws": (0, 1), "cacp": (0, 1), "critical_ways": (0, 64), "period": (1, None)}
counters = {
    "preferred": ("instructions", "Of a warp that went before an older one because it was more critical."),
    "protected": ("lines", "That went to the critical part of the L1."),
}
tables = [("critical", "u8"), ("wanted", "i1", (PCS,)), ("used", "i1", (MAX_L1_LINES,))]
state = np.dtype([*whole_numbers(parameters, counters), *criticality.fields, *tables])
patient = True  # it never holds all back


@hook
def allow(core, own, ready, cycle):
    last = bit_of(own.last[core.scheduler])
    if own.gcaws == 0:
        return ready
    if ready & last:
        return last
    best = most_critical(core, own, ready, cycle)
    own.preferred += best != oldest(core, ready)
    return bit_of(best)


@hook
def on_issue(core, own, warp, cycle):
    note_issue(core, own, warp, cycle)


@hook
def on_warp_end(core, own, warp, cycle):
    own.warp[warp].issued = 0


@hook
def on_tick(core, own, count, cycle):
    own.critical = above_mean(core, own, cycle)


@compiled
def ways_for_critical(cache, own):
    return min(own.critical_ways, cache.ways) if own.critical_ways > 0 else cache.ways // 2


@hook
def on_l1_hit(core, own, op, cycle):
    way = line_in_l1(core, op)
    if way != NO_WAY and own.critical & bit_of(core.ops[op].slot):
        own.used[way] = 1
        if way % core.l1d.ways >= ways_for_critical(core.l1d, own):
            pc = core.l1d.owner[way].pc % PCS
            own.wanted[pc] = min(own.wanted[pc] + 1, MOST)


@hook
def on_l1_evict(core, own, way, cycle):
    pc = core.l1d.owner[way].pc % PCS
    if way % core.l1d.ways < ways_for_critical(core.l1d, own) and own.used[way] == 0:
        own.wanted[pc] = max(own.wanted[pc] - 1, 0)
    own.used[way] = 0


@hook
def l1_replacement_victim(cache, own, first, cycle):
    start, end = np.int64(first), np.int64(first) + cache.ways
    border, way = start + ways_for_critical(cache, own), NO_WAY
    if own.cacp:
        is_critical = own.critical & bit_of(cache.access.warp) != 0 or own.wanted[cache.access.pc % PCS] >= LIKELY
        way = least_recent(cache, start, border) if is_critical else least_recent(cache, border, end)
        own.protected += is_critical and way != NO_WAY
    return way if way != NO_WAY else least_recent(cache, start, end)
