"""Where a scheduler's cycles went: every one has exactly one cause, kept by scheduler and by instruction."""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled, dissolved, load_i64, store_i64
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.kinds import Activity, Stall, Unit
from simtlab.machine.core.operand_collector import GENERIC_POOL
from simtlab.machine.core.state import N_STALLS
from simtlab.machine.core.timing import Memory, timing_at


class Work(IntEnum):
    """What is counted of an instruction beside its scheduler cycles: columns of the same table, after those."""

    LANES = N_STALLS  # lanes that took part
    ACCESSES = N_STALLS + 1  # lines or sectors that its executions touched, in any memory but shared
    PASSES = N_STALLS + 2  # passes of shared memory


N_COLUMNS = N_STALLS + len(Work)


LDST, SFU, TEX = int(Unit.LDST), int(Unit.SFU), int(Unit.TEX)
SHARED = int(Memory.SHARED)
NO_WARP = -1
NO_COLLECTOR = np.int64(-1)
PC_BYTES = 8 * N_COLUMNS  # a row of the table of counts by instruction
LANES_AT, ACCESSES_AT, PASSES_AT = (8 * int(work) for work in Work)
(
    ISSUED, EMPTY, NO_INSTRUCTION, BRANCH_RESOLVING, WAIT, SHORT_SCOREBOARD, LONG_SCOREBOARD, AT_BARRIER, MEMBAR,
    MATH_PIPE_THROTTLE, LG_THROTTLE, MIO_THROTTLE, DISPATCH, IMC_MISS, DRAIN, HELD_BACK, TEX_THROTTLE,
    REPLAY,
) = (int(s) for s in Stall)  # fmt: skip
ACTIVE, MEMORY, IDLE, STALLED = (int(a) for a in Activity)


@compiled
def candidates(core):
    """Warps that have an instruction and nothing to wait for but a free unit."""
    blocked = core.wait | core.short | core.long | core.constant | core.barrier | core.membar
    blocked = blocked | core.stalled | core.resolving | core.busy_warp | core.draining | core.frozen
    return np.uint64(core.occupied & core.buffered & ~blocked)


@compiled
def which_pipe(core, could, sub_core):
    """All candidates want units that take nothing now: the cause is what keeps the first one out."""
    w = lowest_bit(could)
    slot = core.slots[w]
    if core.detail == 3:
        holder = holder_of_collectors(core, sub_core, core.pool_of_unit[slot.unit])
        if holder != NO_COLLECTOR:
            return why_held(core, holder), w
    return throttle_of(timing_at(slot.timing).row[slot.head]), w


@compiled
def throttle_of(row):
    """The cause where a unit takes no more. Shared memory and the special function unit are behind what Nsight calls memory
    input/output, global and local memory are LG."""
    if row.unit == LDST:
        return MIO_THROTTLE if row.memory == SHARED else LG_THROTTLE
    if row.unit == SFU:
        return MIO_THROTTLE
    return TEX_THROTTLE if row.unit == TEX else MATH_PIPE_THROTTLE


@compiled
def holder_of_collectors(core, sub_core, pool):
    """The collector unit of the oldest instruction in those that a pool's instructions may use, if none of them is free."""
    if core.free_collectors[sub_core, pool] != 0 or core.free_collectors[sub_core, GENERIC_POOL] != 0:
        return NO_COLLECTOR
    for place in range(core.collecting):
        c = core.in_order[place]
        mine = core.collector_pool[c] == pool or core.collector_pool[c] == GENERIC_POOL
        if mine and core.collector[c].sub_core == sub_core:
            return np.int64(c)
    return NO_COLLECTOR


@compiled
def why_held(core, c):
    """What an instruction waits for in its collector unit, and with it those that find no other: its unit, or its operands."""
    if core.collector[c].wanted != 0:
        return DISPATCH
    return core.collector[c].throttle


@dissolved
@compiled
def why_not(core, mine):
    """No warp could issue: the cause closest to issuing, and a warp that has it."""
    if mine & core.busy_warp:
        return WAIT, lowest_bit(np.uint64(mine & core.busy_warp))
    if mine & core.wait:
        return WAIT, lowest_bit(np.uint64(mine & core.wait))
    counting = np.uint64(mine & core.stalled & ~(core.short | core.constant | core.long | core.barrier))
    if counting:
        return WAIT, lowest_bit(counting)
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
def note_cause(core, scheduler, cause, place, cycle):
    """What a scheduler does from this cycle on, and for which instruction: counted when it ends."""
    if cause == core.cause[scheduler] and place == core.cause_place[scheduler]:
        return
    count_cause(core, scheduler, cycle)
    core.cause[scheduler], core.cause_place[scheduler] = cause, place


@compiled
def count_cause(core, scheduler, cycle):
    """Add the cycles before this one that have not been counted to the scheduler's account, and to the instruction's that it
    waited for."""
    cycles = cycle - core.cause_since[scheduler]
    if cycles <= 0:
        return
    cause, place = core.cause[scheduler], core.cause_place[scheduler]
    core.cause_since[scheduler] = cycle
    core.n_stall[scheduler, cause] += cycles
    if place != 0:
        store_i64(place + 8 * cause, load_i64(place + 8 * cause) + cycles)


@compiled
def count_work(place, amount):
    """Add to a column of an instruction's row."""
    store_i64(place, load_i64(place) + amount)


@compiled
def count_accesses(place, op):
    """What a memory instruction touches, on its row."""
    if op.accesses > 0:
        count_work(place + ACCESSES_AT, op.accesses + op.behind)
    if op.passes > 0:
        count_work(place + PASSES_AT, op.passes)


@compiled
def count_activity(core, cycle):
    """What the core as a whole did (DYNCTA, section IV): it issued, waits for memory, has nothing to do, or is stalled.

    A warp that issues takes the front of the pipeline for `issue_cycles`: all of them are active time.
    """
    core.activity = activity(core)
    if core.activity == ACTIVE:
        core.active_until = cycle + core.issue_cycles
    core.n_activity[ACTIVE if cycle < core.active_until else core.activity] += 1


@compiled
def repeat_activity(core, first, cycles):
    """What it did in cycles in which nothing changed, from the first of them on."""
    active = min(max(core.active_until - first, 0), cycles)
    core.n_activity[ACTIVE] += active
    core.n_activity[core.activity] += cycles - active


@compiled
def activity(core):
    """Memory is waited for while data is outstanding that some warp needs, whatever the other warps do that cannot issue: so does
    GPGPU-Sim 2.1.2b, which DYNCTA was measured on, tell W0_Mem from W0_Idle. And while the load/store unit takes no more."""
    stalled, waits = False, False
    for scheduler in range(core.schedulers):
        cause = core.cause[scheduler]
        if cause == ISSUED:
            return ACTIVE
        waits = waits or cause == LG_THROTTLE
        stalled = stalled or cause in (MATH_PIPE_THROTTLE, MIO_THROTTLE, TEX_THROTTLE, DISPATCH, REPLAY)
    if stalled:
        return STALLED
    waits = waits or core.occupied & (core.long | core.constant | core.membar) != 0
    return MEMORY if waits else IDLE
