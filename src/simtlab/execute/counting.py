"""What a functional run counts by instruction, where that is wanted: how often, in how many lanes, lines of memory touched, and how
many of those the CTA had not touched lately."""

import numpy as np

from simtlab.compiled import compiled, load_i64, store_i64
from simtlab.execute.memory import lane_address
from simtlab.execute.simt_stack import count_lanes
from simtlab.program.action import Action, Space

LOAD, STORE, ATOMIC = int(Action.LOAD), int(Action.STORE), int(Action.ATOMIC)
GLOBAL, GENERIC = int(Space.GLOBAL), int(Space.GENERIC)
LINE_SHIFT = 7  # lines of 128 bytes
NO_LINE = np.int64(-1)

# A row for each instruction: executions by warps, lanes that took part, and lines of global memory. A warp's lanes are gone through
# in order, and each that is in another line than the one before it counts: as many as a GPU fetches where lanes go through memory.
# `cold` are those of them that a table of the CTA's last lines has not, as a cache of its own would miss them.
count_t = np.dtype([("executed", "i8"), ("lanes", "i8"), ("lines", "i8"), ("cold", "i8")])
COUNT_BYTES, LANES_AT, LINES_AT, COLD_AT = count_t.itemsize, 8, 16, 24
SEEN_BITS = 12  # of the table's size: 4096 lines, 512 KB
CTA_BITS = 20  # of an entry
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def no_counts(instructions: int) -> np.ndarray:
    return np.zeros(instructions, count_t)


def no_lines() -> np.ndarray:
    """A table of lines touched, still empty."""
    return np.full(1 << SEEN_BITS, NO_LINE)


@compiled
def count(worker, cta, warp, ins, pc, mask):
    """An instruction is about to be executed in the lanes of `mask`."""
    place = worker.counts + pc * COUNT_BYTES
    store_i64(place, load_i64(place) + 1)
    store_i64(place + LANES_AT, load_i64(place + LANES_AT) + count_lanes(mask))
    is_access = ins.action == LOAD or ins.action == STORE or ins.action == ATOMIC
    if is_access and (ins.space == GLOBAL or ins.space == GENERIC):
        lines, cold = lines_touched(worker.seen, cta.number, warp, ins, mask)
        store_i64(place + LINES_AT, load_i64(place + LINES_AT) + lines)
        store_i64(place + COLD_AT, load_i64(place + COLD_AT) + cold)


@compiled
def lines_touched(seen, number, warp, ins, mask):
    """How often the line changes from lane to lane, and how often to one that the CTA has not touched lately (with a table)."""
    lines, cold, last = 0, 0, NO_LINE
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            line = lane_address(warp, ins, lane) >> LINE_SHIFT
            if line != last:
                lines += 1
                cold += seen != 0 and note_line(seen, number, line)
            last = line
    return lines, cold


@compiled
def note_line(seen, number, line):
    """Whether a line is new in a CTA's table; other CTAs' entries are none of its own."""
    entry = line << CTA_BITS | number & ((1 << CTA_BITS) - 1)
    place = seen + 8 * np.int64(np.uint64(np.uint64(line) * GOLDEN) >> np.uint64(64 - SEEN_BITS))
    is_new = load_i64(place) != entry
    store_i64(place, entry)
    return is_new
