"""Compiler-guided greedy then youngest (Huerta et al., MICRO 2025, what they find in NVIDIA's cores): stay on a warp until it
stalls or its instruction yields, then take the youngest. Without control bits nothing yields."""

import numpy as np

from simtlab.policies.hook import bit_of, hook, youngest

state = np.dtype([("greedy", "i8")])


@hook
def pick(core, own, ready, cycle):
    if ready & bit_of(own.greedy) & ~core.yielded:
        return own.greedy
    others = np.uint64(ready & ~(bit_of(own.greedy) & core.yielded))
    return youngest(core, others if others != 0 else ready)


@hook
def on_issue(core, own, warp, cycle):
    own.greedy = warp
