"""Issue: each scheduler sends one ready warp's next instruction on its way. What it computes is computed here.

A scheduler that issues nothing has exactly one cause, that of the warp closest to issuing (see `stall`).
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, dissolved, seldom
from simtlab.execute.barrier import release_complete
from simtlab.execute.simt_stack import count_lanes
from simtlab.execute.state import Outcome, WarpStatus
from simtlab.execute.warp import execute, lanes_of
from simtlab.machine.core.coalescer import coalesce
from simtlab.machine.core.control_bits import raise_barriers, reads_end, stall
from simtlab.machine.core.cta_slots import leave_if_drained
from simtlab.machine.core.deferred_writes import defer, is_deferred
from simtlab.machine.core.execution_units import NO_COPY, begin, begin_alone, free_copy, resolve_later, take_unit
from simtlab.machine.core.inflight import lowest_bit, new_op, plan, plan_release
from simtlab.machine.core.instruction_buffer import advance
from simtlab.machine.core.kinds import OpState, Unit, WarProtection
from simtlab.machine.core.ldst import has_room
from simtlab.machine.core.loads import is_counted, set_out
from simtlab.machine.core.operand_collector import enter, free_collector
from simtlab.machine.core.preemption import note_access
from simtlab.machine.core.register_ports import read_cycles
from simtlab.machine.core.scoreboard import bit_of, hold, note_reads, reserve
from simtlab.machine.core.stall import (
    DISPATCH,
    EMPTY,
    HELD_BACK,
    ISSUED,
    LANES_AT,
    NO_WARP,
    PC_BYTES,
    REPLAY,
    candidates,
    count_accesses,
    count_activity,
    count_work,
    note_cause,
    throttle_of,
    which_pipe,
    why_not,
)
from simtlab.machine.core.state import N_UNITS, NO_BARRIER
from simtlab.machine.core.texture_unit import has_place, take_place
from simtlab.machine.core.timing import Memory, timing_at
from simtlab.machine.events import ALLOW, is_among, is_heard, narrow, tell
from simtlab.machine.fifo import NOTHING
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.program.encode import code_at

CONTROL, LDST, TEX, SP, HEAVY = (int(unit) for unit in (Unit.CONTROL, Unit.LDST, Unit.TEX, Unit.SP, Unit.HEAVY))
COLLECTING, EXECUTING = int(OpState.COLLECTING), int(OpState.EXECUTING)
RELIEF_CYCLES, RELIEF_MASK = 16, 1023  # of every 1,024 cycles
RELEASE_ON_COMMIT, RELEASE_ON_READ = int(WarProtection.RELEASE_ON_COMMIT), int(WarProtection.RELEASE_ON_READ)
BLOOMBOARD = int(WarProtection.BLOOMBOARD)
CONSTANT = int(Memory.CONSTANT)
ON_ISSUE, ON_COMPARE, ON_BRANCH, ON_LOOP, ON_BARRIER = (
    EVENT_NUMBERS[f"on_{event}"] for event in ("issue", "compare", "branch", "loop", "barrier")
)
FLOW_EVENTS = np.uint64(1 << ON_BRANCH | 1 << ON_LOOP | 1 << ON_BARRIER)
ISSUE_EVENTS = np.uint64(FLOW_EVENTS | np.uint64(1 << ALLOW | 1 << ON_ISSUE | 1 << ON_COMPARE))
RUNNING, DONE = int(WarpStatus.RUNNING), int(WarpStatus.DONE)
OUT_BARRIER, OUT_DONE, OUT_FAULT, OUT_SERVICE = (
    int(o) for o in (Outcome.BARRIER, Outcome.DONE, Outcome.FAULT, Outcome.SERVICE)
)  # fmt: skip


@compiled
def issue(gpu, core):
    """Every scheduler's turn. All of it is compiled twice, once for `heard` that is always False, a type of its own: where no
    mechanism listens, nothing looks for one."""
    if gpu.hooks.listening & ISSUE_EVENTS:
        issue_heard(gpu, core)
    else:
        take_turns(gpu, core, False)


@seldom
@compiled
def issue_heard(gpu, core):
    take_turns(gpu, core, gpu.hooks.listening)


@dissolved
@compiled
def take_turns(gpu, core, heard):
    """Sub-cores that share the load/store unit take turns at being the first. A core that runs ahead stops before a memory
    instruction, and goes on there when its time has come."""
    for k in range(core.turn, core.schedulers):
        scheduler = (k + gpu.cycle) % core.schedulers if core.control_bits else k
        if core.chosen == NO_WARP:
            cause, w = schedule(gpu, core, scheduler, heard)
        else:
            cause, w, core.chosen = ISSUED, np.int64(core.chosen), NO_WARP
        if cause == ISSUED:
            if gpu.runs_ahead and core.to_memory & bit_of(w):
                core.turn, core.chosen = k, w
                return
            send(gpu, core, scheduler, w, heard)
        place = np.int64(0)
        if w != NO_WARP and cause != ISSUED:
            place = core.slots[w].pc_counts + core.slots[w].head * PC_BYTES
        note_cause(core, scheduler, cause, place, gpu.cycle)
    core.turn = 0
    count_activity(core, gpu.cycle)


@compiled
def schedule(gpu, core, scheduler, heard):
    """Choose for one scheduler. Gives the cause of its cycle and the warp it concerns: one to issue, or one that waits."""
    if core.replays[scheduler] > 0:
        core.replays[scheduler] -= 1
        core.n_replays += 1
        return REPLAY, NO_WARP
    mine = np.uint64(core.mine[scheduler] & core.occupied)
    if mine == 0:
        return EMPTY, NO_WARP
    could = np.uint64(mine & candidates(core))
    if could == 0:
        return why_not(core, mine)
    if core.scheduler_free[scheduler] > gpu.cycle:
        return DISPATCH, lowest_bit(could)
    sub_core = core.sub_core_of[scheduler]  # which is that of its warps, the first of which is slot `scheduler`
    ready = ready_of(core, could, sub_core, gpu.cycle)
    if core.detail < 3 and could & ~(ready | core.unit_of_head[LDST] | core.unit_of_head[TEX]):
        core.moved = core.changed = gpu.cycle  # a busy unit is free again by itself, whatever the others wait for
    if ready == 0:
        return which_pipe(core, could, sub_core)
    if is_among(heard, ALLOW):
        core.scheduler, wanted = scheduler, ready
        ready = narrow(gpu, core, ready)
        core.held = np.uint64(core.held & ~mine | wanted & ~ready)
        if ready == 0:
            return HELD_BACK, lowest_bit(wanted)
    own = core.own_warp_scheduler[scheduler]
    w = pick_before_paused(gpu, core, own, ready) if core.paused != 0 else NO_WARP
    if w == NO_WARP:
        w = call_hook(gpu.hooks.warp_scheduler_pick, core.address, own, ready, gpu.cycle)
    if w == NO_WARP:
        return HELD_BACK, lowest_bit(ready)
    return ISSUED, w


@dissolved
@compiled
def send(gpu, core, scheduler, w, heard):
    """Issue the warp that a scheduler has chosen."""
    sub_core = core.sub_core_of[scheduler]
    issue_warp(gpu, core, w, heard)
    if core.dual_issue:
        issue_second(gpu, core, w, sub_core, heard)
    core.scheduler_free[scheduler] = gpu.cycle + max(core.issue_cycles, core.reading[sub_core])
    if gpu.hooks.warp_scheduler_on_issue != 0:
        own = core.own_warp_scheduler[scheduler]
        call_hook(gpu.hooks.warp_scheduler_on_issue, core.address, own, np.uint64(w), gpu.cycle)
    if is_among(heard, ON_ISSUE):
        tell(gpu, core, ON_ISSUE, w)


@seldom
@compiled
def pick_before_paused(gpu, core, own, ready):
    """Warps of paused CTAs issue where no other does (DYNCTA section IV). But for a few cycles of every thousand they come first,
    so that nobody waits for ever for a lock that a paused one holds. Gives one of those that come first, or NO_WARP."""
    is_relief = gpu.cycle & RELIEF_MASK < RELIEF_CYCLES
    first = np.uint64(ready & core.paused) if is_relief else np.uint64(ready & ~core.paused)
    if first == 0 or first == ready:
        return np.int64(NO_WARP)
    return call_hook(gpu.hooks.warp_scheduler_pick, core.address, own, first, gpu.cycle)


@compiled
def ready_of(core, could, sub_core, cycle):
    """Those candidates whose unit takes an instruction now."""
    ready = np.uint64(could & core.unit_of_head[CONTROL])
    left, unit = np.uint64(could & ~ready), 1
    while left != 0 and unit < N_UNITS:
        wanting = np.uint64(left & core.unit_of_head[unit])
        left = np.uint64(left & ~wanting)
        if wanting != 0 and takes(core, sub_core, unit, cycle):
            ready = np.uint64(ready | wanting)
        unit += 1
    return ready


@compiled
def takes(core, sub_core, unit, cycle):
    """Whether a unit (or, with operand collectors, a collector in front of it) takes an instruction now."""
    if core.free_op == NOTHING or (unit == TEX and not has_place(core)):
        return False
    if core.detail == 3:
        return free_collector(core, sub_core, unit) >= 0
    if unit == LDST:
        return has_room(core, sub_core)
    if unit == TEX:
        return True
    if unit == SP and free_copy(core, sub_core, HEAVY, cycle + 1) != NO_COPY:
        return True
    return free_copy(core, sub_core, unit, cycle + 1) != NO_COPY  # where it will be in the cycle after its issue


@compiled
def issue_second(gpu, core, w, sub_core, heard):
    """Dual issue: the warp's next instruction goes too, if it needs nothing of the first and its unit takes it."""
    bit = bit_of(w)
    if gpu.outcome != 0 or np.uint64(bit & candidates(core)) == 0 or core.unit_of_head[CONTROL] & bit:
        return
    if ready_of(core, bit, sub_core, gpu.cycle) != 0:
        core.dual_issued += 1
        issue_warp(gpu, core, w, heard)


@compiled
def issue_warp(gpu, core, w, heard):
    """Carry out the warp's next instruction and start it on its way through the pipeline."""
    slot = core.slots[w]
    pc = slot.head
    kernel = gpu.kernel[slot.kernel]
    code = code_at(slot.code)
    row, ins = timing_at(slot.timing).row[pc], code.row[pc]
    cta = core.ctas[slot.cta]
    warp = cta.warps[slot.warp]
    mask = lanes_of(warp, ins)
    lanes = count_lanes(mask)
    count_issue(gpu, core, kernel, slot, lanes)
    core.lanes[row.lane_class] += lanes
    if core.fixed_reads:
        core.reading[core.sub_core_of[w]] = read_cycles(core, core.sub_core_of[w], w, row)
    if is_among(heard, ON_COMPARE) and row.destinations > row.registers_written:
        tell(gpu, core, ON_COMPARE, w)
    if row.unit != CONTROL:
        start(gpu, core, w, mask, ins, warp)
    elif row.is_branch and row.resolve > 0 and core.control_bits == 0:
        resolve_later(gpu, core, w, pc, row.resolve)
    if is_deferred(core, ins, w):
        outcome = defer(gpu, core, w, pc, mask, warp)
    else:
        outcome = execute(kernel.launch, code, kernel.worker, cta, warp, ins, pc, mask, gpu.cycle)
    warp.executed += 1
    if outcome == OUT_FAULT or outcome == OUT_SERVICE:
        gpu.outcome, gpu.where_core, gpu.where_slot = outcome, core.number, w
        core.broken = np.uint64(core.broken | bit_of(slot.cta))
        return
    if row.is_fence and slot.stores > 0:
        core.membar = np.uint64(core.membar | bit_of(w))
    if core.control_bits:
        follow_hints(gpu, core, w, row, pc, warp)
    if np.uint64(heard) & FLOW_EVENTS:
        tell_of_flow(gpu, core, w, row.is_branch, outcome, warp.pc <= pc)
    if outcome == OUT_BARRIER:
        core.barrier = np.uint64(core.barrier | bit_of(w))
    else:
        advance(core, w)
    if warp.status == DONE:
        core.draining = np.uint64(core.draining | bit_of(w))
        cta.n_done += 1
        leave_if_drained(gpu, core, w)
    if outcome == OUT_BARRIER or outcome == OUT_DONE:
        if outcome == OUT_BARRIER:
            core.barrier_free = max(core.barrier_free, gpu.cycle) + core.arrival_cycles
        release_complete(cta, code)
        wake_released(core, slot.cta, gpu.cycle)


@seldom
@compiled
def tell_of_flow(gpu, core, w, is_branch, outcome, went_back):
    """A branch, another turn of a loop or a barrier, for mechanisms; the warp's head is still at the instruction."""
    if is_branch and is_heard(gpu, ON_BRANCH):
        tell(gpu, core, ON_BRANCH, w)
    if is_branch and went_back and is_heard(gpu, ON_LOOP):
        tell(gpu, core, ON_LOOP, w)
    if outcome == OUT_BARRIER and is_heard(gpu, ON_BARRIER):
        tell(gpu, core, ON_BARRIER, w)


@dissolved
@compiled
def follow_hints(gpu, core, w, row, pc, warp):
    """Machine code: the stall count of an instruction, and a branch that was taken or a split that goes on elsewhere."""
    stall(core, w, row, gpu.cycle)
    core.slots[w].granted = -1
    if row.switches and row.resolve > 0 and warp.pc != pc + 1 and warp.status == RUNNING:
        resolve_later(gpu, core, w, pc, row.resolve)


@compiled
def count_issue(gpu, core, kernel, slot, lanes):
    core.instructions += 1
    core.l1i_hits += core.detail == 1
    core.thread_instructions += lanes
    kernel.issued += 1
    kernel.issued_threads += lanes
    place = slot.pc_counts + slot.head * PC_BYTES
    count_work(place, 1)
    count_work(place + LANES_AT, lanes)
    gpu.last_progress = gpu.cycle


@dissolved
@compiled
def start(gpu, core, w, mask, ins, warp):
    """Take a record for the instruction and send it to a collector, or straight to its unit."""
    slot = core.slots[w]
    pc = slot.head
    row = timing_at(slot.timing).row[pc]
    if core.detail == 1 and row.unit != LDST and row.unit != TEX:
        begin_alone(core, w, row, gpu.cycle + 1)
        return
    if core.control_bits and row.is_fixed:
        begin_fixed(gpu, core, w, row, pc)
        return
    number = new_op(core)
    op = core.ops[number]
    op.slot, op.pc, op.unit, op.memory = w, pc, row.unit, row.memory
    op.is_store, op.is_atomic, op.issued, op.active = row.is_store, row.is_atomic, gpu.cycle, count_lanes(mask)
    op.deterministic = row.deterministic
    op.strong = row.strong & gpu.strong_around
    op.state, op.owner = COLLECTING, slot.age
    op.outlives = core.control_bits and row.memory == CONSTANT
    if row.unit == LDST:
        coalesce(gpu, core, op, warp, ins, mask)
        if gpu.hooks.preemption_choose != 0:
            note_access(core, op, slot.cta)
        if is_counted(gpu, op):
            set_out(gpu, op, core.ctas[slot.cta].number)
        slot.stores += op.accesses + op.behind if row.is_store or row.is_atomic else 0
        count_accesses(slot.pc_counts + pc * PC_BYTES, op)
    elif row.unit == TEX:
        take_place(core, number, gpu.kernel[slot.kernel].launch, warp, ins, mask)
    if core.detail == 1:
        hold(core, w, row.waits_for)  # one instruction of a warp at a time: no scoreboard is needed
    elif core.control_bits:
        raise_barriers(slot, row)
        op.read_barrier = row.read_barrier
        if row.unit != LDST and row.unit != TEX:
            reads_end(core, w, row.read_barrier, gpu.cycle + core.read_cycles)
            op.read_barrier = NO_BARRIER
    else:
        reserve(core, row, w)
    slot.in_flight += op.outlives == 0
    sub_core = core.sub_core_of[w]
    if core.detail == 3:
        slot.collecting += 1
        collector = free_collector(core, sub_core, row.unit)
        core.collector[collector].throttle = throttle_of(row)
        enter(core, number, sub_core, row, collector)
        if core.war_mode == BLOOMBOARD:
            note_reads(slot, row)
    else:
        if core.fixed_reads == 0 or row.unit == LDST or row.unit == TEX:
            core.operands_read += row.registers_read
        begin(core, number, sub_core, row, gpu.cycle + 1)
    if core.war_mode == RELEASE_ON_COMMIT or (core.war_mode == RELEASE_ON_READ and core.detail == 3):
        core.busy_warp = np.uint64(core.busy_warp | bit_of(w))


@compiled
def begin_fixed(gpu, core, w, row, pc):
    """Machine code: an instruction whose result the compiler's stall counts wait for. It takes its unit, and nothing else need be
    known of it, unless somebody watches."""
    sub_core = core.sub_core_of[w]
    take_unit(core, sub_core, row, gpu.cycle + 1)
    core.operands_written += row.registers_written
    if core.fixed_reads == 0:
        core.operands_read += row.registers_read
    if gpu.watch != 0:
        number = new_op(core)
        op = core.ops[number]
        op.slot, op.pc, op.unit, op.memory, op.state = w, pc, row.unit, row.memory, EXECUTING
        op.owner, op.outlives, op.issued = core.slots[w].age, 1, gpu.cycle
        plan(core, number, gpu.cycle + 1 + row.latency)


@dissolved
@compiled
def wake_released(core, c, cycle):
    """Warps that a barrier has set free go on with their next instruction, where barriers take time when that is over."""
    cta = core.ctas[c]
    for k in range(cta.n_warps):
        w = core.slot_of[c, k]
        if core.barrier & ~core.leaving & bit_of(w) and core.slots[w].cta == c and cta.warps[k].status == RUNNING:
            if core.barrier_cycles > 0 and core.detail > 1:
                core.leaving = np.uint64(core.leaving | bit_of(w))
                core.slots[w].leave_at = max(core.barrier_free, cycle) + core.barrier_cycles
                plan_release(core, w, core.slots[w].leave_at)
            else:
                core.barrier = np.uint64(core.barrier & ~bit_of(w))
            advance(core, w)
