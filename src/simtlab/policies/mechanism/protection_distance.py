"""Protection distance with warp throttling (Chen et al., MICRO 2014; BOOK 4.4.6): lines stay for so many accesses to their set.

A line that is filled or used is protected for the next `distance` accesses to its set. A miss takes the least recently used line
that is not protected; where all are, it goes around the L1, so that of a working set too large for the L1 a part stays and hits.
With `throttle`, every `period` cycles a core looks at its cache (contended if `contended` percent of its accesses or more found
only protected lines) and at memory (congested if a mean round trip takes more than `congested` percent of the shortest so far).
With both, one warp less may issue, the youngest first; without, one more.

Choices: the distance is fixed, as the paper sweeps it; a use renews it, as where the idea is from (Duong et al., MICRO 2012); a set
with an unprotected line that is in flight makes a miss wait; the two thresholds, the period and the steps of one warp are ours; the
paper's predictor of how many warps should run is left out; a warp at a barrier does not count as one that runs; in every
32nd period all warps may issue, so that none that others wait for is held back for ever.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_L1_LINES, MAX_WARPS
from simtlab.machine.memory.cache import probe, set_of
from simtlab.machine.memory.l1 import Failure
from simtlab.machine.request import Kind
from simtlab.policies.accesses import is_another
from simtlab.policies.ages import is_open, oldest_that_run
from simtlab.policies.congestion import trip_since
from simtlab.policies.hook import NO_WAY, count_bits, hook, is_empty, may_go
from simtlab.policies.sets import whole_numbers

source = "Chen et al., MICRO 2014; BOOK 4.4.6"
bytes_a_core = 64 + 12  # 4 bits for each of 128 lines; warps that run (1), accesses, bypasses, trips, shortest (2 each), cycles (3)
NO_LINE, READ = int(Failure.TAG), int(Kind.READ)
parameters = {"distance": 8, "throttle": 1, "contended": 10, "congested": 300, "period": 2048}
limits = {"distance": (1, 32767), "throttle": (0, 1), "contended": (0, 100), "congested": (100, None), "period": (1, None)}
counters = {
    "bypassed": ("accesses", "Accesses that found only protected lines in their set, and went around the L1."),
    "lowered": ("samples", "Times that one warp less of a core might issue."),
    "raised": ("samples", "Times that one more might."),
}
state = np.dtype([
    *whole_numbers(parameters, counters, ("last", "running", "is_open", "accesses", "found", "trips", "cycles")),
    ("left", "i2", (MAX_L1_LINES,)),
])  # fmt: skip
patient = True  # what it holds back it holds back until the core changes, or the time is told


@compiled
def count_down(core, own, address):
    """An access to a set: each line has one less left."""
    first = set_of(core.l1d, address) * core.l1d.ways
    for way in range(first, first + core.l1d.ways):
        own.left[way] = max(own.left[way] - 1, 0)


@compiled
def use(core, own, op):
    """An access with a line in the L1, there or in flight, protects it anew."""
    address = core.ops[op].lines[core.ops[op].served]
    count_down(core, own, address)
    way = probe(core.l1d, address)
    if way != NO_WAY:
        own.left[way] = own.distance


@hook
def on_l1_hit(core, own, op, cycle):
    use(core, own, op)


@hook
def on_l1_miss(core, own, op, cycle):
    use(core, own, op)


@hook
def l1_replacement_victim(cache, own, first, cycle):
    best = NO_WAY
    for way in range(int(first), int(first) + cache.ways):
        line = cache.line[way]
        if is_empty(line):
            return way
        is_protected = own.left[way] > 0 and cache.access.kind == READ  # a write has nowhere else to go
        if may_go(line) and not is_protected and (best == NO_WAY or line.used < cache.line[best].used):
            best = way
    return best


@hook
def l1_allocation_bypass_stall(core, own, op, cycle):
    load = core.ops[op]
    address = load.lines[load.served]
    first = set_of(core.l1d, address) * core.l1d.ways
    for way in range(first, first + core.l1d.ways):
        if own.left[way] == 0:
            return 0
    if core.ldst_blocked != NO_LINE:
        return 0
    if is_another(own, load):
        own.bypassed += 1
        count_down(core, own, address)
    return 1


@hook
def on_tick(core, own, count, cycle):
    accesses, bypassed, trip = core.accesses - own.accesses, own.bypassed - own.found, trip_since(core, own)
    own.accesses, own.found, own.is_open, running = core.accesses, own.bypassed, is_open(count), count_bits(core.occupied)
    if count == 0 or running == 0:
        own.running = MAX_WARPS
        return
    is_contended = bypassed > 0 and 100 * bypassed >= own.contended * accesses
    if own.throttle and is_contended and trip > own.congested:
        own.lowered += own.running > 1
        own.running = max(min(own.running, running) - 1, 1)
    elif own.running < running:
        own.running += 1
        own.raised += 1


@hook
def allow(core, own, ready, cycle):
    return ready if own.is_open else oldest_that_run(core, ready, own.running)
