"""What a functional run counts by instruction, where that is wanted: how often, in how many lanes, lines of memory touched."""

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
count_t = np.dtype([("executed", "i8"), ("lanes", "i8"), ("lines", "i8")])
COUNT_BYTES, LANES_AT, LINES_AT = count_t.itemsize, 8, 16


def no_counts(instructions: int) -> np.ndarray:
    return np.zeros(instructions, count_t)


@compiled
def count(worker, warp, ins, pc, mask):
    """An instruction is about to be executed in the lanes of `mask`."""
    place = worker.counts + pc * COUNT_BYTES
    store_i64(place, load_i64(place) + 1)
    store_i64(place + LANES_AT, load_i64(place + LANES_AT) + count_lanes(mask))
    is_access = ins.action == LOAD or ins.action == STORE or ins.action == ATOMIC
    if is_access and (ins.space == GLOBAL or ins.space == GENERIC):
        store_i64(place + LINES_AT, load_i64(place + LINES_AT) + lines_touched(warp, ins, mask))


@compiled
def lines_touched(warp, ins, mask):
    """How often the line changes from lane to lane."""
    lines, last = 0, NO_LINE
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            line = lane_address(warp, ins, lane) >> LINE_SHIFT
            lines += line != last
            last = line
    return lines
