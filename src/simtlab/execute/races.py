"""Races between the warps of a CTA: two touch the same word, one of them writes, and no barrier is between.

A table has, for the words that a CTA touched since its last barrier, who wrote each last and who read it. A word that is not found
there was not touched, or another has taken its place: a race may be missed, and none is made up. Atomics do not race.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.memory import lane_address
from simtlab.isa.spaces import LOCAL_BASE, LOCAL_BYTES, SHARED_BASE
from simtlab.program.action import Action, Space

LOAD, STORE = int(Action.LOAD), int(Action.STORE)
SHARED, LOCAL, CONSTANT = int(Space.SHARED), int(Space.LOCAL), int(Space.CONST)
MAX_WORDS = 1 << 18  # a power of two
MAX_RACES = 64  # pairs of instructions
NOBODY, SEVERAL = -1, -2  # in place of a warp

touched_t = np.dtype([("word", "i8"), ("when", "i8"), ("writer", "i4"), ("written_at", "i4"), ("reader", "i4"), ("read_at", "i4")])
race_t = np.dtype(
    [
        ("count", "i8"),
        ("address", "i8"),  # of the first
        ("cta", "i8"),
        ("before", "i4"),  # the instructions, in the order in which they touched the word
        ("after", "i4"),
        ("before_writes", "i4"),
        ("after_writes", "i4"),
        ("warps", "i4", (2,)),
    ],
    align=True,
)
watch_t = np.dtype(
    [("wanted", "i8"), ("n_races", "i8"), ("races", race_t, (MAX_RACES,)), ("words", touched_t, (MAX_WORDS,))], align=True
)
WATCH = np.dtype((np.record, watch_t))


def new_watch(wanted: bool) -> np.ndarray:
    """An empty table for one host thread; where none is wanted it stays empty."""
    watch = np.zeros(1, WATCH)
    watch["wanted"] = wanted
    if wanted:
        watch["words"]["when"] = -1
    return watch


@compiled
def watch_access(watch, cta, warp, ins, pc, mask):
    """Note what the lanes of `mask` are about to touch."""
    if ins.space == LOCAL or ins.space == CONSTANT:
        return
    step = min(ins.access_bytes, 4)
    base = SHARED_BASE if ins.space == SHARED else 0
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            first = base + lane_address(warp, ins, lane)
            if first < LOCAL_BASE or first >= LOCAL_BASE + LOCAL_BYTES:
                for place in range(first, first + ins.access_bytes, step):
                    touch(watch, cta, warp.index, ins.action == STORE, pc, place)


@compiled
def touch(watch, cta, warp, writes, pc, place):
    """One word, by one warp."""
    word = watch.words[((place >> 2) * 0x9E3779B1 + place) & (MAX_WORDS - 1)]
    when = (cta.number << 24) + (cta.events & 0xFFFFFF)
    if word.word != place or word.when != when:
        word.word, word.when, word.writer, word.reader = place, when, NOBODY, NOBODY
    if word.writer != NOBODY and word.writer != warp:
        note(watch, cta, place, word.writer, warp, word.written_at, pc, True, writes)
    elif writes and word.reader != NOBODY and word.reader != warp:
        note(watch, cta, place, word.reader, warp, word.read_at, pc, False, True)
    if writes:
        word.writer, word.written_at = warp, pc
    else:
        word.reader = warp if word.reader == NOBODY or word.reader == warp else SEVERAL
        word.read_at = pc


@compiled
def note(watch, cta, place, one, other, before, after, before_writes, after_writes):
    """Count a race with those of the same two instructions."""
    found = np.int64(0)
    while found < watch.n_races and (watch.races[found].before != before or watch.races[found].after != after):
        found += 1
    if found == MAX_RACES:
        return
    race = watch.races[found]
    if found == watch.n_races:
        watch.n_races += 1
        race.before, race.after, race.address, race.cta, race.count = before, after, place, cta.number, 0
        race.before_writes, race.after_writes = before_writes, after_writes
        race.warps[0], race.warps[1] = one, other
    race.count += 1
