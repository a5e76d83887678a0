"""Stores and atomics to memory that cores share are carried out when all cores have had their cycle, in the order of the cores.

So no core sees in a cycle what another one writes in that cycle, whichever is ticked first, and host threads may tick cores side
by side (threads.py). Their addresses are known at issue as those of any other instruction; nobody needs their results earlier.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.state import Outcome
from simtlab.execute.warp import execute
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.limits import MAX_CORES, MAX_SCHEDULERS
from simtlab.program.action import Action, Space
from simtlab.program.encode import code_at

MAX_DEFERRED = 2 * MAX_CORES * MAX_SCHEDULERS  # two instructions a scheduler, with dual issue
deferred_t = np.dtype([("core", "i2"), ("slot", "i2"), ("pc", "i4"), ("mask", "u4")], align=True)

STORE, ATOMIC, SURFACE = int(Action.STORE), int(Action.ATOMIC), int(Action.SURFACE)
SHARED, LOCAL = int(Space.SHARED), int(Space.LOCAL)
FAULT, SPENT = int(Outcome.FAULT), int(Outcome.SPENT)


@compiled
def is_deferred(core, ins, w):
    """Whether an instruction writes what other cores may read, or follows one of its warp that does, in the same cycle."""
    if ins.action == STORE or ins.action == ATOMIC:
        return (ins.space != SHARED and ins.space != LOCAL) or core.deferred & bit_of(w) != 0
    return ins.action == SURFACE or core.deferred & bit_of(w) != 0


@compiled
def defer(gpu, core, w, pc, mask, warp):
    """Note an instruction; its warp goes on."""
    write = gpu.deferred[gpu.deferred_count]
    write.core, write.slot, write.pc, write.mask = core.number, w, pc, mask
    gpu.deferred_count += 1
    core.deferred = np.uint64(core.deferred | bit_of(w))
    warp.pc = pc + 1
    return SPENT


@compiled
def commit(gpu, chief, cores):
    """All cores have had the cycle: what was deferred in a thread's part. The chief's record knows of a fault."""
    for k in range(gpu.deferred_count):
        write = gpu.deferred[k]
        core = cores[write.core]
        core.deferred = np.uint64(0)
        slot = core.slots[write.slot]
        kernel, code, cta = gpu.kernel[slot.kernel], code_at(slot.code), core.ctas[slot.cta]
        warp = cta.warps[slot.warp]
        following = warp.pc
        ins, pc = code.row[write.pc], np.int64(write.pc)
        outcome = execute(kernel.launch, code, kernel.worker, cta, warp, ins, pc, write.mask, gpu.cycle)
        warp.pc = following
        if outcome == FAULT:
            chief.outcome, chief.where_core, chief.where_slot = outcome, core.number, write.slot
            take_over_fault(chief.kernel[slot.kernel].worker, kernel.worker)
            core.broken = np.uint64(core.broken | bit_of(slot.cta))
    gpu.deferred_count = 0


@compiled
def take_over_fault(worker, other):
    """What another thread's worker knows of a fault; of several in a cycle the last is told of."""
    if other.fault != 0:
        worker.fault, worker.fault_pc, worker.fault_warp = other.fault, other.fault_pc, other.fault_warp
        worker.fault_lane, worker.fault_address = other.fault_lane, other.fault_address
