"""Prefetches nothing: measures what simple inter-warp stride prefetching could do, by warp distance (CAPS, section I, Fig. 1).

When a warp executes a load, base + distance * stride is expected of the warp that many warp slots further, whatever its
CTA; when that warp comes to the load, the two are compared. The stride is that of the address over the warp slot from one
load to the next, as soon as it is the same twice; one that differs once, as where a CTA ends, does not replace it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_WARPS
from simtlab.policies.hook import bit_of, hook
from simtlab.policies.tables import NOT_THERE, find, key_of, place_for

ENTRIES, MOST_ACCESSES, MOST_DISTANCE = 16, 4, 10
SEGMENT_BYTES = 32  # as in caps.py; in whole lines, what was predicted for one iteration of a loop often fits the next as well

# `awaited`: a bit for each distance at which the load has not been compared with another warp's yet
base_t = np.dtype(
    [("awaited", "i8"), ("cta", "i8"), ("cycle", "i8"), ("stride", "i8"), ("accesses", "i8"), ("address", "i8", (MOST_ACCESSES,))]
)
# `warp` and `address` are those of the last load, `step` what led to it; a stride is a step seen twice
load_t = np.dtype(
    [("key", "i8"), ("updated", "i8"), ("warp", "i8"), ("address", "i8"), ("step", "i8"), ("stride", "i8"),
     ("bases", base_t, (MAX_WARPS,))]
)  # fmt: skip
state = np.dtype(
    [("table", load_t, (ENTRIES,)), *((name, "i8", (MOST_DISTANCE,)) for name in
     ("demands", "targeted", "right", "gap_cycles", "targeted_in_cta", "right_in_cta"))]
)  # fmt: skip
counters = {
    "demands": ("loads", "Loads of warps with another warp at this distance before them.", 1),
    "targeted": ("loads", "Of these, loads that a prefetch would have been made for.", 1),
    "right": ("loads", "Of these, loads of which all accesses were predicted.", 1),
    "gap_cycles": ("core cycles", "From the load of the base warp to the one correctly predicted, summed.", 1),
    "targeted_in_cta": ("loads", "Targeted from a warp of the same CTA.", 1),
    "right_in_cta": ("loads", "Of these, loads of which all accesses were predicted.", 1),
}


@hook
def on_load(core, own, op, cycle):
    load, key = core.ops[op], key_of(core, core.ops[op])
    if load.accesses > MOST_ACCESSES:
        return
    k = find(own.table, key)
    if k == NOT_THERE:
        k = place_for(own.table)
        begin(own.table[k], key, load)
    compare(core, own, own.table[k], load, cycle)
    learn(own.table[k], load, cycle)
    note_base(core, own.table[k], load, cycle)


@compiled
def begin(entry, key, load):
    """A load takes an entry."""
    entry.key, entry.warp, entry.address, entry.step, entry.stride = key, load.slot, load.first[0], 0, 0
    for w in range(entry.bases.size):
        entry.bases[w].awaited = 0


@compiled
def compare(core, own, entry, load, cycle):
    """A load of a warp beside what the warps before it would have predicted, distance by distance."""
    for k in range(min(load.slot, MOST_DISTANCE)):
        base = entry.bases[load.slot - k - 1]
        if core.occupied & bit_of(load.slot - k - 1) == 0:
            continue
        own.demands[k] += 1
        if base.awaited >> k & 1:
            base.awaited &= ~(1 << k)
            right, in_cta = is_right(base, k + 1, load), base.cta == core.cta_age[core.slots[load.slot].cta]
            own.targeted[k] += 1
            own.right[k] += right
            own.gap_cycles[k] += cycle - base.cycle if right else 0
            own.targeted_in_cta[k] += in_cta
            own.right_in_cta[k] += right and in_cta


@compiled
def is_right(base, distance, load):
    """Whether a load's accesses are those that the base and its stride predict."""
    if load.accesses != base.accesses:
        return False
    for k in range(base.accesses):
        if load.first[k] // SEGMENT_BYTES != (base.address[k] + distance * base.stride) // SEGMENT_BYTES:
            return False
    return True


@compiled
def learn(entry, load, cycle):
    """What moves as far for each warp slot as before gives the stride."""
    steps, moved = load.slot - entry.warp, load.first[0] - entry.address
    if steps != 0:
        step = moved // steps if moved // steps * steps == moved else 0
        if step == entry.step and step != 0:
            entry.stride = step
        entry.step = step
    entry.warp, entry.address, entry.updated = load.slot, load.first[0], cycle


@compiled
def note_base(core, entry, load, cycle):
    """From now on this load is what others are predicted from; without a stride nothing is."""
    base = entry.bases[load.slot]
    base.awaited = (1 << MOST_DISTANCE) - 1 if entry.stride != 0 else 0
    base.cta, base.cycle, base.stride, base.accesses = core.cta_age[core.slots[load.slot].cta], cycle, entry.stride, load.accesses
    for k in range(load.accesses):
        base.address[k] = load.first[k]
