"""Many-thread aware prefetching, the hardware part (Lee et al., MICRO 2010; sizes, order and thresholds are theirs).

A warp's own stride first (PWS table), a stride that several warps share being known to all (GS table); else the stride
from warp to warp (IP table). Every period the prefetcher looks at how many of its lines went unused and how many accesses
merged, and lets through more or fewer of its prefetches.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import hook, prefetch
from simtlab.policies.strides import begin, step, stride_t
from simtlab.policies.tables import NOT_THERE, find, key_of, place_for

PER_WARP, GLOBAL, INTER_THREAD = 32, 8, 8  # entries
TRAINED = 3  # times a stride is seen before it counts
WARPS = 3  # that share a stride before it is global
NO_PREFETCH = 5  # the throttle's highest degree; each step drops a fifth
HIGH_EVICTION, MEDIUM_EVICTION, HIGH_MERGE = 0.02, 0.01, 0.15
global_t = np.dtype([("key", "i8"), ("stride", "i8"), ("updated", "i8")])
state = np.dtype(
    [("per_warp", stride_t, (PER_WARP,)), ("shared", global_t, (GLOBAL,)), ("between", stride_t, (INTER_THREAD,)),
     ("period", "i8"), ("throttle", "i8"), ("turn", "i8"), ("next", "i8"), ("evicted", "i8"), ("used", "i8"),
     ("merged", "i8"), ("accesses", "i8"), ("eviction_rate", "f8"), ("merge_ratio", "f8")]
)  # fmt: skip
outlives_launch = True
parameters = {"period": 100_000, "throttle": 2}
limits = {"period": (1, None), "throttle": (0, 5)}


@hook
def on_load(core, own, op, cycle):
    if own.next <= cycle:
        adapt(core, own, cycle)
    load, key = core.ops[op], key_of(core, core.ops[op])
    stride = stride_in_warp(own, load, key, cycle)
    other = stride_between(own, load, key, cycle)
    own.turn = (own.turn + 1) % NO_PREFETCH
    if (stride == 0 and other == 0) or own.turn < own.throttle:
        return
    target = load.slot if stride != 0 else min(load.slot + 1, core.warp_slots - 1)
    for access in range(load.accesses):
        prefetch(core, load.first[access] + (stride if stride != 0 else other), target, load.pc, cycle)


@compiled
def stride_in_warp(own, load, key, cycle):
    """The stride of this load in this warp, or in any; 0 if there is none."""
    k = find(own.shared, key)
    if k != NOT_THERE:
        return own.shared[k].stride
    mine = key << 8 | load.slot
    k = find(own.per_warp, mine)
    if k == NOT_THERE:
        begin(own.per_warp, mine, load, cycle)
        return 0
    entry = own.per_warp[k]
    step(entry, load, 1, cycle)
    if entry.same < TRAINED:
        return 0
    sharing = 0
    for other in own.per_warp:
        sharing += other.updated != 0 and other.key >> 8 == key and other.same >= TRAINED and other.stride == entry.stride
    if sharing >= WARPS:
        promoted = own.shared[place_for(own.shared)]
        promoted.key, promoted.stride, promoted.updated = key, entry.stride, cycle
    return entry.stride


@compiled
def stride_between(own, load, key, cycle):
    """The stride of this load from one warp to the next; 0 if there is none."""
    k = find(own.between, key)
    if k == NOT_THERE:
        begin(own.between, key, load, cycle)
    elif own.between[k].warp != load.slot:
        step(own.between[k], load, load.slot - own.between[k].warp, cycle)
        return own.between[k].stride if own.between[k].same >= TRAINED else 0
    return 0


@compiled
def adapt(core, own, cycle):
    """The end of a period: early evictions and merges, averaged with those before, move the throttle a degree."""
    if own.next != 0:
        evicted, used = core.l1d.unused_evicted - own.evicted, core.prefetch_used - own.used
        merged, accesses = core.l1_hits_reserved - own.merged, core.accesses - own.accesses
        own.eviction_rate = (own.eviction_rate + evicted / max(1, used)) / 2
        own.merge_ratio = (own.merge_ratio + merged / max(1, accesses)) / 2
        if own.eviction_rate > HIGH_EVICTION:
            own.throttle = NO_PREFETCH
        elif own.eviction_rate > MEDIUM_EVICTION or own.merge_ratio < HIGH_MERGE:
            own.throttle = min(own.throttle + 1, NO_PREFETCH)
        else:
            own.throttle = max(own.throttle - 1, 0)
    own.next = cycle + own.period
    own.evicted, own.used = core.l1d.unused_evicted, core.prefetch_used
    own.merged, own.accesses = core.l1_hits_reserved, core.accesses
