"""Loose round robin: the ready warps take turns; a warp that is not ready loses its turn (BOOK 3.1.3)."""

import numpy as np

from simtlab.policies.hook import hook, next_after

state = np.dtype([("last", "i8")])


@hook
def pick(core, own, ready, cycle):
    return next_after(ready, own.last)


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp
