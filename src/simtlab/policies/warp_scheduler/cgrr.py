"""Compiler-guided round robin: stay on a warp until it stalls or its instruction yields, then take the next in turn.

So an H200 shares its issue slots: of warps that compete for one unit all get on alike, where greedy then youngest (`cggty`, what
Huerta et al. find in an Ampere GPU) would starve the oldest. Without control bits nothing yields.
"""

import numpy as np

from simtlab.policies.hook import bit_of, hook, next_after

state = np.dtype([("greedy", "i8")])


@hook
def pick(core, own, ready, cycle):
    if ready & bit_of(own.greedy) & ~core.yielded:
        return own.greedy
    return next_after(ready, own.greedy)


@hook
def on_issue(core, own, warp, cycle):
    own.greedy = warp
