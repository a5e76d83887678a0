"""Sets of small numbers (ports, clusters, slices), a bit for each, so that looking for members skips the others."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros

WORD_BITS = 64
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def bit_set_t(capacity: int) -> np.dtype:
    """A set of numbers below `end`, which is at most `capacity`."""
    return np.dtype([("end", "i8"), ("words", "u8", (-(-capacity // WORD_BITS),))], align=True)


@compiled
def bit_in_word(number):
    return np.uint64(np.uint64(1) << np.uint64(number & 63))


@compiled
def add(members, number):
    members.words[number >> 6] |= bit_in_word(number)


@compiled
def remove(members, number):
    members.words[number >> 6] &= ~bit_in_word(number)


@compiled
def those_due(times, first, end, now):
    """Of the 64 numbers from `first` on, below `end`, those whose time has come, as bits. Looks at all without a branch, for
    nothing could predict it."""
    due = np.uint64(0)
    for number in range(first, min(end, first + WORD_BITS)):
        due |= np.uint64(times[number] <= now) << np.uint64(number - first)
    return due


@compiled
def is_empty(members):
    return next_member(members, 0) == members.end


@compiled
def next_member(members, start):
    """The first member from `start` on, or the end of the set if there is none."""
    if start >= members.end:
        return members.end
    word = start >> 6
    bits = np.uint64(members.words[word] & (ALL << np.uint64(start & 63)))
    while bits == 0:
        word += 1
        if word << 6 >= members.end:
            return members.end
        bits = members.words[word]
    return (word << 6) + count_trailing_zeros(bits)


@compiled
def next_around(members, after):
    """The first member that follows `after`, going round; the end of the set if it is empty."""
    found = next_member(members, after + 1)
    return found if found < members.end else next_member(members, 0)
