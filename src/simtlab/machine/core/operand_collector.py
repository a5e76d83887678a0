"""The operand collector (BOOK 3.3): instructions gather their sources from single-ported register banks, side by side.

Each bank serves one access a cycle; a write goes before a read. A collector unit takes in one operand a cycle (or as many
as `collector_ports` says: the naive register file of BOOK Fig 3.12 reads all banks at once). Instructions of one warp
leave in program order, so that none overtakes the reads of an earlier one.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.kinds import Unit
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.state import FIRST_PREDICATE

GENERIC_POOL = 3
LDST = int(Unit.LDST)


@compiled
def bank_of(core, slot, register):
    """Naive: register modulo banks. Swizzled: warps begin at different banks."""
    place = register + slot if core.swizzled else register
    if core.bank_mask != 0:  # a power of two of banks: no division
        return place & core.bank_mask
    return place % core.banks


@compiled
def free_collector(core, sub_core, unit):
    """A free collector unit for an instruction of that unit, from its own pool or the generic one; -1 for none."""
    free = core.free_collectors[sub_core, core.pool_of_unit[unit]]
    if free == 0:
        free = core.free_collectors[sub_core, GENERIC_POOL]
    return lowest_bit(free) if free != 0 else -1


@compiled
def enter(core, number, sub_core, row, collector):
    """Give an instruction its collector unit and note which banks it must read."""
    op = core.ops[number]
    unit = core.collector[collector]
    pool = core.collector_pool[collector]
    core.free_collectors[sub_core, pool] = np.uint64(core.free_collectors[sub_core, pool] & ~bit_of(collector))
    core.in_order[core.collecting] = collector
    core.collecting += 1
    unit.op, unit.slot, unit.sub_core, unit.unit, unit.count = number, op.slot, sub_core, row.unit, 0
    for k in range(row.sources):
        if row.source[k] < FIRST_PREDICATE:
            unit.banks[unit.count] = bank_of(core, op.slot, row.source[k])
            unit.count += 1
    unit.wanted = np.uint64((1 << unit.count) - 1)
    core.taken = np.uint64(core.taken | bit_of(collector))
    if unit.count > 0:
        core.gathering = np.uint64(core.gathering | bit_of(collector))
    if row.unit == LDST:
        core.to_ldst = np.uint64(core.to_ldst | bit_of(collector))


@compiled
def read_operands(core, cycle):
    """One cycle of bank reads: collectors by age, each bank once, banks that are written to not at all."""
    if core.gathering == 0:
        return
    for place in range(core.collecting):
        c = core.in_order[place]
        if core.gathering & bit_of(c) == 0:
            continue
        unit = core.collector[c]
        core.moved = core.changed = cycle
        ports, wanted = core.collector_ports, unit.wanted
        while ports != 0 and wanted != 0:
            bank = unit.banks[lowest_bit(wanted)]
            if core.bank_written[unit.sub_core, bank] == cycle or core.bank_read[unit.sub_core, bank] == cycle:
                core.register_bank_conflicts += 1
                break  # operands come in order, as in BOOK Fig 3.17
            core.bank_read[unit.sub_core, bank] = cycle
            wanted = np.uint64(wanted & np.uint64(wanted - np.uint64(1)))
            core.operands_read += 1
            ports -= 1
        unit.wanted = wanted
        if wanted == 0:
            core.gathering = np.uint64(core.gathering & ~bit_of(c))


@compiled
def leave(core, place):
    """Free the collector unit at a place of the list; younger ones move up."""
    c = core.in_order[place]
    core.collecting -= 1
    for k in range(place, core.collecting):
        core.in_order[k] = core.in_order[k + 1]
    core.taken, core.to_ldst = np.uint64(core.taken & ~bit_of(c)), np.uint64(core.to_ldst & ~bit_of(c))
    sub_core, pool = core.collector[c].sub_core, core.collector_pool[c]
    core.free_collectors[sub_core, pool] = np.uint64(core.free_collectors[sub_core, pool] | bit_of(c))
