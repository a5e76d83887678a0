"""Fair (Lakshminarayana and Kim 2010; BOOK 5.1.2): the ready warp that has issued fewest instructions, of equal ones the oldest.

Warps that do the same work then reach the same load together: their requests for a line merge, and rows of DRAM are opened once.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import bit_of, hook, lowest_bit, oldest

source = "Lakshminarayana, Kim 2010; BOOK 5.1.2"
bytes_a_core = 48 * 4  # instructions issued by each of 48 warps
state = np.dtype([("passed_over", "i8")])
counters = {"passed_over": ("instructions", "That a warp issued before an older one that was ready.")}


@compiled
def progress(core, w):
    """How many instructions a warp has issued, and below that its age."""
    slot = core.slots[w]
    return (core.ctas[slot.cta].warps[slot.warp].executed << 32) + slot.age


@hook
def pick(core, own, ready, cycle):
    best = lowest_bit(ready)
    rest = np.uint64(ready & ~bit_of(best))
    while rest != 0:
        w = lowest_bit(rest)
        rest = np.uint64(rest & ~bit_of(w))
        if progress(core, w) < progress(core, best):
            best = w
    own.passed_over += best != oldest(core, ready)
    return best
