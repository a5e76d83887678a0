"""CTA-aware prefetching (CAP of Koo et al., "CTA-Aware Prefetching and Scheduling for GPU", IPDPS 2018, sections V-B, V-C).

A load's base addresses differ from CTA to CTA, its stride from warp to warp does not. The first warp of each CTA to issue
a load leads: it gives the base, in the CTA's table. The next warp gives the stride, in one table for the core. What the
other warps will ask for follows. Of the leading CTA, the first to load at all, nothing is predicted.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CTAS
from simtlab.policies.hook import bit_of, hook, prefetch
from simtlab.policies.tables import NOT_THERE, find, key_of, place_for

source = "Koo et al., IPDPS 2018"
ENTRIES, MOST_ACCESSES, MOST_MISPREDICTS = 4, 4, 255
SEGMENT_BYTES = 32  # a coalesced access covers 32, 64 or 128 bytes, in GPGPU-Sim 3.2.2 as in compute capability 1.3
per_cta_bytes = {"pc": 4, "leading warp": 1, "base addresses": MOST_ACCESSES * 4}  # Table I
dist_bytes = {"pc": 4, "stride": 4, "mispredict counter": 1}  # Table I
bytes_a_core = ENTRIES * (8 * sum(per_cta_bytes.values()) + sum(dist_bytes.values()))  # of eight CTAs, Table II

# `waits`: the base came before the stride, so the warps of the leading CTA call for those of this one (Fig. 9a)
base_t = np.dtype(
    [("key", "i8"), ("warp", "i8"), ("accesses", "i8"), ("address", "i8", (MOST_ACCESSES,)), ("waits", "i8"), ("updated", "i8")]
)
stride_t = np.dtype([("key", "i8"), ("stride", "i8"), ("mispredicts", "i8"), ("updated", "i8")])
state = np.dtype(
    [("per_cta", base_t, (MAX_CTAS, ENTRIES)), ("dist", stride_t, (ENTRIES,)), ("leading_cta", "i8"), ("threshold", "i8"),
     ("lookups", "i8")]
)  # fmt: skip
counters = {"lookups": ("accesses", "Deterministic loads looked up in the tables.")}
energy_pj = {"lookups": 15.07}  # section V-D, an access of the tables
static_watts = 550e-6  # section V-D
outlives_launch = True
parameters = {"threshold": 128}
limits = {"threshold": (0, 255)}
NO_CTA = 0  # `leading_cta` is one more than a CTA slot


@hook
def on_load(core, own, op, cycle):
    load = core.ops[op]
    if load.deterministic != 1:
        return
    own.lookups += 1
    warp, key = core.slots[load.slot], key_of(core, load)
    if own.leading_cta == NO_CTA:
        own.leading_cta = warp.cta + 1
    table, in_leading_cta = own.per_cta[warp.cta], own.leading_cta == warp.cta + 1
    k, d = find(table, key), find(own.dist, key)
    if k == NOT_THERE or table[k].warp == warp.warp:
        if load.accesses > MOST_ACCESSES:
            return
        if k != NOT_THERE and in_leading_cta:
            cancel(core, own, key)
        note_base(table[place_for(table) if k == NOT_THERE else k], key, load, warp.warp, cycle)
        table[find(table, key)].waits = d == NOT_THERE
        if d != NOT_THERE and not in_leading_cta:  # Fig. 9b
            for trailing in range(warp.warp + 1, core.ctas[warp.cta].n_warps):
                predict(core, own, own.dist[d], warp.cta, trailing, cycle)
        return
    if d != NOT_THERE:
        wrong = mispredicts(core, table[k], own.dist[d].stride, load, warp.warp)
        own.dist[d].mispredicts = min(own.dist[d].mispredicts + wrong, MOST_MISPREDICTS)
    elif abs(warp.warp - table[k].warp) != 1:
        return  # two consecutive warps give the stride
    else:
        stride = (segment(load, 0) - table[k].address[0]) * (warp.warp - table[k].warp)
        if not is_striding(table[k], stride, load, warp.warp):
            table[k].updated = 0
            return
        d = place_for(own.dist)
        own.dist[d].key, own.dist[d].stride, own.dist[d].mispredicts, own.dist[d].updated = key, stride, 0, cycle
    if in_leading_cta:  # Fig. 9a
        for cta in range(core.cta_slots):
            at = find(own.per_cta[cta], key)
            if cta != warp.cta and at != NOT_THERE and own.per_cta[cta, at].waits:
                predict(core, own, own.dist[d], cta, warp.warp, cycle)


@hook
def on_cta(core, own, cta, cycle):
    for k in range(ENTRIES):
        own.per_cta[int(cta), k].updated = 0
    if own.leading_cta == int(cta) + 1:
        own.leading_cta = NO_CTA


@compiled
def segment(load, k):
    """The address of an access, to the coalescer's smallest segment."""
    return load.first[k] // SEGMENT_BYTES * SEGMENT_BYTES


@compiled
def note_base(entry, key, load, warp, cycle):
    """A leading warp's accesses, anew whenever it issues the load again."""
    entry.key, entry.warp, entry.accesses, entry.updated = key, warp, load.accesses, cycle
    for k in range(load.accesses):
        entry.address[k] = segment(load, k)


@compiled
def cancel(core, own, key):
    """The leading CTA is a step further: what the others did beside its last step is no longer worth fetching."""
    for cta in range(core.cta_slots):
        at = find(own.per_cta[cta], key)
        if at != NOT_THERE:
            own.per_cta[cta, at].waits = 0


@compiled
def is_striding(base, stride, load, warp):
    """Whether all accesses of a load are a stride away from those of the warp beside."""
    if load.accesses != base.accesses:
        return False
    for k in range(base.accesses):
        if segment(load, k) != base.address[k] + (warp - base.warp) * stride:
            return False
    return True


@compiled
def mispredicts(core, base, stride, load, warp):
    """How many of the lines that base and stride predict are not those that a demand asks for."""
    wrong = 0
    for k in range(base.accesses):
        line = (base.address[k] + (warp - base.warp) * stride) // core.l1d.line_bytes
        wrong += k >= load.accesses or load.first[k] // core.l1d.line_bytes != line
    return wrong


@compiled
def predict(core, own, entry, cta, warp, cycle):
    """Prefetch what a warp of a CTA will ask for, unless it led, has ended, or the load has misled too often."""
    base, w = own.per_cta[cta, find(own.per_cta[cta], entry.key)], core.slot_of[cta, warp]
    is_here = core.occupied & bit_of(w) and core.slots[w].cta == cta and core.slots[w].warp == warp
    if warp <= base.warp or not is_here or entry.mispredicts > own.threshold:
        return
    for k in range(base.accesses):
        prefetch(core, base.address[k] + (warp - base.warp) * entry.stride, w, entry.key, cycle)
