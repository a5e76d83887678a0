"""Warps by how often they hit in the L2: all-miss to all-hit, of the whole chip (Ausavarungnirun et al., PACT 2015).

A mechanism's state has the parameters `sample`, `mostly_miss`, `mostly_hit` and `period`, the counter `types`, and `fields`.

Choices: the type stays until the new counts are complete, or the warp ends. Where of the L2's reads in a period the share that
missed is more than five percent above the last period's, the bound of mostly-miss falls by five, else it rises by one again, up to
`mostly_miss`.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CORES, MAX_WARPS
from simtlab.machine.request import Kind
from simtlab.policies.sets import whole_numbers

NOT_KNOWN, ALL_MISS, MOSTLY_MISS, BALANCED, MOSTLY_HIT, ALL_HIT = range(6)
READ = int(Kind.READ)
warp_t = np.dtype([("reads", "i4"), ("hits", "i4"), ("type", "i4")])
fields = [*whole_numbers(["lowered", "next", "reads", "misses", "last_share"]), ("warp", warp_t, (MAX_CORES * MAX_WARPS,))]


@compiled
def warp_of(own, access):
    """What is known of the warp whose access or DRAM request this is."""
    return own.warp[access.core * MAX_WARPS + access.warp]


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
def note_read(own, access, hit):
    """A read of a warp has come to the L2; after `sample` of them the warp has its type."""
    if access.kind != READ:
        return
    own.reads += 1
    own.misses += 1 - hit
    warp = warp_of(own, access)
    if warp.reads < own.sample:
        warp.reads += 1
        warp.hits += hit
        if warp.reads == own.sample:
            warp.type = type_of(warp.hits, warp.reads, own.mostly_miss - own.lowered, own.mostly_hit)
            own.types[warp.type - 1] += 1


@compiled
def begin_period(core, own, cycle):
    """The warps of a core that have their type are counted anew; the first core to say so tunes the bound."""
    for w in range(core.number * MAX_WARPS, core.number * MAX_WARPS + core.warp_slots):
        if own.warp[w].reads == own.sample:
            own.warp[w].reads, own.warp[w].hits = 0, 0
    if own.next <= cycle and own.reads > 0:
        share, own.next = 100 * own.misses // own.reads, cycle + own.period
        worse = share > own.last_share + 5 and own.last_share > 0
        own.lowered = min(own.lowered + 5, own.mostly_miss) if worse else max(own.lowered - 1, 0)
        own.last_share, own.reads, own.misses = share, 0, 0


@compiled
def forget(core, own, warp):
    ended = own.warp[core.number * MAX_WARPS + warp]
    ended.reads, ended.hits, ended.type = 0, 0, NOT_KNOWN
