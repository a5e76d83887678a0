"""Fast-forward: the CTAs on the machine go on as in a functional run, which takes no time, and the machine goes on from there.

First the warps are held until nothing of them is in flight; then what a warp is at is all in its CTA's record, which functional
runs have too. CTAs that end on the way leave their cores, and others move in. Caches, DRAM rows and policies stay as they were.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.cta import run_cta_on
from simtlab.execute.state import Outcome, WarpStatus
from simtlab.machine.clock import note_ends
from simtlab.machine.core.cta_slots import leave_if_drained
from simtlab.machine.core.fetch import unlock_line
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.machine.core.instruction_buffer import look_at_head, settle
from simtlab.machine.core.preemption import is_still
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.dispatch import dispatch, let_in
from simtlab.machine.memory.cache import NO_WAY
from simtlab.program.encode import code_at

NO_CTA = -1
ALL_WARPS = np.uint64(0xFFFFFFFFFFFFFFFF)
AT_BARRIER, DONE, FAULT = int(WarpStatus.AT_BARRIER), int(WarpStatus.DONE), int(Outcome.FAULT)


@compiled
def hold(cores):
    """No warp issues any more. Whether nothing of any is in flight."""
    still = True
    for c in range(len(cores)):
        cores[c].frozen = ALL_WARPS
        still = still and is_still(cores[c], cores[c].occupied)
    return still


@compiled
def let_go_on(gpus, cores):
    """Warps that were held issue again."""
    for c in range(len(cores)):
        core = cores[c]
        core.frozen, core.quiet = np.uint64(0), 0
        if core.occupied != 0:
            gpus[core.thread].wake[c] = gpus[0].cycle + 1


@compiled
def fast_forward(gpus, cores, instructions, counts):
    """Warps that are held go on: those of each core's oldest CTA, of the next, and so on, by about so many instructions, which are
    counted at `counts`. What a CTA that ends has left of them, the next goes on by that moves in there. One launch alone is on the
    machine. Gives the warps that are there afterwards; of a fault, the outcome says so."""
    gpu = gpus[0]
    kernel = gpu.kernel[0]
    since, goes_on = np.int64(0), True
    while goes_on:
        kernel.worker.counts = counts
        for c in range(len(cores)):
            if not run_core(gpu, cores[c], kernel, instructions[c], since):
                return np.int64(0)
        kernel.worker.counts = 0
        since = kernel.launch.next_cta
        catch_up_all(gpus, cores)
        fill(gpus, cores)
        goes_on = instructions.any() and kernel.launch.next_cta > since
    warps = np.int64(0)
    for c in range(len(cores)):
        warps += count_bits(cores[c].occupied)
    return warps


@compiled
def run_core(gpu, core, kernel, instructions, since):
    """A core's CTAs from a number on go on, one after another. What is left of the instructions is for the next ones, in the order
    in which these have ended. False if something went wrong."""
    c = next_in_age(core, np.int64(-1))
    rank = ended = 0
    while c != NO_CTA:
        cta = core.ctas[c]
        if cta.number >= since:
            wanted, before = instructions[rank], kernel.worker.executed
            instructions[rank] = 0
            outcome = run_cta_on(kernel.launch, code_at(kernel.code), kernel.worker, cta, wanted)
            if outcome == FAULT:
                gpu.outcome, gpu.where_core, gpu.where_slot = FAULT, core.number, core.slot_of[c, kernel.worker.fault_warp]
                return False
            if cta.n_done == cta.n_warps:
                instructions[ended] = max(wanted - (kernel.worker.executed - before), 0)
                ended += 1
            rank += 1
        c = next_in_age(core, core.cta_age[c])
    instructions[max(rank, ended) :] = 0
    return True


@compiled
def catch_up_all(gpus, cores):
    for c in range(len(cores)):
        left = cores[c].occupied
        while left != 0:
            w = lowest_bit(left)
            left = np.uint64(left & ~bit_of(w))
            catch_up(gpus[cores[c].thread], cores[c], w)


@compiled
def next_in_age(core, age):
    """The slot of the oldest CTA that is younger than an age."""
    found = np.int64(NO_CTA)
    for c in range(core.cta_slots):
        if core.free_ctas & bit_of(c) == 0 and core.cta_age[c] > age and (found == NO_CTA or core.cta_age[c] < core.cta_age[found]):
            found = np.int64(c)
    return found


@compiled
def catch_up(gpu, core, w):
    """The core learns where a warp has come to: nothing of it is fetched yet. One that has ended leaves."""
    slot, bit = core.slots[w], bit_of(w)
    keep = np.uint64(~bit)
    warp = core.ctas[slot.cta].warps[slot.warp]
    settle(warp)
    if slot.asked_line != NO_WAY:
        unlock_line(core, slot)
    slot.head, slot.buffered, slot.granted, core.l0.line[w] = warp.pc, 0, NO_WAY, NO_WAY
    core.fetching, core.refused = np.uint64(core.fetching & keep), np.uint64(core.refused & keep)
    core.asked_constant = np.uint64(core.asked_constant & keep)
    core.barrier = np.uint64(core.barrier | bit) if warp.status == AT_BARRIER else np.uint64(core.barrier & keep)
    look_at_head(core, w)
    if warp.status == DONE:
        core.draining = np.uint64(core.draining | bit)
        leave_if_drained(gpu, core, w)


@compiled
def fill(gpus, cores):
    """CTAs that wait move in where others have ended, as if they had done so before the next cycle."""
    gpu = gpus[0]
    for part in range(len(gpus)):
        gpus[part].cycle += 1
    while True:
        gpu.placed, gpu.next_cta_start = 0, 0
        for c in range(gpu.cores):
            gpu.room_changed[c] = 1
        dispatch(gpu, cores)
        if gpu.placed == 0:
            break
        for part in range(len(gpus)):
            let_in(gpus[part], gpu, cores)
    for part in range(len(gpus)):
        gpus[part].cycle -= 1
    gpu.dispatching = 1
    note_ends(gpu)
