"""Criticality-aware warp scheduling: the warp that will end last issues first (Lee and Wu, PACT 2014; BOOK 5.1.2).

Warps of a CTA end at different times, and the CTA's place is free with the last of them. A warp's criticality is predicted while it
runs (policies/criticality.py): instructions left times its mean cycles an instruction, and the cycles it has stalled. A scheduler
issues the most critical warp, of equal ones the oldest; with `greedy` it stays on a warp until that stalls (gCAWS, ISCA 2015).

Choices: the paper knows the critical warps from an earlier run, or predicts them by instructions alone; this is the predictor of
CAWA (ISCA 2015). Warps of all CTAs of a core are compared with each other. It leaves the warp scheduler no choice, but a two-level
one lets it choose among its active warps alone.
"""

import numpy as np

from simtlab.policies import criticality
from simtlab.policies.criticality import most_critical, note_issue
from simtlab.policies.hook import bit_of, hook, oldest

source = "Lee, Wu, PACT 2014; BOOK 5.1.2"
bytes_a_core = criticality.BYTES
state = np.dtype([*criticality.fields, ("greedy", "i8"), ("preferred", "i8")])
parameters = {"greedy": 0}
limits = {"greedy": (0, 1)}
counters = {"preferred": ("instructions", "Of a warp that went before an older one because it was more critical.")}
patient = True  # it never holds all back


@hook
def allow(core, own, ready, cycle):
    last = bit_of(own.last[core.scheduler])
    if own.greedy and ready & last:
        return last
    best = most_critical(core, own, ready, cycle)
    own.preferred += best != oldest(core, ready)
    return bit_of(best)


@hook
def on_issue(core, own, warp, cycle):
    note_issue(core, own, warp, cycle)


@hook
def on_warp_end(core, own, warp, cycle):
    own.warp[warp].issued = 0
