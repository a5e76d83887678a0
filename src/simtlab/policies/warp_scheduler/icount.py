"""ICOUNT (Lakshminarayana and Kim 2010, after Tullsen et al., ISCA 1996; BOOK 5.1.2): the ready warp with least in the pipeline.

Counted are its instructions that are issued and not finished; of equal ones the oldest warp goes first.
It favours the warps that get on fastest: one that waits for memory keeps its instructions in the pipeline.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import bit_of, hook, lowest_bit, oldest

source = "Lakshminarayana, Kim 2010, after Tullsen et al., ISCA 1996; BOOK 5.1.2"
bytes_a_core = 48 * 1  # instructions in flight of each of 48 warps
state = np.dtype([("passed_over", "i8")])
counters = {"passed_over": ("instructions", "That a warp issued before an older one that was ready.")}


@compiled
def in_pipeline(core, w):
    """How many instructions of a warp are in flight, and below that its age."""
    return (core.slots[w].in_flight << 32) + core.slots[w].age


@hook
def pick(core, own, ready, cycle):
    best = lowest_bit(ready)
    rest = np.uint64(ready & ~bit_of(best))
    while rest != 0:
        w = lowest_bit(rest)
        rest = np.uint64(rest & ~bit_of(w))
        if in_pipeline(core, w) < in_pipeline(core, best):
            best = w
    own.passed_over += best != oldest(core, ready)
    return best
