"""Preemption (BOOK 5.1.3): a CTA makes room for one of a kernel of higher priority, in one of three ways.

SWITCH: its context goes to memory and comes back when there is room again. DRAIN: it runs to its end, and what it leaves is kept
for the other. FLUSH: it is dropped, to begin anew; it must not have overwritten what it read, which is watched here.
A CTA that is stopped issues nothing; when all it has in flight is done, it leaves. Contexts take the time that a core's share of
the DRAM's bandwidth takes; their traffic is not seen by the network and the caches.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import call_hook, compiled, load_i64, store_i64
from simtlab.execute.state import WarpStatus
from simtlab.machine.core.cta_slots import has_room, take_resources, take_slot
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.instruction_buffer import look_at_head
from simtlab.machine.core.scoreboard import bit_of, clear_hazards
from simtlab.machine.core.state import FILTER_WORDS
from simtlab.machine.core.timing import Memory


class How(IntEnum):
    NOT = 0
    SWITCH = 1
    DRAIN = 2
    FLUSH = 3
    SAVING = 4  # a context is on its way out,
    RESTORING = 5  # … or back


NOT, SWITCH, DRAIN, FLUSH, SAVING, RESTORING = (int(how) for how in How)
NOTHING = -1
POLL_CYCLES = 8  # until a CTA that is stopped is looked at again
NEVER = np.int64(1 << 62)
DONE, AT_BARRIER = int(WarpStatus.DONE), int(WarpStatus.AT_BARRIER)
GLOBAL, SURFACE = int(Memory.GLOBAL), int(Memory.SURFACE)
MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def stop(cta, how):
    """The answer of a policy that stops a CTA slot's CTA: SWITCH, DRAIN or FLUSH."""
    return 8 * cta + how


@compiled
def note_access(core, op, c):
    """What a CTA reads is remembered, sector by sector, in a filter; from the first time that it writes what it may have read, or
    does what cannot be undone, it cannot be flushed."""
    if op.is_atomic or (op.is_store and op.memory == SURFACE):
        core.broken = np.uint64(core.broken | bit_of(c))
    if op.memory != GLOBAL:
        return
    for k in range(op.accesses):
        mixed = np.uint64(np.uint64(op.lines[k] >> 5) * MIX) >> np.uint64(40)
        word, bit = np.int64(mixed >> np.uint64(6)) % FILTER_WORDS, bit_of(np.int64(mixed & np.uint64(63)))
        if op.is_store == 0:
            core.read_filter[c, word] = np.uint64(core.read_filter[c, word] | bit)
        elif core.read_filter[c, word] & bit:
            core.broken = np.uint64(core.broken | bit_of(c))


@compiled
def forget(core, c):
    """A CTA begins: it has read nothing."""
    core.broken = np.uint64(core.broken & ~bit_of(c))
    for word in range(FILTER_WORDS):
        core.read_filter[c, word] = np.uint64(0)


@compiled
def can_flush(core, cta):
    """Whether a CTA can be dropped and begun anew."""
    return core.broken & bit_of(cta) == 0


@compiled
def switch_cycles(core, cta):
    """How long a CTA's context takes to memory, or back."""
    return core.cta_context[cta] * 100 // core.context_hundredths + 1


@compiled
def preempt(gpu, core, k):
    """A kernel's CTA finds no room: the policy may stop one of lower priority, one at a time. Whether it does."""
    priority = gpu.kernel[k].priority
    could = lower_ones(gpu, core, priority)
    if core.stopping != 0 or core.drains or core.reserved > priority or could == 0:
        return False
    answer = call_hook(gpu.hooks.preemption_choose, core.address, core.own_preemption, could, gpu.cycle)
    if answer == NOTHING:
        return False
    c, how = answer // 8, answer % 8
    core.reserved = priority
    if how == DRAIN:
        core.drains = 1
        return True
    core.how[c] = how
    core.stopping = np.uint64(core.stopping | bit_of(c))
    core.frozen = np.uint64(core.frozen | warps_of(core, c))
    look_soon(gpu, core, gpu.cycle + 1)
    return True


@compiled
def make_places(gpu, cores, k):
    """CTAs of an urgent kernel wait: others are stopped where there are too few places, free or on their way. A core that has
    stopped one, which was not enough, comes first."""
    kernel = gpu.kernel[k]
    wanted = kernel.launch.n_ctas - kernel.launch.next_cta
    for c in range(gpu.cores):
        wanted -= gpu.room[c] != 0 or cores[c].stopping != 0 or cores[c].drains != 0
    for begun in (True, False):
        for c in range(gpu.cores):
            if wanted > 0 and gpu.room[c] == 0 and (cores[c].reserved == kernel.priority) == begun:
                wanted -= preempt(gpu, cores[c], k)


@compiled
def lower_ones(gpu, core, priority):
    """The CTA slots with a CTA that could make room for a kernel of a priority."""
    found = np.uint64(0)
    for c in range(core.cta_slots):
        if (core.free_ctas | core.parked) & bit_of(c) == 0 and gpu.kernel[core.cta_kernel[c]].priority < priority:
            found = np.uint64(found | bit_of(c))
    return found


@compiled
def warps_of(core, c):
    """The warp slots of a CTA."""
    found = np.uint64(0)
    for k in range(core.ctas[c].n_warps):
        w = core.slot_of[c, k]
        if core.occupied & bit_of(w) and core.slots[w].cta == c and core.slots[w].warp == k:
            found = np.uint64(found | bit_of(w))
    return found


@compiled
def look_soon(gpu, core, cycle):
    core.stop_event = cycle
    core.next_sample = min(core.next_sample, cycle)
    gpu.wake[core.number] = min(gpu.wake[core.number], core.next_sample)


@compiled
def go_on(gpu, core):
    """CTAs that are being stopped, saved or restored go a step further where they can."""
    left, next_look = core.stopping, NEVER
    while left != 0:
        c = lowest_bit(left)
        left = np.uint64(left & ~bit_of(c))
        if core.how[c] == SWITCH or core.how[c] == FLUSH:
            if not is_still(core, warps_of(core, c)):
                next_look = min(next_look, gpu.cycle + POLL_CYCLES)
                continue
            if core.how[c] == SWITCH:
                core.how[c], core.how_until[c] = SAVING, gpu.cycle + switch_cycles(core, c)
            else:
                drop(gpu, core, c)
                continue
        if gpu.cycle < core.how_until[c]:
            next_look = min(next_look, core.how_until[c])
        elif core.how[c] == SAVING:
            park(gpu, core, c)
        else:
            core.frozen = np.uint64(core.frozen & ~warps_of(core, c))
            end_stop(core, c)
    core.stop_event = next_look
    core.quiet = 0
    core.moved = core.changed = gpu.cycle


@compiled
def is_still(core, warps):
    """Whether nothing of some warps is in flight."""
    if warps & core.leaving:
        return False
    while warps != 0:
        slot = core.slots[lowest_bit(warps)]
        warps = np.uint64(warps & (warps - np.uint64(1)))
        if slot.in_flight > 0 or slot.stores > 0:
            return False
    return True


@compiled
def end_stop(core, c):
    core.how[c] = NOT
    core.stopping = np.uint64(core.stopping & ~bit_of(c))


@compiled
def vacate(gpu, core, c):
    """A CTA's warps leave their slots, and its resources are free."""
    warps = warps_of(core, c)
    left, keep = warps, np.uint64(~warps)
    while left != 0:
        w = lowest_bit(left)
        left = np.uint64(left & ~bit_of(w))
        core.slots[w].buffered = 0
        look_at_head(core, w)
        clear_hazards(core, w)
    core.occupied, core.buffered = np.uint64(core.occupied & keep), np.uint64(core.buffered & keep)
    core.barrier, core.membar = np.uint64(core.barrier & keep), np.uint64(core.membar & keep)
    core.resolving, core.fetching = np.uint64(core.resolving & keep), np.uint64(core.fetching & keep)
    core.draining, core.paused = np.uint64(core.draining & keep), np.uint64(core.paused & keep)
    core.refused, core.busy_warp = np.uint64(core.refused & keep), np.uint64(core.busy_warp & keep)
    core.yielded, core.frozen = np.uint64(core.yielded & keep), np.uint64(core.frozen & keep)
    take_resources(core, gpu.kernel[core.cta_kernel[c]], -1)
    end_stop(core, c)
    gpu.dispatching = 1


@compiled
def drop(gpu, core, c):
    """A CTA is as if it had never begun."""
    kernel, number = gpu.kernel[core.cta_kernel[c]], core.ctas[c].number
    vacate(gpu, core, c)
    core.free_ctas = np.uint64(core.free_ctas | bit_of(c))
    word = kernel.started + 8 * (number >> 6)
    store_i64(word, np.int64(np.uint64(load_i64(word)) & ~bit_of(number & 63)))
    kernel.first_waiting = min(kernel.first_waiting, number)
    kernel.launch.next_cta -= 1


@compiled
def park(gpu, core, c):
    """A CTA's context is in memory; its slot's memory on the host keeps it."""
    vacate(gpu, core, c)
    core.parked = np.uint64(core.parked | bit_of(c))
    gpu.kernel[core.cta_kernel[c]].parked += 1


@compiled
def resume(gpu, core, k):
    """CTAs of a kernel that were switched out of a core come back where there is room."""
    kernel, left = gpu.kernel[k], core.parked
    while left != 0 and has_room(gpu, core, kernel):
        c = lowest_bit(left)
        left = np.uint64(left & ~bit_of(c))
        if core.cta_kernel[c] != k:
            continue
        core.parked = np.uint64(core.parked & ~bit_of(c))
        kernel.parked -= 1
        take_resources(core, kernel, 1)
        cta = core.ctas[c]
        for warp in range(cta.n_warps):
            if cta.warps[warp].status != DONE:
                come_back(gpu, core, kernel, k, c, warp)
        core.how[c], core.how_until[c] = RESTORING, gpu.cycle + switch_cycles(core, c)
        core.stopping = np.uint64(core.stopping | bit_of(c))
        look_soon(gpu, core, gpu.cycle + 1)


@compiled
def come_back(gpu, core, kernel, k, c, warp):
    """A warp of a CTA that was switched out has a slot again, and goes on where it was."""
    w = lowest_bit(np.uint64(~core.occupied))
    state = core.ctas[c].warps[warp]
    core.occupied = np.uint64(core.occupied | bit_of(w))
    core.frozen = np.uint64(core.frozen | bit_of(w))
    core.slot_of[c, warp] = w
    core.ctas[c].context[warp].warpid = w
    take_slot(gpu, core, kernel, w, k, c, warp)
    core.slots[w].head = state.pc
    look_at_head(core, w)
    if state.status == AT_BARRIER:
        core.barrier = np.uint64(core.barrier | bit_of(w))
