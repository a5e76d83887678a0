"""What a warp in a loop wants of the L1: a footprint predicted from loads and active lanes (Rogers et al., MICRO 2013).

Of each load in the loop whose lines are used again the lines that it touches, fewer as lanes leave the loop. How many it touches,
with how many lanes, and whether they are used again is learned from one warp, whose first line in a turn is then the same as in the
turn before. A load of the same line as the load before it in the turn counts for nothing.

Choices: the paper has victim tags to see reuse, and two kinds of loads: one line if it touches at most two, else one for each
active lane; so predicted, a gather of 32 lanes from 8 lines (SPMV) left a core three warps.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_WARPS
from simtlab.policies.hook import NO_LOOP, active_lanes, fact_of, next_pc
from simtlab.policies.looks import is_first_in_line
from simtlab.policies.sets import whole_numbers

LOADS, USED_AGAIN, SURE = 64, 2, 3
BYTES = LOADS * 11 + 48 * (2 + 5)  # of a load 4 bytes of pc, 5 of line, a warp, flags; of each of 48 warps a prediction and a line
load_t = np.dtype(whole_numbers(["pc", "warp", "line", "again", "lines", "lanes"]))
fields = [("load", load_t, (LOADS,)), ("lines", "i8", (MAX_WARPS,)), ("before", "i8", (MAX_WARPS,))]  # of a mechanism's state


@compiled
def learn(core, own, load):
    """A load begins: if its warp is the one that is watched for it, see what it touches."""
    entry, line = own.load[load.pc % LOADS], load.lines[0] >> core.l1d.line_shift
    if entry.pc != load.pc + 1:
        entry.pc, entry.warp, entry.again = load.pc + 1, load.slot + 1, 0
    elif entry.warp == 0:
        entry.warp = load.slot + 1
    elif entry.warp == load.slot + 1:
        entry.again = min(entry.again + 1, SURE) if entry.line == line else max(entry.again - 1, 0)
    if entry.warp == load.slot + 1:
        entry.line, entry.lines, entry.lanes = line, 0, load.active
        for k in range(load.accesses):
            entry.lines += own.before[load.slot] != line + 1 and is_first_in_line(core, load, k)
    own.before[load.slot] = line + 1


@compiled
def predict(core, own, warp):
    """The lines that the innermost loop around where a warp goes on wants."""
    loop, lines = fact_of(core, warp, next_pc(core, warp)), np.int64(0)
    if loop.loop != NO_LOOP:
        lanes = active_lanes(core, warp)
        for pc in range(loop.header, loop.last + 1):
            load = own.load[pc % LOADS]
            if load.pc == pc + 1 and load.again >= USED_AGAIN:
                lines += -(-load.lines * lanes // load.lanes)
    return lines


@compiled
def begin_turn(own, warp):
    own.before[warp] = 0


@compiled
def forget(own, warp):
    """A warp has ended: another is watched for the loads that it was watched for."""
    own.lines[warp], own.before[warp] = 0, 0
    for k in range(LOADS):
        if own.load[k].warp == warp + 1:
            own.load[k].warp = 0
