"""Shared memory: words interleaved over banks; lanes that want different words of one bank take turns (BOOK 4.1.1)."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.memory import is_shared, lane_address
from simtlab.isa.spaces import SHARED_BASE
from simtlab.machine.limits import MAX_SHARED_BANKS

NO_LANE = -1

bank_conflict_t = np.dtype(
    [
        ("stamp", "i8"),  # marks which banks have been seen in the current part of an access
        ("seen", "i8", (MAX_SHARED_BANKS,)),
        ("last", "i8", (MAX_SHARED_BANKS,)),  # the last lane that wanted a new word of the bank
        ("words", "i8", (MAX_SHARED_BANKS,)),  # how many words of the bank are wanted
        ("word", "i8", (32,)),
        ("before", "i8", (32,)),  # the lane before on the bank's list
        ("wanted", "i8"),  # words that banks were asked for, ever
    ],
    align=True,
)


@compiled
def conflict_passes(gpu, warp, ins, mask, one_by_one):
    """How many passes an access takes. Lanes that want the same word share it, unless it is an atomic.

    Wider accesses are served in parts: 16 lanes of 64 bits, 8 lanes of 128 bits at a time.
    """
    lanes_at_once = max(1, 32 * gpu.bank_bytes // max(ins.access_bytes, gpu.bank_bytes))
    passes = 0
    for first in range(0, 32, lanes_at_once):
        gpu.conflicts.stamp += 1
        most = 0
        for lane in range(first, first + lanes_at_once):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                most = max(most, want(gpu, word_of(gpu, warp, ins, lane), lane, one_by_one))
        passes += most
    return max(passes, 1)


@compiled
def want(gpu, word, lane, one_by_one):
    """Note that a lane wants a word; gives how many words of its bank are wanted now."""
    table = gpu.conflicts
    bank = word % gpu.shared_banks
    if table.seen[bank] != table.stamp:
        table.seen[bank], table.words[bank], table.last[bank] = table.stamp, 0, NO_LANE
    other = table.last[bank]
    while other != NO_LANE and not one_by_one:
        if table.word[other] == word:
            return table.words[bank]
        other = table.before[other]
    table.word[lane], table.before[lane] = word, table.last[bank]
    table.last[bank] = lane
    table.words[bank] += 1
    table.wanted += 1
    return table.words[bank]


@compiled
def word_of(gpu, warp, ins, lane):
    address = lane_address(warp, ins, lane)
    if is_shared(address):
        address -= SHARED_BASE
    return address // gpu.bank_bytes
