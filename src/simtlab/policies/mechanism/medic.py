"""Memory divergence correction (Ausavarungnirun et al., PACT 2015; BOOK 4.4.4): the L2 and DRAM treat warps by how often they hit.

Of each warp's reads at the L2, `sample` are counted, and the share that hit makes it all-miss (none), mostly-miss (below
`mostly_miss` percent), balanced, mostly-hit (`mostly_hit` percent or more) or all-hit (all). Every `period` cycles counts that are
complete begin anew. All-miss and mostly-miss warps go around the L2 (`bypass`), but not while they are counted; lines for
mostly-miss warps are filled as the next to go (`insertion`); reads of mostly-hit and all-hit warps go before all others in DRAM
(`scheduling`).

Choices: all numbers, the bounds among them; the type stays until the new counts are complete, or the warp ends; a warp without a
type is treated as balanced; a read of a line in flight has missed. Bounds are tuned so: where of the L2's reads in a period the
share that missed is more than five percent above the last period's, the bound of mostly-miss falls by five, else it rises by one
again, up to `mostly_miss`.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CORES, MAX_WARPS
from simtlab.machine.request import Kind
from simtlab.policies.hook import hook
from simtlab.policies.sets import whole_numbers

source = "Ausavarungnirun et al., PACT 2015; BOOK 4.4.4"
bytes_a_core = 64 * (6 + 6 + 3) // 8  # of each warp hits, reads and type
scope = "chip"
ALL_MISS, MOSTLY_MISS, BALANCED, MOSTLY_HIT, ALL_HIT = 1, 2, 3, 4, 5  # 0: not known yet
READ = int(Kind.READ)
warp_t = np.dtype([("reads", "i4"), ("hits", "i4"), ("type", "i4")])
parameters = {"bypass": 1, "insertion": 1, "scheduling": 1, "sample": 32, "period": 50_000, "mostly_miss": 20, "mostly_hit": 70}
limits = {
    "bypass": (0, 1), "insertion": (0, 1), "scheduling": (0, 1), "sample": (1, None), "period": (1, None),
    "mostly_miss": (0, 100), "mostly_hit": (0, 100),
}  # fmt: skip
counters = {
    "types": ("decisions", "That a warp is all-miss (1), mostly-miss (2), balanced (3), mostly-hit (4) or all-hit (5).", 1),
    "bypassed": ("reads", "Sent around the L2, for their warps seldom hit there."),
    "inserted_last": ("lines", "Filled as the next of their set to go."),
    "first": ("reads", "Put before those of other warps in DRAM."),
}
state = np.dtype([
    *whole_numbers(parameters, ["lowered", "next", "reads", "misses", "last_share", "bypassed", "inserted_last", "first"]),
    ("types", "i8", (5,)), ("warp", warp_t, (MAX_CORES * MAX_WARPS,)),
])  # fmt: skip


@compiled
def type_of(hits, reads, mostly_miss, mostly_hit):
    """What a warp is, by the share of its reads that hit."""
    if hits == 0:
        return ALL_MISS
    if hits == reads:
        return ALL_HIT
    if 100 * hits < mostly_miss * reads:
        return MOSTLY_MISS
    return MOSTLY_HIT if 100 * hits >= mostly_hit * reads else BALANCED


@compiled
def count(own, access, hit):
    """A read of a warp has come to the L2."""
    if access.kind != READ:
        return
    own.reads += 1
    own.misses += 1 - hit
    warp = own.warp[access.core * MAX_WARPS + access.warp]
    if warp.reads < own.sample:
        warp.reads += 1
        warp.hits += hit
        if warp.reads == own.sample:
            warp.type = type_of(warp.hits, warp.reads, own.mostly_miss - own.lowered, own.mostly_hit)
            own.types[warp.type - 1] += 1


@hook
def on_l2_hit(slice, own, request, cycle):
    count(own, slice.cache.access, 1)


@hook
def on_l2_miss(slice, own, request, cycle):
    count(own, slice.cache.access, 0)


@hook
def on_tick(core, own, count, cycle):
    """The warps of a core are counted anew; the first core to say so tunes the bound."""
    for w in range(core.number * MAX_WARPS, core.number * MAX_WARPS + core.warp_slots):
        if own.warp[w].reads == own.sample:
            own.warp[w].reads, own.warp[w].hits = 0, 0
    if own.next <= cycle and own.reads > 0:
        share, own.next = 100 * own.misses // own.reads, cycle + own.period
        worse = share > own.last_share + 5 and own.last_share > 0
        own.lowered = min(own.lowered + 5, own.mostly_miss) if worse else max(own.lowered - 1, 0)
        own.last_share, own.reads, own.misses = share, 0, 0


@hook
def on_warp_end(core, own, warp, cycle):
    ended = own.warp[core.number * MAX_WARPS + warp]
    ended.reads, ended.hits, ended.type = 0, 0, 0


@hook
def l2_allocation_bypass(slice, own, request, cycle):
    warp = own.warp[slice.cache.access.core * MAX_WARPS + slice.cache.access.warp]
    goes_around = own.bypass != 0 and warp.reads == own.sample and (warp.type == ALL_MISS or warp.type == MOSTLY_MISS)
    own.bypassed += goes_around
    return goes_around


@hook
def l2_replacement_insert(cache, own, way, cycle):
    access = cache.access
    if not own.insertion or access.kind != READ or own.warp[access.core * MAX_WARPS + access.warp].type != MOSTLY_MISS:
        return cache.ways - 1
    own.inserted_last += 1
    return 0


@hook
def dram_scheduler_priority(channel, own, position, cycle):
    entry = channel.entries[position]
    if not own.scheduling or entry.core < 0 or entry.pc < 0:
        return 0
    goes_first = own.warp[entry.core * MAX_WARPS + entry.warp].type >= MOSTLY_HIT
    own.first += goes_first
    return goes_first
