"""Protection distance with warp throttling (Chen et al., MICRO 2014; BOOK 4.4.6): lines stay for so many accesses to their set.

A line that is filled or used is protected for the next `distance` accesses to its set (policies/protection.py). A miss takes the
least recently used line that is not; where all are, it goes around the L1: of a working set too large for it a part stays and hits.
With `throttle`, every `period` cycles a core looks at its cache (contended if `contended` percent of its accesses or more found
only protected lines) and at memory (congested if a mean round trip takes more than `congested` percent of the shortest so far).
With both, one warp less may issue, the youngest first; without, one more.

Choices: the distance is fixed, as the paper sweeps it; a set with an unprotected line that is in flight makes a miss wait; the two
thresholds, the period and the steps of one warp are ours; the paper's predictor of how many warps should run is left out; a warp at
a barrier does not run; in every 32nd period all may issue, so that none that others wait for is held back for ever.
"""

import numpy as np

from simtlab.policies.accesses import is_another
from simtlab.policies.ages import is_open, oldest_that_run
from simtlab.policies.congestion import found_no_line, trip_since
from simtlab.policies.hook import count_bits, hook
from simtlab.policies.protection import LEFT, are_all_protected, least_recent_unprotected, note_access
from simtlab.policies.sets import whole_numbers

source = "Chen et al., MICRO 2014; BOOK 4.4.6"
bytes_a_core = 64 + 12  # 4 bits for each of 128 lines; warps that run (1), accesses, bypasses, trips, shortest (2 each), cycles (3)
parameters = {"distance": 8, "throttle": 1, "contended": 10, "congested": 300, "period": 2048}
limits = {"distance": (1, 32767), "throttle": (0, 1), "contended": (0, 100), "congested": (100, None), "period": (1, None)}
counters = {
    "bypassed": ("accesses", "Accesses that found only protected lines in their set, and went around the L1."),
    "lowered": ("samples", "Times that one warp less of a core might issue."),
    "raised": ("samples", "Times that one more might."),
}
fields = whole_numbers(parameters, counters, ["last", "running", "is_open", "accesses", "found", "trips", "cycles"])
state = np.dtype([*fields, LEFT])
patient = True  # what it holds back it holds back until the core changes, or the time is told


@hook
def on_l1_hit(core, own, op, cycle):
    note_access(core, own, op)


@hook
def on_l1_miss(core, own, op, cycle):
    note_access(core, own, op)


@hook
def l1_replacement_victim(cache, own, first, cycle):
    return least_recent_unprotected(cache, own, np.int64(first))


@hook
def l1_allocation_bypass_stall(core, own, op, cycle):
    if not found_no_line(core) or not are_all_protected(core, own, op):
        return 0
    if is_another(own, core.ops[op]):
        own.bypassed += 1
        note_access(core, own, op)
    return 1


@hook
def on_tick(core, own, count, cycle):
    accesses, bypassed, trip = core.accesses - own.accesses, own.bypassed - own.found, trip_since(core, own)
    own.accesses, own.found, own.is_open, running = core.accesses, own.bypassed, is_open(count), count_bits(core.occupied)
    if count == 0 or running == 0:
        own.running = core.warp_slots
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
