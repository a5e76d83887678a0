"""Divergence-aware warp scheduling: the loops of so many warps load as the L1 can hold (Rogers et al., MICRO 2013; BOOK 5.1.2).

What a warp in a loop wants of the L1 is predicted, before it thrashes: of each load in the loop whose lines are used again, the
lines that it touches, fewer as lanes leave the loop. The oldest warps whose predictions fit into the L1 together may issue the
loop's loads, one at least; the others may issue anything else.

Choices: how many lines a load touches, with how many lanes, and whether its lines are used again is learned from one warp, whose
first line in a turn is the same as in the turn before. The paper has victim tags for that, and two kinds of loads: one line if it
touches at most two, else one for each active lane; so predicted, a gather of 32 lanes from 8 lines (SPMV) left a core three warps.
A load of the same line as the load before it in the turn counts for nothing. The prediction is made at each branch, for the
innermost loop around where the warp goes on. `share` is the percentage of the L1's lines to be filled: sets conflict before all is
full. The set is made every `period` cycles; warps at a barrier are not in it. One that does not fit goes before the oldest for
`relief` periods, each in turn, so that nobody waits for ever for a lock.
"""

import numpy as np

from simtlab.policies.hook import NO_LOOP, active_lanes, bit_of, count_bits, fact_of, hook, next_after, next_pc, oldest
from simtlab.policies.looks import is_first_in_line, next_loads
from simtlab.policies.sets import added, each, removed, whole_numbers

source = "Rogers, O'Connor, Aamodt, MICRO 2013; BOOK 5.1.2"
bytes_a_core = 64 * 11 + 48 * (2 + 5) + 9  # 64 loads (4 bytes of pc, 5 of line, a warp, flags); of 48 warps a prediction and a line
LOADS, MAX_WARPS, USED_AGAIN, SURE = 64, 64, 2, 3
load_t = np.dtype(whole_numbers(["pc", "warp", "line", "again", "lines", "lanes"]))
parameters = {"share": 75, "relief": 256, "period": 32}
limits = {"share": (1, 1000), "relief": (1, None), "period": (1, None)}
counters = {
    "predicted": ("branches", "After which a warp was in a loop whose lines are used again."),
    "throttled": ("warp cycles", "Of warps whose loop did not fit, looked at every `period` cycles."),
}
state = np.dtype([
    *whole_numbers(parameters, counters, ["guest"]), ("load", load_t, (LOADS,)), ("lines", "i8", (MAX_WARPS,)),
    ("before", "i8", (MAX_WARPS,)), ("held", "u8"),
])  # fmt: skip
patient = True  # whom it holds back it holds back until the next tick


@hook
def on_load(core, own, op, cycle):
    """Learn of a load from the warp that is watched for it."""
    load = core.ops[op]
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


@hook
def on_branch(core, own, warp, cycle):
    loop = fact_of(core, warp, next_pc(core, warp))
    own.lines[warp] = 0
    if loop.loop != NO_LOOP:
        lanes = active_lanes(core, warp)
        for pc in range(loop.header, loop.last + 1):
            load = own.load[pc % LOADS]
            if load.pc == pc + 1 and load.again >= USED_AGAIN:
                own.lines[warp] += -(-load.lines * lanes // load.lanes)
        own.predicted += own.lines[warp] > 0


@hook
def on_loop(core, own, warp, cycle):
    own.before[warp] = 0


@hook
def on_warp_end(core, own, warp, cycle):
    own.lines[warp], own.before[warp] = 0, 0
    for k in range(LOADS):
        if own.load[k].warp == warp + 1:
            own.load[k].warp = 0


@hook
def on_tick(core, own, count, cycle):
    if count % own.relief == 0 and own.held != 0:
        own.guest = next_after(own.held, own.guest)
    room, none_yet = own.share * core.l1d.sets * core.l1d.ways // 100, True
    rest, own.held = np.uint64(core.occupied & ~core.barrier), np.uint64(0)
    while rest != 0:
        w = own.guest if rest & bit_of(own.guest) else oldest(core, rest)
        rest = removed(rest, w)
        if own.lines[w] <= room or none_yet:
            room -= own.lines[w]
            none_yet = none_yet and own.lines[w] == 0
        else:
            own.held = added(own.held, w)
    own.throttled += own.period * count_bits(own.held)


@hook
def allow(core, own, ready, cycle):
    """Those whose loop does not fit may issue anything but the loop's global loads."""
    for w in each(next_loads(core, np.uint64(ready & own.held))):
        if fact_of(core, w, core.slots[w].head).loop != NO_LOOP and own.lines[w] > 0:
            ready = removed(ready, w)
    return ready
