"""Wavefronts: how often an access of global or local memory goes through the L1's tags, and through its data.

The tags lie in four banks, which two parities of a line's number choose: in a cycle each bank looks up one line. The data lie in
32 banks of words, as those of shared memory do: in a cycle each bank gives one word, to 32 lanes of 4 bytes, 16 of 8 or 8 of 16.
An H200 was asked for loads of 32 lanes that all hit: strides of 0 to 1,028 bytes and random places, of 4, 8 and 16 bytes. `ncu`
counted wavefronts of tags and of data for 60 patterns (`tests/data/hardware/h200_wavefronts.json`), and what is here gives all of
them; many warps take as many cycles for a load as the larger of the two numbers. Which bits the parities are of, up to 4 GB,
reductions of three lanes say (atomic_passes.py).
"""

import numpy as np

from simtlab.compiled import compiled, count_ones
from simtlab.machine.memory.cache import line_of

ONE_PARITY, OTHER_PARITY = np.uint64(0xBAD5DA), np.uint64(0x1EF7AB5)  # bits of a line's number, found from the passes of an H200
LINE_BYTES, SECTOR_BYTES, WORD_BYTES = 128, 32, 4  # see config/rules.py
EACH_BYTE = np.uint64(0x0101010101010101)
SPREAD = np.uint64(0x0002040810204081)  # a product with it puts each of seven bits into a byte of its own


@compiled
def words_at(offset, size):
    """The words of a line that so many bytes at an offset belong to, as bits."""
    words = np.uint64((1 << max(1, size // WORD_BYTES)) - 1)
    return np.int64(np.uint64(words << np.uint64(offset // WORD_BYTES)))


@compiled
def tag_wavefronts(cache, op):
    """The most lines that one bank of tags looks up. The accesses of a line come to stand side by side: it is looked up once."""
    tags, place = np.uint64(0), np.int64(0)
    while place < op.accesses:
        line = line_of(cache, op.lines[place])
        place = bring_together(cache, op, place, line)
        tags = np.uint64(tags + np.uint64(np.uint64(1) << np.uint64(8 * tag_bank(line // LINE_BYTES))))
    return largest_byte(tags)


@compiled
def tag_bank(line):
    one = count_ones(np.uint64(np.uint64(line) & ONE_PARITY)) & 1
    return 2 * one + (count_ones(np.uint64(np.uint64(line) & OTHER_PARITY)) & 1)


@compiled
def bring_together(cache, op, first, line):
    """Move the accesses of a line to the places behind its first one, its sectors in order. Gives the place behind them."""
    place = first + 1
    for k in range(first + 1, op.accesses):
        if line_of(cache, op.lines[k]) == line:
            if k != place:
                exchange(op, k, place)
            at = place
            while at > first and op.lines[at - 1] > op.lines[at]:
                exchange(op, at - 1, at)
                at -= 1
            place += 1
    return place


@compiled
def exchange(op, one, other):
    op.lines[one], op.lines[other] = op.lines[other], op.lines[one]
    op.bytes[one], op.bytes[other] = op.bytes[other], op.bytes[one]
    op.words[one], op.words[other] = op.words[other], op.words[one]
    op.first[one], op.first[other] = op.first[other], op.first[one]


@compiled
def data_wavefronts(op):
    """The most words that one bank is asked for, by lanes of 4 bytes. The eight words of a sector lie in eight banks in a row."""
    a, b, c, d = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for k in range(op.accesses):
        words, place = in_bytes(np.uint64(op.words[k])), (op.lines[k] // SECTOR_BYTES) & 3
        if place == 0:
            a = np.uint64(a + words)
        elif place == 1:
            b = np.uint64(b + words)
        elif place == 2:
            c = np.uint64(c + words)
        else:
            d = np.uint64(d + words)
    return max(largest_byte(a), largest_byte(b), largest_byte(c), largest_byte(d))


@compiled
def in_bytes(bits):
    """Each of eight bits in a byte of its own."""
    lower = np.uint64(np.uint64(np.uint64(bits & np.uint64(0x7F)) * SPREAD) & EACH_BYTE)
    return np.uint64(lower | np.uint64(np.uint64(bits & np.uint64(0x80)) << np.uint64(49)))


@compiled
def largest_byte(word):
    largest = np.int64(0)
    while word != 0:
        largest = max(largest, np.int64(word & np.uint64(0xFF)))
        word = np.uint64(word >> np.uint64(8))
    return largest
