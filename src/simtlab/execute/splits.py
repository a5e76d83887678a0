"""Independent threads (BOOK 3.1.2): the lanes of a warp part at branches and meet at convergence barriers.

So machine code runs, and PTX where the machine has `core.reconvergence = "barriers"` (`program/convergence.py`). The lanes that
execute now are the current split, held in the warp itself (pc, mask); the others wait in the warp's table (`execute/turns.py`).
BSSY notes the lanes that will meet at a barrier, BSYNC waits until all of them that have not ended or left by BREAK are there.
Lanes that come to a BSSY again, before they were at its BSYNC, stay with those they were to meet, as on an H200.
Every lane has barriers of its own, as BMOV shows, which saves them to its registers. A split of machine code gives way where it
waits and at YIELD, and nowhere else: in between it may hold values in uniform registers, of which the warp has one set. PTX has
neither uniform registers nor YIELD: there a split also gives way after some backward branches; the branch says after how many.
"""

import numpy as np

from simtlab.compiled import compiled, load_i32, load_u32, store_u32
from simtlab.execute.simt_stack import falls_through_last, lowest_lane
from simtlab.execute.state import FaultCode, Outcome
from simtlab.execute.turns import (
    AT_COLLECTIVE,
    AT_CTA_BARRIER,
    AT_EXCLUSIVE,
    AT_WARP_SYNC,
    READY,
    YIELDED,
    fault,
    forget,
    give_way,
    lead,
    met_by,
    next_split,
    park,
    part,
    tire,
)
from simtlab.execute.warp_parts import flow_of
from simtlab.isa.lanes import ROW_BYTES
from simtlab.program.action import SERVICE_BASE, SERVICE_STEP, Action, Condition, Members, Service

SPLIT, JUMP, MEET, CONVERGE, LEAVE, YIELD, WARP_SYNC = (int(Action(k)) for k in range(19, 26))
SAVE_BARRIER, RESTORE_BARRIER, END, CTA_BARRIER, LIBRARY_CALL = (int(Action(k)) for k in range(26, 31))
COLLECTIVE, END_COLLECTIVE, EXCLUSIVE = int(Action.COLLECTIVE), int(Action.END_COLLECTIVE), int(Action.EXCLUSIVE)
NO_CONDITION, PREDICATE, NOT_PREDICATE, DIVERGED, _, NEVER, ANY = (int(c) for c in Condition)
ALL, REGISTER, UNIFORM, INDEX = int(Members.ALL), int(Members.REGISTER), int(Members.UNIFORM), int(Members.INDEX)
OUT_SPENT, OUT_BARRIER, OUT_SERVICE = int(Outcome.SPENT), int(Outcome.BARRIER), int(Outcome.SERVICE)
BAD_BRANCH, NOT_A_MEMBER = int(FaultCode.BAD_BRANCH), int(FaultCode.NOT_A_MEMBER)
TIRING = 2  # which operand of a branch says how many backward branches are as good as a YIELD; 0: it goes on for ever
INSTRUCTION_BYTES = 16
SERVICES_END = SERVICE_BASE + SERVICE_STEP * len(Service)


@compiled
def steer_splits(launch, worker, cta, warp, ins, pc, mask):
    """Carry out what moves lanes about. SPENT means that the warp goes on."""
    action = ins.action
    if action == SPLIT:
        go(launch, warp, ins, pc, taking(warp, ins, mask))
        if ins.operands[TIRING] != 0 and warp.depth > 0 and warp.pc == ins.target:
            turn_back(warp, ins.operands[TIRING])
        return OUT_SPENT
    if mask == 0:
        warp.pc = pc + 1
        return OUT_SPENT
    if action == MEET:
        members = np.uint32(mask | met_by(warp, ins.operands[0], mask))
        warp.met = 1
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                flow_of(warp).convergence[ins.operands[0], lane] = members
        warp.pc = pc + 1
        return OUT_SPENT
    if action == CONVERGE:
        return converge(launch, worker, warp, ins, pc, mask)
    if action == END:
        return end(launch, worker, warp, ins, pc, mask)
    if action == LEAVE:
        forget(warp, ins.operands[1], taking(warp, ins, mask))
        warp.pc = pc + 1
        return OUT_SPENT
    return steer_rarely(launch, worker, cta, warp, ins, pc, mask)


@compiled
def steer_rarely(launch, worker, cta, warp, ins, pc, mask):
    action = ins.action
    if action == JUMP or action == LIBRARY_CALL or action == END_COLLECTIVE:
        outcome = jump(launch, worker, warp, ins, pc, mask)
        if ins.detail == INDEX and warp.depth > 0 and warp.pc <= pc and outcome == OUT_SPENT:
            turn_back(warp, ins.operands[TIRING])
        return outcome
    if action == CTA_BARRIER:
        return meet_cta(launch, worker, warp, pc, mask)
    if action == WARP_SYNC or action == COLLECTIVE or action == EXCLUSIVE:
        return meet_warp(launch, worker, warp, ins, pc, mask)
    if action == YIELD:
        warp.pc = pc + 1
        every = ins.operands[0]  # of PTX, whose splits tire; machine code's YIELD has none
        state = tire(warp, every, every) if every > 0 else YIELDED
        if warp.depth > 0:
            give_way(warp, state)
        return OUT_SPENT
    if action == SAVE_BARRIER:
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                store_u32(warp.window + ins.operands[0] + 4 * lane, flow_of(warp).convergence[ins.operands[1], lane])
                if ins.detail != 0:
                    flow_of(warp).convergence[ins.operands[1], lane] = np.uint32(0)
    elif action == RESTORE_BARRIER:
        warp.met = 1
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                held = load_u32(warp.window + ins.operands[1] + 4 * lane) if ins.detail != 0 else np.uint32(ins.operands[1])
                flow_of(warp).convergence[ins.operands[0], lane] = held
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
    if how == DIVERGED:  # all of them branch unless the guard holds in just the lanes asked about
        return warp.mask if mask != (value & warp.live) else np.uint32(0)
    return mask if warp.mask == (value & warp.live) else np.uint32(0)


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
def turn_back(warp, every):
    """A split goes back in PTX: every so often it gives way, as at a YIELD, so that the others make progress, too."""
    state = tire(warp, 1, every)
    if warp.turns % every == 0:
        give_way(warp, state)


@compiled
def converge(launch, worker, warp, ins, pc, mask):
    """BSYNC: go on if all lanes of the barrier are here, else wait for them."""
    number = ins.operands[0]
    part(warp, pc, mask)
    if (met_by(warp, number, mask) & warp.live & ~mask) == 0:
        forget(warp, number, mask)
        warp.pc = pc + 1
        return OUT_SPENT
    park(warp, pc + 1, mask, number, 0)
    return next_split(launch, worker, warp, pc)


@compiled
def end(launch, worker, warp, ins, pc, mask):
    """EXIT: lanes end; nobody waits for them any more. A predicate beside the guard may keep some from it."""
    mask = taking(warp, ins, mask)
    warp.live = np.uint32(warp.live & ~mask)
    warp.mask = np.uint32(warp.mask & ~mask)
    if warp.mask != 0:
        warp.pc = pc + 1
        return OUT_SPENT
    return next_split(launch, worker, warp, pc)


@compiled
def meet_cta(launch, worker, warp, pc, mask):
    """BAR: the warp arrives when all its lanes have. BARRIER: they have, and the warp is to arrive now."""
    part(warp, pc, mask)
    if warp.mask == warp.live:
        return OUT_BARRIER
    park(warp, pc, mask, AT_CTA_BARRIER, 0)
    return next_split(launch, worker, warp, pc)


@compiled
def meet_warp(launch, worker, warp, ins, pc, mask):
    """WARPSYNC: go on when all lanes of a mask that have not ended are here. With .EXCLUSIVE lanes go on with those they name and
    no others: what follows is a vote, a match or a reduction of these. So with .COLLECTIVE, where they may be at others like it:
    the compiler gives them the same registers, and one of them is executed for all. A lane that does not name itself is a fault,
    as on an H200; and lanes that name each other in one direction only wait for ever, as there."""
    part(warp, pc, mask)
    why = AT_EXCLUSIVE if ins.action == EXCLUSIVE else AT_WARP_SYNC
    if ins.action == COLLECTIVE:
        why = AT_COLLECTIVE
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                flow_of(warp).comes_back[lane] = ins.target
    left, going = mask, np.uint32(0)
    while left != 0:  # lanes that name different lanes, as tiles of a warp do, wait for their own
        members = members_of(warp, ins, lowest_lane(left))
        same = left if ins.detail != REGISTER else naming(warp, ins, left, members)
        if (same & ~members) != 0:
            return fault(worker, warp, pc, lowest_lane(np.uint32(same & ~members)), 0, NOT_A_MEMBER)
        if (members & warp.live & ~same) != 0:
            park(warp, pc + 1, same, why, members)
        elif why != AT_WARP_SYNC and going != 0:
            park(warp, pc + 1, same, READY, 0)
        else:
            going = np.uint32(going | same)
        left = np.uint32(left & ~same)
    if going == 0:
        return next_split(launch, worker, warp, pc)
    if why == AT_COLLECTIVE:
        lead(warp, going, going)
    warp.pc, warp.mask = pc + 1, going
    return OUT_SPENT


@compiled
def naming(warp, ins, lanes, members):
    """Those of some lanes that wait for the same lanes."""
    found = np.uint32(0)
    for lane in range(32):
        bit = np.uint32(np.uint32(1) << np.uint32(lane))
        if lanes & bit and members_of(warp, ins, lane) == members:
            found = np.uint32(found | bit)
    return found


@compiled
def members_of(warp, ins, lane):
    """The lanes that a lane waits for."""
    if ins.detail == ALL:
        return np.uint32(0xFFFFFFFF)
    if ins.detail == REGISTER:
        return load_u32(warp.window + ins.operands[0] + 4 * lane)
    if ins.detail == UNIFORM:
        return load_u32(warp.window + ins.operands[0])
    return np.uint32(ins.operands[0])


@compiled
def jump(launch, worker, warp, ins, pc, mask):
    """To where a register says; lanes that it sends to different places part."""
    part(warp, pc, mask)
    left = mask
    first = True
    while left != 0:
        lane = lowest_lane(left)
        address = jump_address(launch, warp, ins, lane)
        if ins.action == LIBRARY_CALL and SERVICE_BASE <= address < SERVICES_END:
            worker.service_warp, worker.service_mask = warp.index, left  # they called one function
            return OUT_SERVICE
        if ins.detail == INDEX and address < 0:
            return fault(worker, warp, pc, lane, -1 - address, BAD_BRANCH)
        target = address // INSTRUCTION_BYTES
        if address % INSTRUCTION_BYTES != 0 or target < 0 or target >= launch.n_instructions:
            return fault(worker, warp, pc, lane, address, BAD_BRANCH)
        same = np.uint32(0)
        for other in range(32):
            bit = np.uint32(np.uint32(1) << np.uint32(other))
            if left & bit and jump_address(launch, warp, ins, other) == address:
                same = np.uint32(same | bit)
        if ins.action == END_COLLECTIVE:
            same = together(same, lane, flow_of(warp).leads)
        left = np.uint32(left & ~same)
        if first:
            warp.pc, warp.mask, first = target, same, False
        else:
            park(warp, target, same, READY, 0)
    return OUT_SPENT


@compiled
def together(lanes, lane, leads):
    """Of lanes that go to one place behind an ENDCOLLECTIVE, those that go with one: the split that led, or the others."""
    return np.uint32(lanes & leads) if (leads >> np.uint32(lane)) & np.uint32(1) else np.uint32(lanes & ~leads)


@compiled
def jump_address(launch, warp, ins, lane):
    """Where a lane is sent, in bytes from the program's start; -1 less its index, where that is beyond a list of targets."""
    if ins.action == END_COLLECTIVE:
        return np.int64(flow_of(warp).comes_back[lane]) * INSTRUCTION_BYTES if flow_of(warp).comes_back[lane] > 0 else np.int64(-1)
    if ins.detail == UNIFORM:
        return np.int64(load_u32(warp.window + ins.operands[0])) + ins.operands[1]
    place = warp.window + ins.operands[0] + 4 * lane
    if ins.detail == INDEX:
        index = np.int64(load_u32(place))
        if index >= ins.target_count:
            return -1 - index
        return np.int64(load_i32(launch.targets + 4 * (ins.target + index))) * INSTRUCTION_BYTES
    low = np.int64(load_u32(place))
    if ins.action == LIBRARY_CALL:
        return low | np.int64(load_u32(place + ROW_BYTES)) << 32
    return np.int64(np.int32(low)) + ins.operands[1]
