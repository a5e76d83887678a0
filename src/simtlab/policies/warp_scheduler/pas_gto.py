"""Prefetch-aware scheduling on greedy then oldest, as CAPS, section V-A, sketches it.

Leading warps are scheduled greedily until they have computed their base addresses: until they first wait for data. Then
they are warps like any other.
"""

import numpy as np

from simtlab.policies.hook import bit_of, hook, oldest

state = np.dtype([("leading", "u8"), ("greedy", "i8")])


@hook
def pick(core, own, ready, cycle):
    own.leading = np.uint64(own.leading & ~core.long)
    leaders = np.uint64(ready & own.leading)
    choice = leaders if leaders != 0 else ready
    return own.greedy if choice & bit_of(own.greedy) else oldest(core, choice)


@hook
def on_issue(core, own, warp, cycle):
    own.greedy = warp


@hook
def on_cta(core, own, cta, cycle):
    for k in range(core.ctas[int(cta)].n_warps):
        own.leading = np.uint64(own.leading & ~bit_of(core.slot_of[int(cta), k]))
    own.leading = np.uint64(own.leading | bit_of(core.slot_of[int(cta), 0]))
