"""Detect a stride: the lowest address of a load's first access moves by as much each time, in a warp or from warp to warp."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.tables import place_for

# `warp` is the warp slot that made the last step, `same` how often the stride has been seen in a row.
stride_t = np.dtype(
    [("key", "i8"), ("warp", "i8"), ("address", "i8"), ("stride", "i8"), ("same", "i8"), ("updated", "i8")], align=True
)


@compiled
def begin(table, key, load, cycle):
    """Give a load an entry, in place of the least recently updated one."""
    entry = table[place_for(table)]
    entry.key, entry.warp, entry.address, entry.stride, entry.same, entry.updated = key, load.slot, load.first[0], 0, 0, cycle


@compiled
def step(entry, load, steps, cycle):
    """The load's address so many steps after the last one: count how often in a row its stride has been the same."""
    moved = load.first[0] - entry.address
    stride = moved // steps
    if stride * steps != moved or stride == 0:
        entry.same, entry.stride = 0, 0
    else:
        entry.same = entry.same + 1 if stride == entry.stride else 1
        entry.stride = stride
    entry.warp, entry.address, entry.updated = load.slot, load.first[0], cycle
