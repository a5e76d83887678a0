"""Run a warp: one instruction after another until its quantum is used up or something stops it."""

import numpy as np

from simtlab.compiled import call_operation, compiled, load_i32, load_i64, load_u32
from simtlab.execute.barrier import arrive
from simtlab.execute.counting import count
from simtlab.execute.memory import INSTRUCTION_BYTES, OPERANDS_OFFSET, access, report
from simtlab.execute.simt_stack import diverge, end_lanes, enter, has_room, lowest_lane, pop, push, wait_for_all
from simtlab.execute.splits import SPLIT, steer_splits
from simtlab.execute.state import FaultCode, Outcome, WarpStatus
from simtlab.execute.texture import surface, texture
from simtlab.execute.turns import free_splits
from simtlab.execute.warp_parts import context_of
from simtlab.program.action import Action
from simtlab.program.encode import NO_GUARD
from simtlab.program.program import FUNCTION_BASE, FUNCTION_STEP

COMPUTE, BRANCH, LOAD, STORE, ATOMIC, EXIT, BARRIER, CALL = (int(Action(k)) for k in range(8))
RETURN, INDIRECT_BRANCH, INDIRECT_CALL, NOTHING, FENCE, TIME, TEXTURE, SURFACE = (int(Action(k)) for k in range(8, 16))
TRAP, SERVICE, WARP_BARRIER = int(Action.TRAP), int(Action.SERVICE), int(Action.WARP_BARRIER)
RUNNING, DONE = int(WarpStatus.RUNNING), int(WarpStatus.DONE)
OUT_SPENT, OUT_DONE, OUT_BARRIER = int(Outcome.SPENT), int(Outcome.DONE), int(Outcome.BARRIER)
OUT_FAULT, OUT_SERVICE = int(Outcome.FAULT), int(Outcome.SERVICE)
STACK_OVERFLOW, TRAPPED = int(FaultCode.STACK_OVERFLOW), int(FaultCode.TRAP)
BAD_CALL, BAD_BRANCH, BAD_BARRIER = int(FaultCode.BAD_CALL), int(FaultCode.BAD_BRANCH), int(FaultCode.BAD_BARRIER)
NOT_A_MEMBER = int(FaultCode.NOT_A_MEMBER)


@compiled
def run_warp(launch, code, worker, cta, warp, quantum):
    """Returns why it stopped. The instructions run are added to the warp's and the worker's counts."""
    executed = 0
    outcome = OUT_SPENT
    while executed < quantum and outcome == OUT_SPENT:
        if warp.pc == warp.reconverge:
            pop(warp)
            continue
        ins = code.row[warp.pc]
        executed += 1
        mask = lanes_of(warp, ins)
        if worker.counts != 0:
            count(worker, cta, warp, ins, warp.pc, mask)
        outcome = execute(launch, code, worker, cta, warp, ins, warp.pc, mask, warp.executed + executed)
    warp.executed += executed
    worker.executed += executed
    return outcome


@compiled
def lanes_of(warp, ins):
    """The active lanes whose guard holds."""
    if ins.guard == NO_GUARD:
        return warp.mask
    held = load_u32(warp.window + ins.guard)
    return np.uint32(warp.mask & ~held) if ins.negated else np.uint32(warp.mask & held)


@compiled
def execute(launch, code, worker, cta, warp, ins, pc, mask, clock):
    """Carry out one instruction for the lanes of `mask` and move the warp on. SPENT means that the warp goes on."""
    action = ins.action
    if action == COMPUTE:
        if mask != 0 and not compute(launch, worker, warp, ins, pc, mask):
            return OUT_FAULT
        warp.pc = pc + 1
    elif action == BRANCH:
        if mask == warp.mask:
            warp.pc = ins.target
        elif mask == 0:
            warp.pc = pc + 1
        elif has_room(warp):
            diverge(launch, warp, ins, pc, mask)
        else:
            report(worker, warp, ins, pc, lowest_lane(mask), 0, STACK_OVERFLOW)
            return OUT_FAULT
    elif action <= ATOMIC:
        if mask != 0 and not access(launch, worker, cta, warp, ins, pc, mask):
            return OUT_FAULT
        warp.pc = pc + 1
    else:
        return steer(launch, code, worker, cta, warp, ins, pc, mask, clock)
    return OUT_SPENT


@compiled
def compute(launch, worker, warp, ins, pc, mask):
    """Call the native function for the lanes of `mask`. False if it refused some, as .sync operations may: a fault."""
    operands = launch.code_address + pc * INSTRUCTION_BYTES + OPERANDS_OFFSET
    refused = call_operation(ins.function, warp.window, mask, operands, warp.context_address)
    if refused != 0:
        return report(worker, warp, ins, pc, lowest_lane(refused), 0, NOT_A_MEMBER)
    return True


@compiled
def steer(launch, code, worker, cta, warp, ins, pc, mask, clock):
    """The rarer actions. SPENT means that the warp goes on."""
    action = ins.action
    if action >= SPLIT:
        outcome = steer_splits(launch, worker, cta, warp, ins, pc, mask)
        return come_to_barrier(code, worker, cta, warp) if outcome == OUT_BARRIER else outcome
    if mask == 0 or action == NOTHING or action == FENCE:
        warp.pc = pc + 1
        return OUT_SPENT
    if action == EXIT:
        if mask != warp.mask:
            warp.pc = pc + 1
        end_lanes(warp, mask)
        return OUT_DONE if warp.status == DONE else OUT_SPENT
    if action == BARRIER:
        if not arrive(cta, warp, ins, mask, lowest_lane(mask)):
            report(worker, warp, ins, pc, lowest_lane(mask), 0, BAD_BARRIER)
            return OUT_FAULT
        return OUT_BARRIER
    if action == TIME:
        context_of(warp).clock64 = clock
        context_of(warp).globaltimer = clock * 1_000_000 // launch.clock_khz
    if action == TIME or action == WARP_BARRIER:
        if not compute(launch, worker, warp, ins, pc, mask):
            return OUT_FAULT
        warp.pc = pc + 1
        return OUT_SPENT
    if action == RETURN:
        pop(warp)
        return OUT_DONE if warp.status == DONE else OUT_SPENT
    if action == SERVICE:
        worker.service_warp = warp.index
        worker.service_mask = mask
        return OUT_SERVICE
    if action == TRAP:
        report(worker, warp, ins, pc, lowest_lane(mask), 0, TRAPPED)
        return OUT_FAULT
    if action == TEXTURE or action == SURFACE:
        good = texture(launch, worker, warp, ins, pc, mask) if action == TEXTURE else surface(
            launch, worker, warp, ins, pc, mask
        )
        warp.pc = pc + 1
        return OUT_SPENT if good else OUT_FAULT
    if not has_room(warp):
        report(worker, warp, ins, pc, lowest_lane(mask), 0, STACK_OVERFLOW)
        return OUT_FAULT
    return transfer(launch, code, worker, warp, ins, pc, mask)


@compiled
def come_to_barrier(code, worker, cta, warp):
    """All lanes of a warp of machine code have come to the CTA's barrier."""
    ins = code.row[warp.pc]
    if not arrive(cta, warp, ins, warp.mask, lowest_lane(warp.mask)):
        report(worker, warp, ins, warp.pc, lowest_lane(warp.mask), 0, BAD_BARRIER)
        return OUT_FAULT
    if warp.status == RUNNING:
        free_splits(warp)
    return OUT_BARRIER


@compiled
def transfer(launch, code, worker, warp, ins, pc, mask):
    """Calls, and branches through a table."""
    if ins.action == CALL:
        return call(code, worker, warp, ins, pc, mask, ins.target, ins.operands[0])
    if ins.action == INDIRECT_CALL:
        return call_by_address(launch, code, worker, warp, ins, pc, mask)
    return branch_by_index(launch, worker, warp, ins, pc, mask)


@compiled
def call(code, worker, warp, ins, pc, mask, target, frame_bytes):
    if warp.window + ins.window_bytes + code.row[target].window_bytes > warp.registers_end:
        report(worker, warp, ins, pc, lowest_lane(mask), 0, STACK_OVERFLOW)
        return OUT_FAULT
    enter(warp, mask, target, frame_bytes, ins.window_bytes)
    return OUT_SPENT


@compiled
def call_by_address(launch, code, worker, warp, ins, pc, mask):
    """Lanes with the lowest lane's callee go now; the others call again afterwards, and all meet behind the call."""
    lane = lowest_lane(mask)
    address = load_i64(warp.window + ins.operands[0] + 8 * lane)
    number = (address - FUNCTION_BASE) // FUNCTION_STEP
    entry = np.int32(-1)
    if 0 <= number < launch.n_entries and (address - FUNCTION_BASE) % FUNCTION_STEP == 0:
        entry = load_i32(launch.entries + 4 * number)
    if entry < 0:
        report(worker, warp, ins, pc, lane, address, BAD_CALL)
        return OUT_FAULT
    same = np.uint32(0)
    for other in range(32):
        bit = np.uint32(np.uint32(1) << np.uint32(other))
        if mask & bit and load_i64(warp.window + ins.operands[0] + 8 * other) == address:
            same = np.uint32(same | bit)
    rest = np.uint32(mask & ~same)
    if rest != 0:
        push(warp, pc + 1, warp.reconverge, warp.mask)
        warp.reconverge = pc + 1
        push(warp, pc, pc + 1, rest)
        warp.mask = same
    return call(code, worker, warp, ins, pc, same, entry, ins.operands[1])


@compiled
def branch_by_index(launch, worker, warp, ins, pc, mask):
    """brx.idx: lanes part by their index and meet at the reconvergence point."""
    waiting = np.uint32(warp.mask & ~mask)
    left = mask
    wait_for_all(warp, ins.reconverge)
    warp.reconverge = ins.reconverge
    if waiting != 0 and pc + 1 != ins.reconverge:
        push(warp, pc + 1, ins.reconverge, waiting)
    while left != 0:
        lane = lowest_lane(left)
        index = np.int64(load_u32(warp.window + ins.operands[0] + 4 * lane))
        if index >= ins.target_count:
            report(worker, warp, ins, pc, lane, index, BAD_BRANCH)
            return OUT_FAULT
        same = np.uint32(0)
        for other in range(32):
            bit = np.uint32(np.uint32(1) << np.uint32(other))
            if left & bit and load_u32(warp.window + ins.operands[0] + 4 * other) == index:
                same = np.uint32(same | bit)
        left = np.uint32(left & ~same)
        target = load_i32(launch.targets + 4 * (ins.target + index))
        if target != ins.reconverge:
            push(warp, target, ins.reconverge, same)
    pop(warp)
    return OUT_SPENT


