"""Independent threads (BOOK 3.1.2): the lanes of a warp of machine code part at branches and meet at convergence barriers.

The lanes that execute now are the current split, held in the warp itself (pc, mask); the others wait in the warp's table, each
with a pc and what it waits for. BSSY notes the lanes that will meet at a barrier, BSYNC waits until all of them that have not
ended or left by BREAK are there. Every lane has barriers of its own, as BMOV shows, which saves them to its registers. A split
gives way where it waits and at YIELD, and nowhere else: in between it may hold values in uniform registers, of which the warp has
one set. Lanes that have come to YIELD often enough are in the yielded state of the book: nobody waits for them at a convergence
barrier any more. So lanes that spin for a lock, where the compiler puts a YIELD, do not keep the one that holds it from going on.
"""

import numpy as np

from simtlab.compiled import compiled, load_u32, store_u32
from simtlab.execute.simt_stack import falls_through_last, lowest_lane
from simtlab.execute.state import FaultCode, Outcome, WarpStatus
from simtlab.isa.lanes import ROW_BYTES
from simtlab.program.action import SERVICE_BASE, SERVICE_STEP, Action, Condition, Members, Service

SPLIT, JUMP, MEET, CONVERGE, LEAVE, YIELD, WARP_SYNC = (int(Action(k)) for k in range(19, 26))
SAVE_BARRIER, RESTORE_BARRIER, END, CTA_BARRIER, LIBRARY_CALL = (int(Action(k)) for k in range(26, 31))
COLLECTIVE, END_COLLECTIVE = int(Action.COLLECTIVE), int(Action.END_COLLECTIVE)
NO_CONDITION, PREDICATE, NOT_PREDICATE, DIVERGED, CONVERGED, NEVER, ANY = (int(c) for c in Condition)
ALL, REGISTER, UNIFORM = int(Members.ALL), int(Members.REGISTER), int(Members.UNIFORM)
DONE = int(WarpStatus.DONE)
OUT_SPENT, OUT_DONE, OUT_FAULT = int(Outcome.SPENT), int(Outcome.DONE), int(Outcome.FAULT)
OUT_BARRIER, OUT_SERVICE = int(Outcome.BARRIER), int(Outcome.SERVICE)
BAD_BRANCH, NEVER_MET = int(FaultCode.BAD_BRANCH), int(FaultCode.NEVER_MET)
READY, AT_CTA_BARRIER, AT_WARP_SYNC, YIELDED, AT_COLLECTIVE = -2, -3, -4, -5, -6  # what a split waits for, if not a barrier Bn
PATIENCE = 32  # YIELDs of a split before nobody waits for it
INSTRUCTION_BYTES = 16
SERVICES_END = SERVICE_BASE + SERVICE_STEP * len(Service)


@compiled
def park(warp, pc, mask, why, members):
    """Let lanes wait for their turn, or for something."""
    entry = warp.stack[warp.depth]
    entry.pc, entry.mask, entry.reconverge, entry.calls = pc, mask, why, np.int32(members)
    warp.depth += 1


@compiled
def unpark(warp, k):
    """Take a split out of the table; those behind it move up."""
    warp.depth -= 1
    for d in range(k, warp.depth):
        entry, following = warp.stack[d], warp.stack[d + 1]
        entry.pc, entry.mask, entry.reconverge, entry.calls = following.pc, following.mask, following.reconverge, following.calls


@compiled
def waiting_for(warp, why, members):
    """The lanes of all splits that wait for the same."""
    found = np.uint32(0)
    for d in range(warp.depth):
        if warp.stack[d].reconverge == why and warp.stack[d].calls == members:
            found = np.uint32(found | warp.stack[d].mask)
    return found


@compiled
def may_go_on(warp, k):
    """Whether a split in the table is ready, or what it waits for has come."""
    entry = warp.stack[k]
    why = entry.reconverge
    if why == READY:
        return True
    if why == AT_CTA_BARRIER or why == YIELDED:
        return False
    here = waiting_for(warp, why, entry.calls)
    if why == AT_WARP_SYNC or why == AT_COLLECTIVE:
        return (np.uint32(entry.calls) & warp.live & ~here) == 0
    return (met_by(warp, why, entry.mask) & warp.live & ~here & ~waiting_for(warp, YIELDED, 0)) == 0


@compiled
def met_by(warp, number, mask):
    """The lanes that some lanes meet at a convergence barrier."""
    found = np.uint32(0)
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            found = np.uint32(found | warp.convergence[number, lane])
    return found


@compiled
def forget(warp, number, lanes):
    """Some lanes are waited for at a convergence barrier no longer."""
    for lane in range(32):
        warp.convergence[number, lane] = np.uint32(warp.convergence[number, lane] & ~lanes)


@compiled
def take_turn(warp, k):
    """A split of the table becomes the current one, together with those that waited for the same at the same place."""
    entry = warp.stack[k]
    pc, why, members, mask = entry.pc, entry.reconverge, entry.calls, entry.mask
    together = met_by(warp, why, mask) if why >= 0 else np.uint32(0xFFFFFFFF)
    unpark(warp, k)
    if why != READY and why != YIELDED:
        d = 0  # others at a convergence barrier may have come to it elsewhere; the CTA's keeps them until it opens
        while d < warp.depth:
            other = warp.stack[d]
            if other.reconverge == why and other.calls == members and other.mask & together:
                if other.pc == pc or why == AT_COLLECTIVE:
                    mask = np.uint32(mask | other.mask)
                    unpark(warp, d)
                    continue
                if why != AT_CTA_BARRIER:
                    other.reconverge = READY
                    if why >= 0:
                        forget(warp, why, other.mask)
            d += 1
    if why >= 0:
        forget(warp, why, mask)
    warp.pc, warp.mask, warp.turns = pc, mask, 0


@compiled
def switch(warp):
    """Give the turn to the split that has waited longest of those that can go on, yielded ones last. False if none can."""
    for k in range(warp.depth):
        if may_go_on(warp, k):
            take_turn(warp, k)
            return True
    for k in range(warp.depth):
        if warp.stack[k].reconverge == YIELDED:
            take_turn(warp, k)
            return True
    return False


@compiled
def next_split(worker, warp, pc):
    """The current split is gone or waits: the next one's turn. BARRIER: all that are left have come to the CTA's barrier, and the
    warp is to arrive there now."""
    if switch(warp):
        return OUT_SPENT
    for k in range(warp.depth):
        if warp.stack[k].reconverge >= 0:  # it waits for lanes that wait elsewhere: to converge is no must
            take_turn(warp, k)
            return OUT_SPENT
    for k in range(warp.depth):
        if warp.stack[k].reconverge == AT_CTA_BARRIER:
            take_turn(warp, k)
            return OUT_BARRIER
    if warp.live == 0:
        warp.mask, warp.status = np.uint32(0), DONE
        return OUT_DONE
    return fault(worker, warp, pc, lowest_lane(warp.live), 0, NEVER_MET)


@compiled
def fault(worker, warp, pc, lane, address, code):
    worker.fault, worker.fault_pc, worker.fault_warp = code, pc, warp.index
    worker.fault_lane, worker.fault_address = lane, address
    return OUT_FAULT


@compiled
def free_splits(warp):
    """The CTA's barrier is open: splits that waited at it go on behind it."""
    for d in range(warp.depth):
        entry = warp.stack[d]
        if entry.reconverge == AT_CTA_BARRIER:
            entry.pc += 1
            entry.reconverge = READY


@compiled
def steer_splits(launch, worker, cta, warp, ins, pc, mask):
    """Carry out what moves lanes about. SPENT means that the warp goes on."""
    action = ins.action
    if action == SPLIT:
        go(launch, warp, ins, pc, taking(warp, ins, mask))
        return OUT_SPENT
    if mask == 0:
        warp.pc = pc + 1
        return OUT_SPENT
    if action == MEET:
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                warp.convergence[ins.operands[0], lane] = mask
        warp.pc = pc + 1
        return OUT_SPENT
    if action == CONVERGE:
        return converge(worker, warp, ins, pc, mask)
    if action == END:
        return end(worker, warp, ins, pc, mask)
    if action == LEAVE:
        forget(warp, ins.operands[1], taking(warp, ins, mask))
        warp.pc = pc + 1
        return OUT_SPENT
    return steer_rarely(launch, worker, cta, warp, ins, pc, mask)


@compiled
def steer_rarely(launch, worker, cta, warp, ins, pc, mask):
    action = ins.action
    if action == JUMP or action == LIBRARY_CALL or action == END_COLLECTIVE:
        return jump(launch, worker, warp, ins, pc, mask)
    if action == CTA_BARRIER:
        return meet_cta(worker, warp, ins, pc, mask)
    if action == WARP_SYNC or action == COLLECTIVE:
        return meet_warp(worker, warp, ins, pc, mask)
    if action == YIELD:
        warp.pc = pc + 1
        warp.turns += 1
        if warp.depth > 0:
            give_way(warp, YIELDED if warp.turns >= PATIENCE else READY)
        return OUT_SPENT
    if action == SAVE_BARRIER:
        for lane in range(32):
            if ins.detail & 1 and (mask >> np.uint32(lane)) & np.uint32(1):
                store_u32(warp.window + ins.operands[0] + 4 * lane, warp.convergence[ins.operands[1], lane])
            if ins.detail & 2 and (mask >> np.uint32(lane)) & np.uint32(1):
                warp.convergence[ins.operands[1], lane] = np.uint32(0)
    elif action == RESTORE_BARRIER:
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                held = load_u32(warp.window + ins.operands[1] + 4 * lane) if ins.detail != 0 else np.uint32(ins.operands[1])
                warp.convergence[ins.operands[0], lane] = held
    warp.pc = pc + 1
    return OUT_SPENT


@compiled
def taking(warp, ins, mask):
    """The lanes that take a branch: the guard's, if what else it asks for holds."""
    how = ins.detail
    if how == NO_CONDITION:
        return mask
    if how == NEVER:
        return np.uint32(0)
    if how == ANY:
        return warp.mask if mask != 0 else np.uint32(0)
    if how >= DIVERGED and ins.operands[1] != 0:
        value = np.uint32(ins.operands[0])
    else:
        value = load_u32(warp.window + ins.operands[0])
    if how == PREDICATE:
        return np.uint32(mask & value)
    if how == NOT_PREDICATE:
        return np.uint32(mask & ~value)
    together = warp.mask == (value & warp.live)
    return mask if together == (how == CONVERGED) else np.uint32(0)


@compiled
def go(launch, warp, ins, pc, mask):
    """A branch: lanes that disagree part; one side waits for its turn."""
    other = np.uint32(warp.mask & ~mask)
    if mask == 0:
        warp.pc = pc + 1
    elif other == 0:
        warp.pc = ins.target
    elif falls_through_last(launch, warp, mask, other):
        park(warp, pc + 1, other, READY, 0)
        warp.pc, warp.mask = ins.target, mask
    else:
        park(warp, ins.target, mask, READY, 0)
        warp.pc, warp.mask = pc + 1, other


@compiled
def give_way(warp, state):
    """Let another split have a turn, if one can go on. A split in the yielded state is waited for by nobody."""
    park(warp, warp.pc, warp.mask, state, 0)
    last, turns = warp.depth - 1, warp.turns
    for k in range(last):
        if may_go_on(warp, k) or warp.stack[k].reconverge == YIELDED:
            take_turn(warp, k)
            return
    take_turn(warp, last)
    warp.turns = turns


@compiled
def part(warp, pc, mask):
    """Only some of the lanes do what comes next; the others go on behind it, when their turn comes."""
    other = np.uint32(warp.mask & ~mask)
    if other != 0:
        park(warp, pc + 1, other, READY, 0)
        warp.mask = mask


@compiled
def converge(worker, warp, ins, pc, mask):
    """BSYNC: go on if all lanes of the barrier are here, else wait for them."""
    number = ins.operands[0]
    part(warp, pc, mask)
    if (met_by(warp, number, mask) & warp.live & ~mask) == 0:
        forget(warp, number, mask)
        warp.pc = pc + 1
        return OUT_SPENT
    park(warp, pc + 1, mask, number, 0)
    return next_split(worker, warp, pc)


@compiled
def end(worker, warp, ins, pc, mask):
    """EXIT: lanes end; nobody waits for them any more. A predicate beside the guard may keep some from it."""
    mask = taking(warp, ins, mask)
    warp.live = np.uint32(warp.live & ~mask)
    warp.mask = np.uint32(warp.mask & ~mask)
    if warp.mask != 0:
        warp.pc = pc + 1
        return OUT_SPENT
    return next_split(worker, warp, pc)


@compiled
def meet_cta(worker, warp, ins, pc, mask):
    """BAR: the warp arrives when all its lanes have. BARRIER: they have, and the warp is to arrive now."""
    part(warp, pc, mask)
    if warp.mask == warp.live:
        return OUT_BARRIER
    park(warp, pc, mask, AT_CTA_BARRIER, 0)
    return next_split(worker, warp, pc)


@compiled
def meet_warp(worker, warp, ins, pc, mask):
    """WARPSYNC: go on when all lanes of a mask that have not ended are here. With .COLLECTIVE they may be at others like it: the
    compiler gives them the same registers, and one of them is executed for all."""
    members = np.uint32(0xFFFFFFFF)
    if ins.detail == REGISTER:
        members = load_u32(warp.window + ins.operands[0] + 4 * lowest_lane(mask))
    elif ins.detail == UNIFORM:
        members = load_u32(warp.window + ins.operands[0])
    elif ins.detail != ALL:
        members = np.uint32(ins.operands[0])
    part(warp, pc, mask)
    if ins.action == COLLECTIVE:
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                warp.comes_back[lane] = ins.target
    if (members & warp.live & ~mask) == 0:
        warp.pc = pc + 1
        return OUT_SPENT
    park(warp, pc + 1, mask, AT_COLLECTIVE if ins.action == COLLECTIVE else AT_WARP_SYNC, members)
    return next_split(worker, warp, pc)


@compiled
def jump(launch, worker, warp, ins, pc, mask):
    """To where a register says; lanes that it sends to different places part."""
    part(warp, pc, mask)
    left = mask
    first = True
    while left != 0:
        lane = lowest_lane(left)
        address = jump_address(warp, ins, lane)
        if ins.action == LIBRARY_CALL and SERVICE_BASE <= address < SERVICES_END:
            worker.service_warp, worker.service_mask = warp.index, left  # they called one function
            return OUT_SERVICE
        target = address // INSTRUCTION_BYTES
        if address % INSTRUCTION_BYTES != 0 or target < 0 or target >= launch.n_instructions:
            return fault(worker, warp, pc, lane, address, BAD_BRANCH)
        same = np.uint32(0)
        for other in range(32):
            bit = np.uint32(np.uint32(1) << np.uint32(other))
            if left & bit and jump_address(warp, ins, other) == address:
                same = np.uint32(same | bit)
        left = np.uint32(left & ~same)
        if first:
            warp.pc, warp.mask, first = target, same, False
        else:
            park(warp, target, same, READY, 0)
    return OUT_SPENT


@compiled
def jump_address(warp, ins, lane):
    """Where a lane is sent, in bytes from the program's start."""
    if ins.action == END_COLLECTIVE:
        return np.int64(warp.comes_back[lane]) * INSTRUCTION_BYTES if warp.comes_back[lane] > 0 else np.int64(-1)
    if ins.detail == UNIFORM:
        return np.int64(load_u32(warp.window + ins.operands[0])) + ins.operands[1]
    place = warp.window + ins.operands[0] + 4 * lane
    low = np.int64(load_u32(place))
    if ins.action == LIBRARY_CALL:
        return low | np.int64(load_u32(place + ROW_BYTES)) << 32
    return np.int64(np.int32(low)) + ins.operands[1]
