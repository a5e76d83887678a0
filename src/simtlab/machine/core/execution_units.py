"""Execution units: an instruction goes in when a copy of its unit is free, and its result comes out a latency later."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.control_bits import lower, take_reads
from simtlab.machine.core.cta_slots import leave_if_drained
from simtlab.machine.core.dependences import check
from simtlab.machine.core.inflight import free_op, is_planned, lowest_bit, new_op, plan, plan_release, take_planned, take_released
from simtlab.machine.core.kinds import OpState, Unit, WarProtection
from simtlab.machine.core.ldst import count_load, has_room, offer
from simtlab.machine.core.operand_collector import bank_of, leave
from simtlab.machine.core.scoreboard import bit_of, clear_hazards, hold, let_go, release
from simtlab.machine.core.state import FIRST_PREDICATE
from simtlab.machine.core.texture_unit import begin_fetch
from simtlab.machine.core.timing import timing_at
from simtlab.machine.fifo import NOTHING, is_full

CONTROL, LDST, TEX, SP, HEAVY = (int(unit) for unit in (Unit.CONTROL, Unit.LDST, Unit.TEX, Unit.SP, Unit.HEAVY))
EXECUTING = int(OpState.EXECUTING)
NO_COPY = -1
RELEASE_ON_READ = int(WarProtection.RELEASE_ON_READ)


@compiled
def free_copy(core, sub_core, unit, cycle):
    """A copy of the unit that can take an instruction in this cycle, or NO_COPY."""
    for copy in range(core.unit_copies[unit]):
        if core.unit_free[sub_core, unit, copy] <= cycle:
            return copy
    return NO_COPY


@compiled
def row_of(core, op):
    """What the core must know of an instruction in flight."""
    return timing_at(core.slots[op.slot].timing).row[op.pc]


@compiled
def begin(core, number, sub_core, row, cycle):
    """Start executing; False if the unit is busy. The result is written back a latency after this cycle."""
    op = core.ops[number]
    if row.unit == LDST:
        return offer(core, number)
    if row.unit == TEX:
        begin_fetch(core, number)
        return True
    if not take_unit(core, sub_core, row, cycle):
        return False
    op.state = EXECUTING
    plan(core, number, cycle + row.latency)
    return True


@compiled
def take_unit(core, sub_core, row, cycle):
    """Take a copy of an instruction's unit; False if none is free. Floats may also go to the pipe that multiplies integers."""
    unit = row.unit
    copy = free_copy(core, sub_core, unit, cycle)
    if copy == NO_COPY and row.unit == SP:
        unit = HEAVY
        copy = free_copy(core, sub_core, unit, cycle)
    if copy == NO_COPY:
        return False
    core.unit_free[sub_core, unit, copy] = cycle + row.initiation
    core.unit_busy[unit] += row.initiation
    return True


@compiled
def begin_alone(core, w, row, cycle):
    """One loop: the warp waits for the result, and nothing of the instruction need be kept. The unit is known to be free."""
    sub_core = core.sub_core_of[w]
    core.unit_free[sub_core, row.unit, free_copy(core, sub_core, row.unit, cycle)] = cycle + row.initiation
    core.unit_busy[row.unit] += row.initiation
    core.operands_read += row.registers_read
    core.operands_written += row.registers_written
    hold(core, w, row.waits_for)
    plan_release(core, w, cycle + row.latency)


@compiled
def dispatch(core, cycle):
    """Collector units with all operands send their instruction to its unit, oldest first, those of one warp in order."""
    refused = np.uint64(core.to_ldst if is_full(core.ldst_queue) else np.uint64(0))
    if np.uint64(core.taken & ~(core.gathering | refused)) == 0:
        return
    place, behind = 0, np.uint64(0)  # warps with an older instruction still here
    while place < core.collecting:
        unit = core.collector[core.in_order[place]]
        w = unit.slot
        if unit.wanted == 0 and behind & bit_of(w) == 0 and (unit.unit != LDST or has_room(core, unit.sub_core)):
            core.moved = core.changed = cycle  # if it is not taken: a busy unit is free again by itself
            if begin(core, unit.op, unit.sub_core, row_of(core, core.ops[unit.op]), cycle):
                leave(core, place)
                operands_are_read(core, w)
                continue
        behind = np.uint64(behind | bit_of(w))
        place += 1


@compiled
def operands_are_read(core, w):
    """An instruction has left the operand collector: WAR protection may let its warp go on."""
    slot = core.slots[w]
    slot.collecting -= 1
    if slot.collecting == 0:
        if core.war_mode == RELEASE_ON_READ:
            core.busy_warp = np.uint64(core.busy_warp & ~bit_of(w))
        if slot.bloom != 0:
            slot.bloom = np.uint64(0)
            if slot.buffered > 0:
                check(core, timing_at(slot.timing).row[slot.head], w)


@compiled
def resolve_later(gpu, core, w, pc, cycles):
    """A branch: the warp's next instruction is known some cycles from now."""
    number = new_op(core)
    op = core.ops[number]
    op.slot, op.pc, op.unit, op.outlives = w, pc, CONTROL, 0
    core.slots[w].in_flight += 1
    core.resolving = np.uint64(core.resolving | bit_of(w))
    plan(core, number, gpu.cycle + cycles)


@compiled
def write_back(gpu, core):
    """Results planned for this cycle are written; two of one bank wait for each other."""
    cycle = gpu.cycle
    if not is_planned(core, cycle):
        return
    core.moved = cycle
    core.quiet = 0
    if core.detail == 1:
        let_go(core, take_released(core, cycle))
    elif core.control_bits or core.barrier_cycles > 0 or core.l0.enabled:
        end_waits(core, cycle)
    number = take_planned(core, cycle)
    while number != NOTHING:
        following = core.ops[number].next
        op = core.ops[number]
        row = row_of(core, op)
        if core.detail == 3 and not take_banks(core, op.slot, row, cycle):
            core.write_conflicts += 1
            plan(core, number, cycle + 1)
        else:
            retire(gpu, core, number)
        number = following


@compiled
def end_waits(core, cycle):
    """Stall counts that are over, barriers that are left, registers that are read, constants and lines of
    instructions that have come from next door."""
    warps, again = take_released(core, cycle), take_reads(core, cycle)
    while warps != 0:
        w = lowest_bit(warps)
        bit = bit_of(w)
        warps = np.uint64(warps & ~bit)
        slot = core.slots[w]
        if slot.stall_end <= cycle:
            core.stalled = np.uint64(core.stalled & ~bit)
        if core.leaving & bit and slot.leave_at <= cycle:
            core.barrier = np.uint64(core.barrier & ~bit)
            core.leaving = np.uint64(core.leaving & ~bit)
        if core.fetching & bit and core.l0.line_at[w] <= cycle:
            core.fetching = np.uint64(core.fetching & ~bit)
        if core.asked_constant & bit and slot.grant_at <= cycle:
            again = np.uint64(again | bit)
    while again != 0:
        w = lowest_bit(again)
        again = np.uint64(again & ~bit_of(w))
        look_again(core, w, cycle)


@compiled
def look_again(core, w, cycle):
    """Something that the warp may have waited for is there."""
    slot = core.slots[w]
    if slot.granted >= 0 and slot.grant_at <= cycle:
        core.asked_constant = np.uint64(core.asked_constant & ~bit_of(w))
    if slot.buffered > 0:
        check(core, timing_at(slot.timing).row[slot.head], w)


@compiled
def take_banks(core, w, row, cycle):
    """Claim the write ports of all destination banks, or none."""
    sub_core = core.sub_core_of[w]
    for k in range(row.destinations):
        bank = bank_of(core, w, row.destination[k])
        if row.destination[k] < FIRST_PREDICATE and core.bank_written[sub_core, bank] == cycle:
            return False
    for k in range(row.destinations):
        if row.destination[k] < FIRST_PREDICATE:
            core.bank_written[sub_core, bank_of(core, w, row.destination[k])] = cycle
            core.operands_written += 1
    return True


@compiled
def retire(gpu, core, number):
    """The instruction is finished: its registers are there, and its warp may have something to issue again."""
    op = core.ops[number]
    w = op.slot
    if op.outlives and core.slots[w].age != op.owner:
        free_op(core, number)  # of a warp that has ended
        return
    row = row_of(core, op)
    if core.control_bits and row.is_fixed:
        free_op(core, number)  # kept for those who watch
        return
    if core.detail < 3:
        core.operands_written += row.registers_written
    if core.detail == 1:
        clear_hazards(core, w)
    elif core.control_bits:
        lower(core.slots[w], row.write_barrier)
        lower(core.slots[w], op.read_barrier)
    else:
        release(core, row, w)
    if row.unit == LDST or row.unit == TEX:
        count_load(gpu, core, number, row)
    slot = core.slots[w]
    slot.in_flight -= op.outlives == 0
    if row.switches:
        core.resolving = np.uint64(core.resolving & ~bit_of(w))
    if slot.in_flight == 0:
        core.busy_warp = np.uint64(core.busy_warp & ~bit_of(w))
    if slot.buffered > 0 and core.detail > 1:
        check(core, timing_at(slot.timing).row[slot.head], w)
    free_op(core, number)
    leave_if_drained(gpu, core, w)
