"""The instruction buffer: a few decoded instructions for each warp, in program order (BOOK 3.2)."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.simt_stack import pop
from simtlab.execute.state import WarpStatus
from simtlab.machine.core.dependences import check
from simtlab.machine.core.scoreboard import bit_of, clear_hazards
from simtlab.machine.core.timing import timing_at

RUNNING = int(WarpStatus.RUNNING)


@compiled
def look_at_head(core, w):
    """The warp's next instruction is another one: which unit it wants, what it waits for."""
    bit = bit_of(w)
    keep = np.uint64(~bit)
    slot = core.slots[w]
    core.unit_of_head[slot.unit] = np.uint64(core.unit_of_head[slot.unit] & keep)
    core.to_memory = np.uint64(core.to_memory & keep)
    if slot.buffered > 0:
        row = timing_at(slot.timing).row[slot.head]
        slot.unit = row.unit
        core.unit_of_head[row.unit] = np.uint64(core.unit_of_head[row.unit] | bit)
        core.buffered = np.uint64(core.buffered | bit)
        if row.uses_memory:
            core.to_memory = np.uint64(core.to_memory | bit)
        if core.detail > 1:
            check(core, row, w)
    else:
        core.buffered = np.uint64(core.buffered & keep)
        if core.detail > 1:
            clear_hazards(core, w)


@compiled
def advance(core, w):
    """An instruction has left the buffer. Where the warp goes elsewhere, the rest of the buffer is worthless."""
    slot = core.slots[w]
    warp = core.ctas[slot.cta].warps[slot.warp]
    settle(warp)
    if warp.status == RUNNING and slot.buffered > 1 and warp.pc == slot.head + 1:
        slot.buffered -= 1
    else:
        slot.buffered = 0
    slot.head = warp.pc
    look_at_head(core, w)


@compiled
def settle(warp):
    """Let lanes that reached their reconvergence point meet, so that the pc is that of the next instruction."""
    while warp.status == RUNNING and warp.pc == warp.reconverge:
        pop(warp)
