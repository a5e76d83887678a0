"""Back-off warp spinning (ElTantawy and Aamodt, HPCA 2018; BOOK 5.1.4): warps that spin on a lock are found, go last, and wait.

Detection (DDOS): each warp keeps a path history, hashes of the PCs of its last comparisons, and a value history, hashes of what its
first active lane compared. Where both repeat with one period for a whole turn, the warp spins. A branch back to a loop's start that
spinning warps take is confirmed, while they have taken it `threshold` times more than other warps, as one that spins.
Back-off: a warp that takes a confirmed branch, and so has given its locks back, goes behind all others: it issues only where no
warp does that is not backed off, first in, first out. Then it is a warp as any other, until it takes the branch again; but its
turns begin at least `delay` cycles apart. With `adaptive` the delay changes every `period` cycles: by a `step` more while more than
`spin_percent` of the instructions are such branches, else by a step less; by two steps less if there were fewer instructions for
each of them than `useful_percent` of those in the period before.

Choices: the paper's table of parameters was not at hand: lengths, thresholds and steps are chosen. A branch's count goes on when it
is confirmed, up to 15, so that one whose warps no longer spin is given up: a loop along a text repeats a turn at each double letter
(in 13 of 100 turns in PVC; on locks 42 to 83 of 100 repeat). A match is looked for at the shortest distance first. The delay begins
at 0 and `spin_percent` is 10 because 1000 and 5, tried first, did worse on the lock programs here; no other defaults were tried. It
gains where tries that fail hinder those that hold a lock (ATM with few accounts), and saves instructions wherever warps spin. Where
tries hinder nobody (HT with few buckets), delays only make waits longer, and it loses. A search through equal values, whose loop
compares nothing else, looks like spinning.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import bit_of, compared, hook, lowest_bit

source = "ElTantawy and Aamodt, HPCA 2018; BOOK 5.1.4"
LENGTH, ENTRIES, MAX_WARPS, HASHED, SURE = 8, 16, 64, 0xFF, 15
# Of each of 48 warps 8 x (8 + 8) bits of history, 2 bytes of matching, 14 bits of delay and 6 of its place in the queue; of 16
# branches PC and confidence; the delay and the counts of two periods.
bytes_a_core = 48 * (16 + 2) + 48 * 20 // 8 + ENTRIES * 5 + 10
history_t = np.dtype([
    ("path", "i8", (LENGTH,)), ("value", "i8", (LENGTH,)), ("count", "i8"), ("distance", "i8"), ("left", "i8"), ("spins", "i8"),
    ("queued", "i8"), ("next", "i8"),
])  # fmt: skip
state = np.dtype([
    ("threshold", "i8"), ("adaptive", "i8"), ("delay", "i8"), ("step", "i8"), ("most", "i8"), ("period", "i8"),
    ("spin_percent", "i8"), ("useful_percent", "i8"), ("warp", history_t, (MAX_WARPS,)),
    ("branch", [("pc", "i8"), ("confidence", "i8")], (ENTRIES,)), ("backed_off", "u8"), ("fresh", "u8"), ("limit", "i8"),
    ("issued", "i8"), ("turns", "i8"), ("before", "i8"), ("found", "i8"), ("spun", "i8"), ("held_back", "i8"),
])  # fmt: skip
parameters = {
    "threshold": 4, "adaptive": 1, "delay": 0, "step": 250, "most": 10_000, "period": 1000, "spin_percent": 10,
    "useful_percent": 80,
}  # fmt: skip
limits = {"threshold": (1, 15), "adaptive": (0, 1), "step": (1, None), "spin_percent": (0, 100), "useful_percent": (0, 100)}
counters = {
    "found": ("times", "A branch was confirmed as that of a loop that spins."),
    "spun": ("turns", "Of such loops, after which a warp backed off."),
    "held_back": ("cycles", "In which a scheduler's ready warps waited, backed off."),
}


@hook
def on_compare(core, own, warp, cycle):
    history, pc, value = own.warp[warp], core.slots[warp].head, compared(core, warp)
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


@hook
def on_loop(core, own, warp, cycle):
    pc, spins = core.slots[warp].head + 1, own.warp[warp].spins
    entry = own.branch[pc % ENTRIES]
    if spins and entry.pc != pc and entry.confidence < own.threshold:
        entry.pc, entry.confidence = pc, 0
    if entry.pc != pc:
        return
    own.found += spins and entry.confidence == own.threshold - 1
    entry.confidence = min(max(entry.confidence + (1 if spins else -1), 0), SURE)
    if entry.confidence >= own.threshold:
        own.spun += 1
        own.turns += 1
        own.backed_off = np.uint64(own.backed_off | bit_of(warp))
        own.fresh = np.uint64(own.fresh | bit_of(warp))
        own.warp[warp].queued = cycle


@hook
def on_issue(core, own, warp, cycle):
    """A warp that was backed off begins another turn; one that has just taken the branch is told of its issue after that."""
    own.issued += 1
    if own.fresh & bit_of(warp):
        own.fresh = np.uint64(own.fresh & ~bit_of(warp))
    elif own.backed_off & bit_of(warp):
        own.backed_off = np.uint64(own.backed_off & ~bit_of(warp))
        own.warp[warp].next = cycle + own.limit


@hook
def allow(core, own, ready, cycle):
    others, best, left = np.uint64(ready & ~own.backed_off), np.uint64(0), np.uint64(ready & own.backed_off)
    if others != 0:
        own.held_back += left != 0
        return others
    since = cycle
    while left != 0:
        w = lowest_bit(left)
        left = np.uint64(left & ~bit_of(w))
        if own.warp[w].next <= cycle and own.warp[w].queued < since:
            best, since = bit_of(w), own.warp[w].queued
    own.held_back += best == 0
    return best


@hook
def on_tick(core, own, count, cycle):
    if count == 0:
        own.limit = own.delay
    elif own.adaptive:
        own.limit += own.step if 100 * own.turns > own.spin_percent * own.issued else -own.step
        useful = own.issued // max(own.turns, 1)
        if own.turns > 0 and 100 * useful < own.useful_percent * own.before:
            own.limit -= 2 * own.step
        own.before = useful if own.turns > 0 else 0
        own.limit = min(max(own.limit, 0), own.most)
    own.issued, own.turns = 0, 0


@hook
def on_warp_end(core, own, warp, cycle):
    own.backed_off, own.fresh = np.uint64(own.backed_off & ~bit_of(warp)), np.uint64(own.fresh & ~bit_of(warp))
    history = own.warp[warp]
    history.count, history.distance, history.spins, history.next = 0, 0, 0, 0
