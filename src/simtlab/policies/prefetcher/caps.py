"""CTA-aware prefetching (CAP of Koo et al., "CTA-Aware Prefetching and Scheduling for GPU", IPDPS 2018, sections V-B, V-C).

A load's base addresses differ from CTA to CTA, its stride from warp to warp does not. The first warp of each CTA to issue
a load leads: it gives the base, in the CTA's table. The next warp gives the stride, in one table for the core. What the
other warps will ask for follows. Of the leading CTA, the first to load at all, nothing is foretold.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.state import MAX_CTAS
from simtlab.policies.hook import bit_of, hook, prefetch
from simtlab.policies.tables import NOT_THERE, find, key_of, place_for

ENTRIES, MOST_ACCESSES, MOST_MISPREDICTS = 4, 4, 255
per_cta_bytes = {"pc": 4, "leading warp": 1, "base addresses": MOST_ACCESSES * 4}  # Table I
dist_bytes = {"pc": 4, "stride": 4, "mispredict counter": 1}  # Table I

# `waits`: the base came before the stride, so the warps of the leading CTA call for those of this one (Fig. 9a)
base_t = np.dtype(
    [("key", "i8"), ("warp", "i8"), ("accesses", "i8"), ("base", "i8", (MOST_ACCESSES,)), ("waits", "i8"), ("updated", "i8")]
)
stride_t = np.dtype([("key", "i8"), ("stride", "i8"), ("mispredicts", "i8"), ("updated", "i8")])
state = np.dtype(
    [("per_cta", base_t, (MAX_CTAS, ENTRIES)), ("dist", stride_t, (ENTRIES,)), ("leading_cta", "i8"), ("threshold", "i8")]
)
parameters = {"threshold": 128}
limits = {"threshold": (0, MOST_MISPREDICTS)}
NO_CTA = 0  # `leading_cta` is one more than a CTA slot


@hook
def on_load(core, own, op, cycle):
    load = core.ops[op]
    if load.deterministic != 1 or load.accesses > MOST_ACCESSES:
        return
    warp, key = core.slots[load.slot], key_of(core, load)
    if own.leading_cta == NO_CTA:
        own.leading_cta = warp.cta + 1
    table, in_leading_cta = own.per_cta[warp.cta], own.leading_cta == warp.cta + 1
    k, d = find(table, key), find(own.dist, key)
    if k == NOT_THERE or table[k].warp == warp.warp:
        if k != NOT_THERE and in_leading_cta:
            call_off(core, own, key)
        note_base(table[place_for(table) if k == NOT_THERE else k], key, load, warp.warp, cycle)
        table[find(table, key)].waits = d == NOT_THERE
        if d != NOT_THERE and not in_leading_cta:  # Fig. 9b
            for trailing in range(core.ctas[warp.cta].n_warps):
                foretell(core, own, own.dist[d], warp.cta, trailing, cycle)
        return
    if d != NOT_THERE:
        own.dist[d].mispredicts += not is_right(table[k], own.dist[d].stride, load, warp.warp)
        own.dist[d].mispredicts = min(own.dist[d].mispredicts, MOST_MISPREDICTS)
    else:
        stride = (load.lines[0] - table[k].base[0]) // (warp.warp - table[k].warp)
        if not is_right(table[k], stride, load, warp.warp):
            table[k].updated = 0  # no striding load
            return
        d = place_for(own.dist)
        own.dist[d].key, own.dist[d].stride, own.dist[d].mispredicts, own.dist[d].updated = key, stride, 0, cycle
    if in_leading_cta:  # Fig. 9a
        for cta in range(core.cta_slots):
            at = find(own.per_cta[cta], key)
            if cta != warp.cta and at != NOT_THERE and own.per_cta[cta, at].waits:
                foretell(core, own, own.dist[d], cta, warp.warp, cycle)


@hook
def on_cta(core, own, cta, cycle):
    for k in range(ENTRIES):
        own.per_cta[int(cta), k].updated = 0
    if own.leading_cta == int(cta) + 1:
        own.leading_cta = NO_CTA


@compiled
def note_base(entry, key, load, warp, cycle):
    """A leading warp's accesses, anew whenever it issues the load again."""
    entry.key, entry.warp, entry.accesses, entry.updated = key, warp, load.accesses, cycle
    for k in range(load.accesses):
        entry.base[k] = load.lines[k]


@compiled
def call_off(core, own, key):
    """The leading CTA is a step further: what the others did beside its last step is no longer worth fetching."""
    for cta in range(core.cta_slots):
        at = find(own.per_cta[cta], key)
        if at != NOT_THERE:
            own.per_cta[cta, at].waits = 0


@compiled
def is_right(base, stride, load, warp):
    """Whether a demand is what the base and a stride foretell, access by access."""
    right = load.accesses == base.accesses
    for k in range(min(load.accesses, base.accesses)):
        right = right and load.lines[k] == base.base[k] + (warp - base.warp) * stride
    return right


@compiled
def foretell(core, own, entry, cta, warp, cycle):
    """Prefetch what a warp of a CTA will ask for, unless it leads, has ended, or the load has misled too often."""
    base, w = own.per_cta[cta, find(own.per_cta[cta], entry.key)], core.slot_of[cta, warp]
    is_here = core.occupied & bit_of(w) and core.slots[w].cta == cta and core.slots[w].warp == warp
    if warp == base.warp or not is_here or entry.mispredicts > own.threshold:
        return
    for k in range(base.accesses):
        prefetch(core, base.base[k] + (warp - base.warp) * entry.stride, w, entry.key & 0xFFFFFFFF, cycle)
