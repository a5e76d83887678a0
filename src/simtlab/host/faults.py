"""Faults and deadlocks in words: which kernel, block, thread and instruction, on which lines, and what is near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simtlab.errors import Deadlock, DeviceFault
from simtlab.execute.grid import GridRun, Slot, Worker
from simtlab.execute.state import FaultCode, WarpStatus
from simtlab.isa.spaces import LOCAL_BASE, LOCAL_BYTES, SHARED_BASE, SHARED_BYTES
from simtlab.program.action import Action, Space
from simtlab.program.program import Program

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.services import Services

MOST_WARPS_LISTED = 8
ACCESSES = {Action.LOAD: "load", Action.STORE: "store", Action.ATOMIC: "atomic"}


def explain_fault(gpu: Gpu, program: Program, run: GridRun, services: Services) -> DeviceFault:
    """The error for the lowest CTA that faulted."""
    slot, worker = min(run.faults, key=lambda pair: int(pair[0].cta.number))
    fault = worker.record[0]
    pc = int(fault.fault_pc)
    context = slot.cta.context[int(fault.fault_warp)]
    place = f"kernel '{program.readable_name}', {block_and_thread(context, int(fault.fault_lane))}, at {program.where(pc)}"
    problem = services.failures.get(int(slot.cta.number)) or _problem(gpu, program, slot, worker)
    error = DeviceFault(f"{problem} in {place}")
    error.kind = "assertion" if int(slot.cta.number) in services.failures else FaultCode(int(fault.fault)).name.lower()
    return error


def block_and_thread(context: np.record, lane: int) -> str:
    block = (int(context.ctaid_x), int(context.ctaid_y), int(context.ctaid_z))
    thread = (int(context.tid_x[lane]), int(context.tid_y[lane]), int(context.tid_z[lane]))
    return f"block {block}, thread {thread}"


def _problem(gpu: Gpu, program: Program, slot: Slot, worker: Worker) -> str:
    fault = worker.record[0]
    code, pc = FaultCode(int(fault.fault)), int(fault.fault_pc)
    address = int(fault.fault_address) & 0xFFFFFFFFFFFFFFFF
    instruction = program.lowered[pc]
    if instruction.action == Action.SURFACE and code in (FaultCode.OUTSIDE, FaultCode.MISALIGNED):
        warp = slot.cta.warps[int(fault.fault_warp)]
        where = gpu.textures.describe_access(program.code[pc], warp, int(fault.fault_lane))
        return f"{'misaligned' if code == FaultCode.MISALIGNED else 'outside'}: {where}"
    if code in (FaultCode.OUTSIDE, FaultCode.MISALIGNED, FaultCode.READ_ONLY):
        size = int(program.code[pc].access_bytes)
        what = f"{ACCESSES.get(instruction.action, 'access')} of {size} bytes at {address:#x}"
        near = _nearby(gpu, slot, int(fault.fault_warp), instruction.space, address)
        if code == FaultCode.READ_ONLY:
            return f"{what} writes to constant memory ({near})"
        if code == FaultCode.MISALIGNED:
            return f"misaligned {what}, which is not a multiple of {size} ({near})"
        held = gpu.memory.find(address)
        if held is not None and address + size > held.end:
            return f"{what} reaches {address + size - held.end} bytes past the end of the {held}"
        return f"{what} is outside every allocation ({near})" if "allocation" in near else f"{what} is {near}"
    if code == FaultCode.BAD_BRANCH and instruction.origin.opcode == "NOP":
        return "control runs past the end of the kernel's code"
    return {
        FaultCode.STACK_OVERFLOW: "stack overflow: calls are nested too deeply",
        FaultCode.TRAP: "trap",
        FaultCode.BAD_CALL: f"call through a pointer that is no function ({address:#x})",
        FaultCode.BAD_BRANCH: f"indirect branch with index {address} beyond its list of targets",
        FaultCode.BAD_TEXTURE: f"access through {address:#x}, which is no texture or surface of this kind",
        FaultCode.BAD_BARRIER: "barrier number above 15 or thread count not a multiple of 32",
        FaultCode.NEVER_MET: "lanes of a warp wait for each other at different places, for ever",
        FaultCode.NOT_A_MEMBER: "illegal instruction: the thread's own lane is not in the membermask it gave",
    }[code]


def _nearby(gpu: Gpu, slot: Slot, warp: int, space: Space, address: int) -> str:
    if space == Space.GENERIC and SHARED_BASE <= address < SHARED_BASE + SHARED_BYTES:
        space, address = Space.SHARED, address - SHARED_BASE
    if space == Space.GENERIC and LOCAL_BASE <= address < LOCAL_BASE + LOCAL_BYTES:
        space, address = Space.LOCAL, address - LOCAL_BASE
    if space == Space.SHARED:
        return f"outside the block's {int(slot.cta.shared_window.length)} bytes of shared memory"
    if space == Space.LOCAL:
        size = int(slot.cta.warps[warp].local_window.length)
        return f"outside the thread's {size} bytes of local memory (a stack overflow, if calls are nested deeply)"
    return gpu.memory.describe(address)


def explain_deadlock(program: Program, slots: list[Slot]) -> Deadlock:
    """The error for warps that can never go on: who waits, where."""
    lines = []
    for slot in sorted(slots, key=lambda slot: int(slot.cta.number)):
        cta = slot.cta
        for w in range(int(cta.n_warps)):
            if cta.warps[w].status != WarpStatus.DONE:
                lines.append(_waiting(program, cta, w))
    listed = lines[:MOST_WARPS_LISTED]
    if len(lines) > len(listed):
        listed.append(f"… and {len(lines) - len(listed)} more warps")
    return Deadlock(f"kernel '{program.readable_name}' can never finish:\n  " + "\n  ".join(listed))


def _waiting(program: Program, cta: np.record, w: int) -> str:
    warp, context = cta.warps[w], cta.context[w]
    block = (int(context.ctaid_x), int(context.ctaid_y), int(context.ctaid_z))
    place = program.where(int(warp.pc))
    if warp.status == WarpStatus.AT_BARRIER:
        return f"block {block} warp {int(warp.index)} waits at a barrier that not all warps reach: {place}"
    active, live = int(warp.mask), int(warp.live)
    text = f"block {block} warp {int(warp.index)} repeats itself at {place}, lanes {active:#010x} active"
    held = live & ~active
    if held and warp.depth > 0:
        entry = cta.flow[w].stack[int(warp.depth) - 1]
        text += f"; lanes {held:#010x} wait for them, next at {program.where(int(entry.pc))}"
    return text
