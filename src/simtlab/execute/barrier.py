"""CTA barriers: warps arrive as a whole; the last one sets the others free (`bar.sync`, `bar.arrive`, `bar.red`)."""

import numpy as np

from simtlab.compiled import compiled, load_u32, store_u32
from simtlab.execute.simt_stack import count_lanes
from simtlab.execute.state import N_BARRIERS, WarpStatus
from simtlab.execute.turns import free_splits
from simtlab.program.action import BarrierKind
from simtlab.program.forms import A_NEGATED_PREDICATE, A_NUMBER, A_REGISTER, NOT_THERE

RUNNING, AT_BARRIER, DONE = int(WarpStatus.RUNNING), int(WarpStatus.AT_BARRIER), int(WarpStatus.DONE)
ARRIVE, COUNT, AND, OR = (int(k) for k in (BarrierKind.ARRIVE, BarrierKind.COUNT, BarrierKind.AND, BarrierKind.OR))
WARP_SIZE = 32
EVERY_WARP = 0  # barrier.expected: all warps that have not ended


@compiled
def value_of(warp, ins, k, lane):
    """Operand k as a number: itself, or a register's value in one lane."""
    if ins.operands[k + 1] == A_REGISTER:
        return np.int64(load_u32(warp.window + ins.operands[k] + 4 * lane))
    return ins.operands[k]


@compiled
def arrive(cta, warp, ins, mask, lane):
    """A warp comes to a barrier. False if the barrier's number or thread count cannot be."""
    number = value_of(warp, ins, 0, lane)
    threads = value_of(warp, ins, 2, lane) if ins.operands[3] != NOT_THERE else 0
    if number < 0 or number >= N_BARRIERS or threads < 0 or threads % WARP_SIZE != 0:
        return False
    barrier = cta.barriers[number]
    barrier.expected = threads // WARP_SIZE
    barrier.arrived += 1
    if ins.detail >= COUNT:
        combine(barrier, warp, ins, mask)
    if ins.detail == ARRIVE:
        warp.pc += 1
    else:
        barrier.waiting = np.uint32(barrier.waiting | np.uint32(np.uint32(1) << np.uint32(warp.index)))
        warp.status = AT_BARRIER
    return True


@compiled
def combine(barrier, warp, ins, mask):
    """Add a warp's predicates to the barrier's count, conjunction and disjunction."""
    holds = np.uint32(0xFFFFFFFF) if ins.operands[4] != 0 else np.uint32(0)
    if ins.operands[5] != A_NUMBER:
        holds = load_u32(warp.window + ins.operands[4])
        if ins.operands[5] == A_NEGATED_PREDICATE:
            holds = np.uint32(~holds)
    holding = count_lanes(np.uint32(holds & mask))
    barrier.count += holding
    barrier.any |= holding > 0
    barrier.all |= holding < count_lanes(mask)  # kept as "some thread said no"


@compiled
def release_complete(cta, code):
    """Set free the warps of every barrier that all its warps have reached."""
    for number in range(N_BARRIERS):
        barrier = cta.barriers[number]
        expected = barrier.expected
        if expected == EVERY_WARP:
            expected = cta.n_warps - cta.n_done
        if barrier.arrived == 0 or barrier.arrived < expected:
            continue
        for w in range(cta.n_warps):
            if (barrier.waiting >> np.uint32(w)) & np.uint32(1):
                warp = cta.warps[w]
                give_result(barrier, warp, code.row[warp.pc])
                warp.status = RUNNING
                warp.pc += 1
                free_splits(warp)
        barrier.arrived, barrier.count, barrier.all, barrier.any = 0, 0, 0, 0
        barrier.waiting = np.uint32(0)
        cta.events += 1


@compiled
def give_result(barrier, warp, ins):
    if ins.detail < COUNT or ins.operands[7] == NOT_THERE:
        return
    target = warp.window + ins.operands[6]
    if ins.detail == COUNT:
        for lane in range(WARP_SIZE):
            if (warp.mask >> np.uint32(lane)) & np.uint32(1):
                store_u32(target + 4 * lane, np.uint32(barrier.count))
        return
    holds = barrier.any != 0 if ins.detail == OR else barrier.all == 0
    old = np.uint32(load_u32(target) & ~warp.mask)
    store_u32(target, np.uint32(old | warp.mask) if holds else old)
