"""First ready, first come first served (Rixner et al., ISCA 2000): column accesses before row commands, oldest first."""

import numpy as np

from simtlab.policies.hook import NO_BANK, bit_of, hook, lowest_bit


@hook
def choose(channel, own, could, cycle):
    best, left = NO_BANK, could
    while left != 0:
        bank = lowest_bit(left)
        left = np.uint64(left & ~bit_of(bank))
        if best == NO_BANK or channel.nominees[bank].rank < channel.nominees[best].rank:
            best = bank
    return best
