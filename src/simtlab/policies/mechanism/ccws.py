"""Cache-conscious warp scheduling: warps that lose locality keep others from loading (Rogers et al., MICRO 2012; BOOK 5.1.2).

Each warp has a victim tag array with the tags of its lines that were evicted, and a score of lost locality. A load that misses and
finds its tag there sets its warp's score to (such hits / instructions issued, both of the warps now in the core) x `k_throttle` x
cutoff, where the cutoff is `base_score` for each warp. Scores fall by one a cycle, down to `base_score`. Stacked from the highest
down, warps whose score begins above the cutoff may not issue global loads: without lost locality all may (BOOK Fig 5.1).

Choices, the first two those of the authors' simulator: the warp whose score crosses the cutoff may still load; victim tags are in
sets of 8, replaced first in, first out; the stack is made at a hit among the victims and every `period` cycles. Two-level
schedulers take a warp that is held back out of their active set. A warp at a barrier is not in the stack: it may wait for one that
is held back. Where memory has bandwidth to spare, few warps that hit can be slower than many that miss: there it loses.
"""

import numpy as np

from simtlab.policies.hook import count_bits, hook
from simtlab.policies.looks import next_loads
from simtlab.policies.scores import below_cutoff
from simtlab.policies.sets import whole_numbers
from simtlab.policies.victims import MOST_TAGS, WAYS, forget, recall, remember, victims_t

source = "Rogers, O'Connor, Aamodt, MICRO 2012; BOOK 5.1.2"
bytes_a_core = 48 * (16 * 5 + 2) + 48 * 4 + 8  # of each of 48 warps 16 tags of 40 bits and a score; hits and issues; two totals
MAX_WARPS = 64
parameters = {"base_score": 100, "k_throttle": 8, "tags": 16, "period": 32}
limits = {"base_score": (1, None), "k_throttle": (1, None), "tags": (WAYS, MOST_TAGS), "period": (1, None)}
counters = {
    "lost": ("accesses", "Misses that found their tag among the warp's victims."),
    "throttled": ("warp cycles", "Of warps that might not load, looked at every `period` cycles."),
}
warp_t = np.dtype([("victims", victims_t), *whole_numbers(["score", "since", "lost", "issued"])])
state = np.dtype([*whole_numbers(parameters, counters, ["issued", "lost_now"]), ("warp", warp_t, (MAX_WARPS,)), ("allowed", "u8")])
patient = True  # whom it holds back it holds back until the next tick, or a miss


@hook
def on_l1_evict(core, own, way, cycle):
    remember(own.warp[core.l1d.owner[way].warp].victims, own.tags, core.l1d.tags[way])


@hook
def on_l1_miss(core, own, op, cycle):
    load = core.ops[op]
    warp = own.warp[load.slot]
    if recall(warp.victims, own.tags, load.lines[load.served] >> core.l1d.line_shift):
        own.lost, own.lost_now, warp.lost = own.lost + 1, own.lost_now + 1, warp.lost + 1
        warp.score = own.lost_now * own.k_throttle * own.base_score * count_bits(core.occupied) // max(own.issued, 1)
        warp.since = cycle
        own.allowed = below_cutoff(core, own.warp, own.base_score, cycle)


@hook
def on_issue(core, own, warp, cycle):
    own.issued += 1
    own.warp[warp].issued += 1


@hook
def on_tick(core, own, count, cycle):
    own.allowed = below_cutoff(core, own.warp, own.base_score, cycle)
    own.throttled += own.period * count_bits(np.uint64(core.occupied & ~own.allowed))


@hook
def on_cta_start(core, own, cta, cycle):
    own.allowed = below_cutoff(core, own.warp, own.base_score, cycle)


@hook
def on_warp_end(core, own, warp, cycle):
    ended = own.warp[warp]
    own.issued, own.lost_now = own.issued - ended.issued, own.lost_now - ended.lost
    ended.issued, ended.lost, ended.score = 0, 0, 0
    forget(ended.victims)


@hook
def allow(core, own, ready, cycle):
    """Those above the cutoff may issue anything but global loads."""
    return np.uint64(ready & ~next_loads(core, np.uint64(ready & ~own.allowed)))
