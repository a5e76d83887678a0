"""Cache-conscious wavefront scheduling (Rogers et al., MICRO 2012; BOOK 5.1.2, Fig 5.1): warps that lose locality throttle others.

Each warp has a victim tag array with the tags of its lines that were evicted, and a score of lost locality. A load that misses and
finds its tag there sets its warp's score to (such hits / instructions issued) x `k_throttle` x cutoff. Scores fall by one a cycle,
down to `base`. Stacked from the highest down, those that end above the cutoff (`base` for each warp) may not issue loads: without
lost locality all may.

Choices: scores fall, and the stack is made, every `period` cycles; tags are replaced first in, first out; the warp with the highest
score may always issue; a warp's score and tags go with it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import bit_of, count_bits, hook, lowest_bit, memory_warps

MOST_TAGS, MAX_WARPS = 32, 64
victims = np.dtype([("tag", "i8", (MOST_TAGS,)), ("next", "i8"), ("score", "i8")])
state = np.dtype([
    ("base", "i8"), ("k_throttle", "i8"), ("tags", "i8"), ("period", "i8"), ("warp", victims, (MAX_WARPS,)), ("allowed", "u8"),
    ("issued", "i8"), ("lost", "i8"), ("held_back", "i8"),
])  # fmt: skip
source = "Rogers, O'Connor and Aamodt, MICRO 2012; BOOK 5.1.2"
bytes_a_core = 48 * (16 * 5 + 2)  # of 48 warps: 16 tags of 40 bits and a score
parameters = {"base": 100, "k_throttle": 8, "tags": 16, "period": 32}
limits = {"base": (1, None), "k_throttle": (1, None), "tags": (1, MOST_TAGS), "period": (1, None)}
counters = {
    "lost": ("accesses", "Misses that found their tag among the warp's victims."),
    "held_back": ("cycles", "In which a warp that was ready to load was held back."),
}


@hook
def on_l1_evict(core, own, way, cycle):
    warp = own.warp[core.l1d.owner[way].warp]
    warp.tag[warp.next % own.tags] = core.l1d.tags[way] + 1
    warp.next += 1


@hook
def on_l1_miss(core, own, op, cycle):
    load = core.ops[op]
    tag, warp = (load.lines[load.served] >> core.l1d.line_shift) + 1, own.warp[load.slot]
    for k in range(own.tags):
        if warp.tag[k] == tag:
            warp.tag[k] = 0
            own.lost += 1
            warp.score = own.lost * own.k_throttle * own.base * count_bits(core.occupied) // max(own.issued, 1)


@hook
def on_issue(core, own, warp, cycle):
    own.issued += 1


@hook
def on_tick(core, own, count, cycle):
    for w in range(core.warp_slots):
        own.warp[w].score = max(own.warp[w].score - own.period, own.base)
    own.allowed = below_cutoff(core, own)


@compiled
def below_cutoff(core, own):
    """The warps whose scores, stacked from the highest down, end below the cutoff."""
    left, allowed = core.occupied, np.uint64(0)
    room = own.base * count_bits(core.occupied)
    while left != 0:
        best = highest(own, left)
        room -= own.warp[best].score
        if room < 0 and allowed != 0:
            break
        allowed = np.uint64(allowed | bit_of(best))
        left = np.uint64(left & ~bit_of(best))
    return allowed


@compiled
def highest(own, warps):
    """The warp of a set with the highest score, of equal ones the first."""
    best = lowest_bit(warps)
    while warps != 0:
        w = lowest_bit(warps)
        warps = np.uint64(warps & ~bit_of(w))
        if own.warp[w].score > own.warp[best].score:
            best = w
    return best


@hook
def on_cta_start(core, own, cta, cycle):
    own.allowed = np.uint64(own.allowed | core.occupied)


@hook
def on_warp_end(core, own, warp, cycle):
    own.warp[warp].score = 0
    for k in range(own.tags):
        own.warp[warp].tag[k] = 0


@hook
def allow(core, own, ready, cycle):
    """Those above the cutoff may issue anything but memory instructions."""
    held = np.uint64(ready & memory_warps(core) & ~own.allowed)
    own.held_back += held != 0
    return ready & ~held
