"""What the switch allocators share: the round-robin search through a mask."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros


@compiled
def lowest(mask):
    """The number of the lowest bit set in a mask that is not empty."""
    return count_trailing_zeros(np.uint64(mask))


@compiled
def next_bit(mask, after):
    """The first bit set in a mask of at most 60 bits that follows bit `after`, going round; the mask must not be empty."""
    above = mask & ~((2 << after) - 1)
    if above != 0:
        return lowest(above)
    return lowest(mask)
