"""Which CTAs read which blocks of global memory: how often each CTA's loads came to each 128-byte block, by class of load.

LOADS (section IX) asks how much of what one CTA reads another one reads too. Accesses are noted in a short log, which goes into
a hash table when it is full, all at once, so that the host's cache misses overlap. The table is the host's: where it gets too
full, the run comes back for a larger one. It holds all that a machine has run; CTAs of different launches are one if they have
the same number in their grids.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simtlab.compiled import compiled, prefetch, reader_of

BLOCK_SHIFT = 7  # of 128 bytes
LOG = 512  # accesses
FIRST_PLACES, MOST_PLACES = 1 << 16, 1 << 26  # of the table; with more than the last, further pairs are left out

# A CTA's accesses to a block, by class: non-deterministic loads', deterministic ones'. A free place has none. The key is the
# block's number and the CTA's: four pairs lie in a cache line of the host.
CTA_BITS = 24
pair_t = np.dtype([("key", "u8"), ("accesses", "u4", (2,))], align=True)
MOST_CTAS = (1 << CTA_BITS) - 1
pairs_t = np.dtype([("place", pair_t, (MOST_PLACES,))])
pairs_at = reader_of(pairs_t)

blocks_t = np.dtype(
    [
        ("table", "i8"),  # host address of the pairs,
        ("places", "i8"),  # … how many there are (a power of two),
        ("used", "i8"),  # … and how many are not free
        ("full", "i8"),  # a larger table is wanted
        ("left_out", "i8"),  # accesses for which there was no place
        ("noted", "i8"),  # accesses in the log: their pairs' keys and their classes
        ("key", "u8", (LOG,)),
        ("deterministic", "i1", (LOG,)),
    ],
    align=True,
)


@compiled
def note(gpu, op, cta):
    """A load of a CTA reads from its blocks; those of one block lie side by side."""
    last = np.int64(-1)
    for k in range(op.accesses):
        block = op.lines[k] >> BLOCK_SHIFT
        if block != last:
            last = block
            note_block(gpu, np.uint64((block << CTA_BITS) | (cta & MOST_CTAS)), op.deterministic)


@compiled
def note_block(gpu, key, deterministic):
    blocks = gpu.blocks
    blocks.key[blocks.noted], blocks.deterministic[blocks.noted] = key, deterministic
    blocks.noted += 1
    if blocks.noted == LOG:
        enter_all(blocks)
        if blocks.full:
            gpu.until = gpu.cycle  # this stretch of the run ends, and the host makes room


@compiled
def enter_all(blocks):
    """Empty the log into the table."""
    table = pairs_at(blocks.table)
    for k in range(blocks.noted):
        prefetch(table.place, place_of(blocks.key[k], blocks.places))
    for k in range(blocks.noted):
        enter(blocks, table, blocks.key[k], blocks.deterministic[k])
    blocks.noted = 0
    blocks.full = 2 * blocks.used > blocks.places and blocks.places < MOST_PLACES


@compiled
def place_of(key, places):
    """Where a pair is looked for first."""
    mixed = np.uint64(key * np.uint64(0x9E3779B97F4A7C15))
    return np.int64(np.uint64(mixed >> np.uint64(32)) & np.uint64(places - 1))


@compiled
def enter(blocks, table, key, deterministic):
    """Count an access in its pair's place, which may be one that is free."""
    pair = table.place[find(table, key, blocks.places)]
    if is_free(pair):
        if 4 * blocks.used > 3 * blocks.places:
            blocks.left_out += 1
            return
        pair.key = key
        blocks.used += 1
    pair.accesses[deterministic] += np.uint32(1)


@compiled
def find(table, key, places):
    """The place of a pair, or the free one that it would get."""
    place = place_of(key, places)
    while not is_free(table.place[place]) and table.place[place].key != key:
        place = (place + 1) & (places - 1)
    return place


@compiled
def is_free(pair):
    return pair.accesses[0] == 0 and pair.accesses[1] == 0


@compiled
def move_all(old, old_places, new, new_places):
    """Copy all pairs to a larger table; both are host addresses."""
    before, after = pairs_at(old), pairs_at(new)
    for k in range(old_places):
        pair = before.place[k]
        if not is_free(pair):
            target = after.place[find(after, pair.key, new_places)]
            target.key = pair.key
            target.accesses[0], target.accesses[1] = pair.accesses[0], pair.accesses[1]


@compiled
def enter_rest(gpus):
    """Empty the log, from Python."""
    enter_all(gpus[0].blocks)


def pairs_of(tables: Sequence["Blocks"]) -> tuple[np.ndarray, int]:
    """The pairs of all host threads' tables, in the order of blocks and CTAs, and how many accesses are in none of them."""
    found, left_out = zip(*(table.pairs() for table in tables), strict=True)
    if len(found) == 1:
        return found[0], left_out[0]
    together = np.concatenate(found)
    keys, places = np.unique(together["key"], return_inverse=True)
    merged = np.zeros(len(keys), pair_t)
    merged["key"] = keys
    np.add.at(merged["accesses"], places, together["accesses"])
    return merged, sum(left_out)


class Blocks:
    """The table of a machine, kept for its GPU's record."""

    def __init__(self, gpu: np.ndarray) -> None:
        self._gpu = gpu
        self._record: Any = gpu["blocks"]
        self._use(np.zeros(FIRST_PLACES, pair_t))

    @property
    def table(self) -> np.ndarray:
        """The table as it is now."""
        return self._pairs

    def start_with(self, places: int) -> None:
        """An empty table of a size."""
        self._use(np.zeros(places, pair_t))

    def _use(self, pairs: np.ndarray) -> None:
        self._pairs = pairs
        self._record["table"], self._record["places"], self._record["full"] = pairs.ctypes.data, len(pairs), 0

    def make_room(self) -> None:
        """Give the machine a table four times as large if it wants one."""
        if self._record["full"][0]:
            larger = np.zeros(min(4 * len(self._pairs), MOST_PLACES), pair_t)
            move_all(self._pairs.ctypes.data, len(self._pairs), larger.ctypes.data, len(larger))
            self._use(larger)

    def pairs(self) -> tuple[np.ndarray, int]:
        """All pairs so far, in the order of blocks and CTAs, and how many accesses are in none of them."""
        enter_rest(self._gpu)
        self.make_room()
        found = self._pairs[self._pairs["accesses"].any(axis=1)]
        return found[np.argsort(found["key"])], int(self._record["left_out"][0])
