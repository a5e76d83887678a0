"""Issue: each scheduler sends one ready warp's next instruction on its way. What it computes is computed here.

A scheduler that issues nothing has exactly one cause, that of the warp closest to issuing.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, load_i64, store_i64
from simtlab.execute.barrier import release_complete
from simtlab.execute.simt_stack import count_lanes
from simtlab.execute.state import Outcome, WarpStatus
from simtlab.execute.warp import execute, lanes_of
from simtlab.machine.core.coalescer import coalesce
from simtlab.machine.core.cta_slots import leave_if_drained
from simtlab.machine.core.execution_units import NO_COPY, begin, free_copy
from simtlab.machine.core.inflight import lowest_bit, new_op, plan
from simtlab.machine.core.instruction_buffer import advance
from simtlab.machine.core.operand_collector import enter, free_collector
from simtlab.machine.core.scoreboard import bit_of, note_reads, reserve
from simtlab.machine.core.state import N_STALLS, N_UNITS, OpState, Stall, Unit, WarProtection
from simtlab.machine.fifo import NOTHING, is_full

CONTROL, LDST, SFU = int(Unit.CONTROL), int(Unit.LDST), int(Unit.SFU)
COLLECTING = int(OpState.COLLECTING)
RELEASE_ON_COMMIT, RELEASE_ON_READ = int(WarProtection.RELEASE_ON_COMMIT), int(WarProtection.RELEASE_ON_READ)
BLOOMBOARD = int(WarProtection.BLOOMBOARD)
RUNNING, DONE = int(WarpStatus.RUNNING), int(WarpStatus.DONE)
OUT_BARRIER, OUT_DONE, OUT_FAULT, OUT_SERVICE = (
    int(o) for o in (Outcome.BARRIER, Outcome.DONE, Outcome.FAULT, Outcome.SERVICE)
)  # fmt: skip
NO_WARP = -1
(
    ISSUED, EMPTY, NO_INSTRUCTION, BRANCH_RESOLVING, WAIT, SHORT_SCOREBOARD, LONG_SCOREBOARD, AT_BARRIER, MEMBAR,
    MATH_PIPE_THROTTLE, LG_THROTTLE, MIO_THROTTLE, DISPATCH, IMC_MISS, DRAIN, NOT_SELECTED,
) = (int(s) for s in Stall)  # fmt: skip


@compiled
def issue(gpu, core, code, timing):
    """Every scheduler's turn."""
    for scheduler in range(core.schedulers):
        cause, w = schedule(gpu, core, code, timing, scheduler)
        core.cause[scheduler] = cause
        core.cause_pc[scheduler] = core.slots[w].head if w != NO_WARP and cause != ISSUED else -1
        count_cause(gpu, core, scheduler, 1)


@compiled
def count_cause(gpu, core, scheduler, cycles):
    """Add cycles to the scheduler's account, and to the instruction's that it waited for."""
    core.n_stall[scheduler, core.cause[scheduler]] += cycles
    pc = core.cause_pc[scheduler]
    if pc >= 0:
        place = gpu.pc_stalls + 8 * (pc * N_STALLS + core.cause[scheduler])
        store_i64(place, load_i64(place) + cycles)


@compiled
def schedule(gpu, core, code, timing, scheduler):
    """Issue for one scheduler. Gives the cause of its cycle and the warp it concerns."""
    mine = np.uint64(core.mine[scheduler] & core.occupied)
    if mine == 0:
        return EMPTY, NO_WARP
    could = np.uint64(mine & candidates(core))
    if could == 0:
        return why_not(core, mine)
    if core.scheduler_free[scheduler] > gpu.cycle:
        return DISPATCH, lowest_bit(could)
    sub_core = scheduler % core.sub_cores
    ready = np.uint64(could & core.unit_of_head[CONTROL])
    for unit in range(1, N_UNITS):
        wanting = np.uint64(could & core.unit_of_head[unit])
        if wanting != 0 and takes(core, sub_core, unit, gpu.cycle):
            ready = np.uint64(ready | wanting)
    if ready == 0:
        return which_pipe(core, could)
    w = call_hook(gpu.pick, core.address, core.own[scheduler], ready, gpu.cycle)
    if w == NO_WARP:
        return NOT_SELECTED, lowest_bit(ready)
    issue_warp(gpu, core, code, timing, w)
    core.scheduler_free[scheduler] = gpu.cycle + core.issue_cycles
    call_hook(gpu.on_issue, core.address, core.own[scheduler], np.uint64(w), gpu.cycle)
    return ISSUED, w


@compiled
def candidates(core):
    """Warps that have an instruction and nothing to wait for but a free unit."""
    blocked = core.wait | core.short | core.long | core.constant | core.barrier | core.membar
    blocked = blocked | core.resolving | core.busy_warp | core.draining
    return np.uint64(core.occupied & core.buffered & ~blocked)


@compiled
def takes(core, sub_core, unit, cycle):
    """Whether a unit (or, with operand collectors, a collector in front of it) takes an instruction now."""
    if core.free_op == NOTHING:
        return False
    if core.detail == 3:
        return free_collector(core, sub_core, unit) >= 0
    if unit == LDST:
        return not is_full(core.ldst_queue)
    return free_copy(core, sub_core, unit, cycle) != NO_COPY


@compiled
def which_pipe(core, could):
    """All candidates want units that take nothing now: the cause is the first one's unit."""
    w = lowest_bit(could)
    bit = bit_of(w)
    if core.unit_of_head[LDST] & bit:
        return LG_THROTTLE, w
    if core.unit_of_head[SFU] & bit:
        return MIO_THROTTLE, w
    return MATH_PIPE_THROTTLE, w


@compiled
def why_not(core, mine):
    """No warp could issue: the cause closest to issuing, and a warp that has it."""
    if mine & core.busy_warp:
        return WAIT, lowest_bit(np.uint64(mine & core.busy_warp))
    if mine & core.wait:
        return WAIT, lowest_bit(np.uint64(mine & core.wait))
    if mine & core.short:
        return SHORT_SCOREBOARD, lowest_bit(np.uint64(mine & core.short))
    if mine & core.constant:
        return IMC_MISS, lowest_bit(np.uint64(mine & core.constant))
    if mine & core.long:
        return LONG_SCOREBOARD, lowest_bit(np.uint64(mine & core.long))
    if mine & core.resolving:
        return BRANCH_RESOLVING, lowest_bit(np.uint64(mine & core.resolving))
    if mine & core.membar:
        return MEMBAR, lowest_bit(np.uint64(mine & core.membar))
    if mine & core.barrier:
        return AT_BARRIER, lowest_bit(np.uint64(mine & core.barrier))
    starved = np.uint64(mine & ~core.buffered & ~core.draining)
    if starved:
        return NO_INSTRUCTION, lowest_bit(starved)
    return DRAIN, lowest_bit(mine)


@compiled
def issue_warp(gpu, core, code, timing, w):
    """Carry out the warp's next instruction and start it on its way through the pipeline."""
    slot = core.slots[w]
    pc = slot.head
    row, ins = timing.row[pc], code.row[pc]
    cta = core.ctas[slot.cta]
    warp = cta.warps[slot.warp]
    mask = lanes_of(warp, ins)
    core.instructions += 1
    core.thread_instructions += count_lanes(mask)
    gpu.last_progress = gpu.cycle
    if row.unit != CONTROL:
        start(gpu, core, timing, w, mask, ins, warp)
    elif row.is_branch and core.branch_cycles > 0:
        resolve_later(gpu, core, w, pc)
    outcome = execute(gpu.launch, code, gpu.worker, cta, warp, ins, pc, mask, 0)
    warp.executed += 1
    if outcome == OUT_FAULT or outcome == OUT_SERVICE:
        gpu.outcome, gpu.where_core, gpu.where_slot = outcome, core.number, w
        return
    if row.is_fence and slot.stores > 0:
        core.membar = np.uint64(core.membar | bit_of(w))
    if outcome == OUT_BARRIER:
        core.barrier = np.uint64(core.barrier | bit_of(w))
    else:
        advance(core, timing, w)
    if warp.status == DONE:
        core.draining = np.uint64(core.draining | bit_of(w))
        cta.n_done += 1
        leave_if_drained(core, w)
    if outcome == OUT_BARRIER or outcome == OUT_DONE:
        release_complete(cta, code)
        wake_released(core, timing, slot.cta)


@compiled
def start(gpu, core, timing, w, mask, ins, warp):
    """Take a record for the instruction and send it to a collector, or straight to its unit."""
    slot = core.slots[w]
    pc = slot.head
    row = timing.row[pc]
    number = new_op(core)
    op = core.ops[number]
    op.slot, op.pc, op.unit, op.memory = w, pc, row.unit, row.memory
    op.is_store, op.is_atomic, op.issued, op.active = row.is_store, row.is_atomic, gpu.cycle, count_lanes(mask)
    op.state = COLLECTING
    if row.unit == LDST:
        coalesce(gpu, core, op, warp, ins, mask)
    reserve(core, row, w)
    slot.in_flight += 1
    sub_core = core.sub_core_of[w]
    if core.detail == 3:
        slot.collecting += 1
        enter(core, number, sub_core, row, free_collector(core, sub_core, row.unit))
        if core.war_mode == BLOOMBOARD:
            note_reads(slot, row)
    else:
        begin(core, number, sub_core, row, gpu.cycle + 1)
    if core.detail == 1 or core.war_mode == RELEASE_ON_COMMIT or (core.war_mode == RELEASE_ON_READ and core.detail == 3):
        core.busy_warp = np.uint64(core.busy_warp | bit_of(w))


@compiled
def resolve_later(gpu, core, w, pc):
    """A branch: the warp's next instruction is known some cycles from now."""
    number = new_op(core)
    op = core.ops[number]
    op.slot, op.pc, op.unit = w, pc, CONTROL
    core.slots[w].in_flight += 1
    core.resolving = np.uint64(core.resolving | bit_of(w))
    plan(core, number, gpu.cycle + core.branch_cycles)


@compiled
def wake_released(core, timing, c):
    """Warps that a barrier has set free go on with their next instruction."""
    cta = core.ctas[c]
    for k in range(cta.n_warps):
        w = core.slot_of[c, k]
        if core.barrier & bit_of(w) and core.slots[w].cta == c and cta.warps[k].status == RUNNING:
            core.barrier = np.uint64(core.barrier & ~bit_of(w))
            advance(core, timing, w)
