"""The in-order scoreboard (BOOK 3.2): a register is pending from issue until its value is written back.

Per register by default; Coon's variant has a few entries a warp, and an instruction that finds none free waits.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.kinds import Pending
from simtlab.machine.core.state import REGISTER_WORDS

NOTHING, FIXED, SHORT, LONG = int(Pending.NOTHING), int(Pending.FIXED), int(Pending.SHORT), int(Pending.LONG)
CONSTANT = int(Pending.CONSTANT)


@compiled
def bit_of(w):
    return np.uint64(np.uint64(1) << np.uint64(w))


@compiled
def reserve(core, row, w):
    """The instruction's results are pending."""
    slot = core.slots[w]
    for k in range(REGISTER_WORDS):
        slot.pending[k] |= row.writes[k]
        if row.waits_for == SHORT:
            slot.of_short[k] |= row.writes[k]
        elif row.waits_for == LONG:
            slot.of_long[k] |= row.writes[k]
        elif row.waits_for == CONSTANT:
            slot.of_constant[k] |= row.writes[k]
    slot.reservations += row.destinations


@compiled
def release(core, row, w):
    """The instruction's results are there."""
    slot = core.slots[w]
    for k in range(REGISTER_WORDS):
        slot.pending[k] &= np.uint64(~row.writes[k])
    if row.waits_for != FIXED:  # no other instruction in flight writes these registers
        for k in range(REGISTER_WORDS):
            keep = np.uint64(~row.writes[k])
            slot.of_short[k] &= keep
            slot.of_long[k] &= keep
            slot.of_constant[k] &= keep
    slot.reservations -= row.destinations


@compiled
def hazard(slot, row):
    """What an instruction waits for, the slowest thing first."""
    found = np.uint64(0)
    for k in range(REGISTER_WORDS):
        found |= slot.pending[k] & row.uses[k]
    if found == 0:
        return NOTHING
    short, long, constant = np.uint64(0), np.uint64(0), np.uint64(0)
    for k in range(REGISTER_WORDS):
        short |= slot.of_short[k] & row.uses[k]
        long |= slot.of_long[k] & row.uses[k]
        constant |= slot.of_constant[k] & row.uses[k]
    return CONSTANT if constant != 0 else LONG if long != 0 else SHORT if short != 0 else FIXED


@compiled
def what_is_pending(core, row, w):
    """What the warp's next instruction waits for: a register, an entry of the scoreboard, a read."""
    slot = core.slots[w]
    worst = hazard(slot, row)
    if worst == NOTHING and core.scoreboard_entries > 0 and slot.reservations > 0:
        worst = FIXED if slot.reservations + row.destinations > core.scoreboard_entries else NOTHING
    if worst == NOTHING and slot.bloom != 0 and writes_what_is_read(slot, row):
        worst = FIXED
    return worst


@compiled
def hold(core, w, reason):
    """The warp cannot issue, for a reason."""
    bit = bit_of(w)
    if reason == FIXED:
        core.wait = np.uint64(core.wait | bit)
    elif reason == SHORT:
        core.short = np.uint64(core.short | bit)
    elif reason == LONG:
        core.long = np.uint64(core.long | bit)
    elif reason == CONSTANT:
        core.constant = np.uint64(core.constant | bit)


@compiled
def clear_hazards(core, w):
    bit = bit_of(w)
    if (core.wait | core.short | core.long | core.constant | core.wants_constant) & bit:
        let_go(core, bit)


@compiled
def let_go(core, warps):
    """Warps have what they waited for."""
    keep = np.uint64(~warps)
    core.wants_constant = np.uint64(core.wants_constant & keep)
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
