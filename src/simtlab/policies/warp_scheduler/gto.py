"""Greedy then oldest (Rogers, O'Connor, Aamodt, MICRO 2012): stay on a warp until it stalls, then take the oldest."""

import numpy as np

from simtlab.policies.hook import bit_of, hook, oldest

source = "Rogers, O'Connor, Aamodt, MICRO 2012"
bytes_a_core = 2 * 1  # of two schedulers: the last warp
state = np.dtype([("greedy", "i8")])


@hook
def pick(core, own, ready, cycle):
    if ready & bit_of(own.greedy):
        return own.greedy
    return oldest(core, ready)


@hook
def on_issue(core, own, warp, cycle):
    own.greedy = warp
