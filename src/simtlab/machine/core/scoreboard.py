"""The in-order scoreboard (BOOK 3.2): a register is pending from issue until its value is written back.

Per register by default; Coon's variant has a few entries a warp, and an instruction that finds none free waits.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.state import Pending

NOTHING, FIXED, SHORT, LONG = int(Pending.NOTHING), int(Pending.FIXED), int(Pending.SHORT), int(Pending.LONG)
CONSTANT = int(Pending.CONSTANT)


@compiled
def bit_of(w):
    return np.uint64(np.uint64(1) << np.uint64(w))


@compiled
def reserve(core, row, w):
    """The instruction's results are on their way."""
    for k in range(row.destinations):
        core.pending[w, row.destination[k]] = row.waits_for
    core.slots[w].reservations += row.destinations


@compiled
def release(core, row, w):
    """The instruction's results are there."""
    for k in range(row.destinations):
        core.pending[w, row.destination[k]] = NOTHING
    core.slots[w].reservations -= row.destinations


@compiled
def check(core, row, w):
    """Find what the warp's next instruction waits for, and put the warp into the matching set."""
    worst = NOTHING
    for k in range(row.sources):
        worst = max(worst, core.pending[w, row.source[k]])
    for k in range(row.destinations):
        worst = max(worst, core.pending[w, row.destination[k]])
    slot = core.slots[w]
    if worst == NOTHING and core.scoreboard_entries > 0 and slot.reservations > 0:
        worst = FIXED if slot.reservations + row.destinations > core.scoreboard_entries else NOTHING
    if worst == NOTHING and slot.bloom != 0 and writes_what_is_read(slot, row):
        worst = FIXED
    clear_hazards(core, w)
    bit = bit_of(w)
    if worst == FIXED:
        core.wait = np.uint64(core.wait | bit)
    elif worst == SHORT:
        core.short = np.uint64(core.short | bit)
    elif worst == LONG:
        core.long = np.uint64(core.long | bit)
    elif worst == CONSTANT:
        core.constant = np.uint64(core.constant | bit)


@compiled
def clear_hazards(core, w):
    keep = np.uint64(~bit_of(w))
    core.wait = np.uint64(core.wait & keep)
    core.short = np.uint64(core.short & keep)
    core.long = np.uint64(core.long & keep)
    core.constant = np.uint64(core.constant & keep)


@compiled
def writes_what_is_read(slot, row):
    """Bloomboard (Mishkin et al. 2016): a write waits while a hashed set says its register may still be read."""
    for k in range(row.destinations):
        if slot.bloom & bit_of(row.destination[k] & 63):
            return True
    return False


@compiled
def note_reads(slot, row):
    for k in range(row.sources):
        slot.bloom = np.uint64(slot.bloom | bit_of(row.source[k] & 63))
