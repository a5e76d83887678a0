"""Spin loops, found by what repeats (DDOS, in ElTantawy and Aamodt, HPCA 2018; BOOK 5.1.4).

Each warp keeps a path history, hashes of the PCs of its last comparisons, and a value history, hashes of what its first active lane
compared. Where both repeat with one period for a whole turn, the warp spins; a match is looked for at the shortest distance first.
A branch back to a loop's start that spinning warps take is confirmed, while they have taken it `threshold` times more than other
warps, as one that spins.

Choices: lengths, and that a branch's count goes on when it is confirmed, up to 15, so that one whose warps no longer spin is given
up: a loop along a text repeats a turn at each double letter (in 13 of 100 turns in PVC; on locks 42 to 83 of 100 repeat).
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.looks import compared

LENGTH, ENTRIES, HASHED, SURE = 8, 16, 0xFF, 15
history_t = np.dtype([
    ("path", "i8", (LENGTH,)), ("value", "i8", (LENGTH,)), ("count", "i8"), ("distance", "i8"), ("left", "i8"), ("spins", "i8"),
])  # fmt: skip
branches_t = np.dtype(([("pc", "i8"), ("confidence", "i8")], (ENTRIES,)))
BYTES_A_WARP, BYTES_OF_BRANCHES = 16 + 2, ENTRIES * 5  # 8 x (8 + 8) bits of history and 2 bytes of matching; PC and confidence


@compiled
def note_comparison(core, history, warp):
    """A warp is about to compare: does it repeat itself?"""
    pc, value = core.slots[warp].head, compared(core, warp)
    path, value = (pc ^ pc >> 8) & HASHED, (value ^ value >> 31) & HASHED
    if history.distance == 0 or not matches(history, history.distance, path, value):
        history.distance, history.spins = 0, 0
        for distance in range(1, min(history.count, LENGTH) + 1):
            if matches(history, distance, path, value):
                history.distance = history.left = distance
                break
    if history.distance > 0:
        history.left -= 1
        history.spins = history.spins or history.left == 0
    history.path[history.count % LENGTH], history.value[history.count % LENGTH] = path, value
    history.count += 1


@compiled
def matches(history, distance, path, value):
    """Whether a comparison is what the one so many before was."""
    at = (history.count - distance) % LENGTH
    return history.path[at] == path and history.value[at] == value


@compiled
def forget(history):
    history.count, history.distance, history.spins = 0, 0, 0


@compiled
def note_branch(branches, pc, spins, threshold):
    """A warp, which spins or does not, has gone back by a branch: whether that is confirmed, and whether it has just become so."""
    entry = branches[(pc + 1) % ENTRIES]
    if spins and entry.pc != pc + 1 and entry.confidence < threshold:
        entry.pc, entry.confidence = pc + 1, 0
    if entry.pc != pc + 1:
        return False, False
    is_new = spins != 0 and entry.confidence == threshold - 1
    entry.confidence = min(max(entry.confidence + (1 if spins else -1), 0), SURE)
    return entry.confidence >= threshold, is_new
