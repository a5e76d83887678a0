"""Static warp limiting (Rogers et al., MICRO 2012): only the oldest `warps` of a scheduler may issue, greedy then oldest.

A warp that waits at a barrier does not count: those it waits for must come there too.
"""

import numpy as np

from simtlab.policies.hook import NO_WARP, bit_of, hook, oldest

source = "Rogers, O'Connor, Aamodt, MICRO 2012; BOOK 5.1.2"
bytes_a_core = 2 * 2  # of two schedulers: the limit, the last warp
state = np.dtype([("greedy", "i8"), ("warps", "i8"), ("scheduler", "i8")])
parameters = {"warps": 8}
limits = {"warps": (1, 64)}
patient = True  # what it holds back it holds back until the core changes


@hook
def pick(core, own, ready, cycle):
    allowed = np.uint64(0)
    rest = np.uint64(core.occupied & core.mine[own.scheduler] & ~core.barrier)
    for _ in range(own.warps):
        if rest == 0:
            break
        w = oldest(core, rest)
        rest = np.uint64(rest & ~bit_of(w))
        allowed = np.uint64(allowed | bit_of(w))
    choice = np.uint64(ready & allowed)
    if choice == 0:
        return NO_WARP
    if choice & bit_of(own.greedy):
        return own.greedy
    return oldest(core, choice)


@hook
def on_issue(core, own, warp, cycle):
    own.greedy = warp
