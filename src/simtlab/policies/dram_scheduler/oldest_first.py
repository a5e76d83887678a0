"""The oldest request whose next command can go out, be it a row hit or not."""

import numpy as np

from simtlab.policies.hook import NO_BANK, bit_of, hook, lowest_bit


@hook
def choose(channel, own, could, cycle):
    best, oldest, left = NO_BANK, 0, could
    while left != 0:
        bank = lowest_bit(left)
        left = np.uint64(left & ~bit_of(bank))
        order = channel.entries[channel.nominees[bank].position].order
        if best == NO_BANK or order < oldest:
            best, oldest = bank, order
    return best
