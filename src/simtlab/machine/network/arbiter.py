"""What the switch allocators share: sets of ports as bit masks, and the round-robin search through them."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING

WORD_BITS = 32

# 2 is a primitive root of 67: the powers of two have different remainders, so the remainder names the bit.
_MODULUS = 67
_BIT_OF_REMAINDER = np.zeros(_MODULUS, np.int64)
for _bit in range(62):
    _BIT_OF_REMAINDER[(1 << _bit) % _MODULUS] = _bit


def port_set_t(ports: int) -> np.dtype:
    """A set of port numbers below `ports`, as a record: a bit for each. `used` words are enough for the ports there are."""
    return np.dtype([("used", "i4"), ("words", "i8", (words_for(ports),))], align=True)


def words_for(ports: int) -> int:
    return -(-ports // WORD_BITS)


@compiled
def lowest(mask):
    """The number of the lowest bit set in a mask of at most 62 bits; the mask must not be empty."""
    return _BIT_OF_REMAINDER[(mask & -mask) % _MODULUS]


@compiled
def add_port(ports, port):
    ports.words[port >> 5] |= 1 << (port & 31)


@compiled
def remove_port(ports, port):
    ports.words[port >> 5] &= ~(1 << (port & 31))


@compiled
def next_port(ports, after):
    """The first port of a set that follows `after`, going round; NOTHING if the set is empty."""
    word = after >> 5
    mask = ports.words[word] & ~((2 << (after & 31)) - 1)
    for _ in range(ports.used + 1):
        if mask != 0:
            return word * WORD_BITS + lowest(mask)
        word += 1
        if word == ports.used:
            word = 0
        mask = ports.words[word]
    return NOTHING


@compiled
def next_bit(mask, after):
    """The first bit set in a mask of at most 60 bits that follows bit `after`, going round; the mask must not be empty."""
    above = mask & ~((2 << after) - 1)
    if above != 0:
        return lowest(above)
    return lowest(mask)
