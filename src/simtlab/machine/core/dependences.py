"""What keeps a warp's next instruction from issuing: the scoreboard or the compiler's barriers, and constants not there yet."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.memory import lane_address
from simtlab.machine.core.control_bits import what_is_up
from simtlab.machine.core.kinds import Unit
from simtlab.machine.core.scoreboard import CONSTANT, NOTHING, bit_of, clear_hazards, hold, what_is_pending
from simtlab.machine.core.timing import BY_INDEX, NO_CONSTANT
from simtlab.machine.memory.cache import NO_WAY, line_of, probe
from simtlab.program.encode import code_at

LDST = int(Unit.LDST)


@compiled
def check(core, row, w):
    """Find what the warp's next instruction waits for, and put the warp into the matching set."""
    clear_hazards(core, w)
    if core.control_bits:
        worst = what_is_up(core.slots[w], row)
        if row.constant != NO_CONSTANT and row.unit != LDST and lacks_constant(core, core.slots[w], row, w):
            core.wants_constant = np.uint64(core.wants_constant | bit_of(w))
            worst = CONSTANT
    else:
        worst = what_is_pending(core, row, w)
    if worst != NOTHING:
        hold(core, w, worst)


@compiled
def constant_address(core, slot, row):
    """Where the constant that is an operand lies, for the caches. An index is the same for all lanes."""
    if row.constant != BY_INDEX:
        return slot.constants + row.constant
    ins, warp = code_at(slot.code).row[slot.head], core.ctas[slot.cta].warps[slot.warp]
    return slot.constants + ins.operands[ins.address_at + 2] + lane_address(warp, ins, 0)


@compiled
def lacks_constant(core, slot, row, w):
    """Whether a constant that is an operand is not there; one that was granted is when it has come."""
    address = constant_address(core, slot, row)
    if line_of(core.l1c, address) == slot.granted:
        return core.asked_constant & bit_of(w) != 0
    way = probe(core.l1c, address)
    return way == NO_WAY or core.l1c.line[way].pending != 0 or core.l1c.asked[way] > core.ticked + 1
