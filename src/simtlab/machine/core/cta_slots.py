"""CTA slots: a CTA moves in when warps, threads, registers and shared memory allow, and out when all its warps have."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.cta import start
from simtlab.execute.state import WarpStatus
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.machine.core.instruction_buffer import look_at_head
from simtlab.machine.core.scoreboard import bit_of

DONE = int(WarpStatus.DONE)
ALL_SLOTS = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled
def has_room(gpu, core):
    """Whether one more CTA of the running kernel fits. Registers and shared memory are in `cta_limit`."""
    if core.resident >= core.cta_limit:
        return False
    mine = ALL_SLOTS if core.warp_slots == 64 else np.uint64(bit_of(core.warp_slots) - np.uint64(1))
    free = np.uint64(mine & ~core.occupied)
    return count_bits(free) >= (gpu.launch.threads + 31) // 32


@compiled
def move_in(gpu, core, timing, number):
    """Start CTA `number` of the grid in a free slot."""
    c = lowest_bit(core.free_ctas)
    core.free_ctas = np.uint64(core.free_ctas & ~bit_of(c))
    core.resident += 1
    cta = core.ctas[c]
    start(gpu.launch, cta, number)
    core.cta_warps_left[c] = cta.n_warps
    for k in range(cta.n_warps):
        w = lowest_bit(np.uint64(~core.occupied))
        core.occupied = np.uint64(core.occupied | bit_of(w))
        core.slot_of[c, k] = w
        cta.warps[k].context.smid = core.number
        cta.warps[k].context.warpid = w
        slot = core.slots[w]
        slot.cta, slot.warp, slot.head, slot.buffered = c, k, 0, 0
        slot.in_flight, slot.collecting, slot.stores, slot.reservations = 0, 0, 0, 0
        slot.bloom = np.uint64(0)
        slot.resume = 0
        core.ages += 1
        slot.age = core.ages
        look_at_head(core, timing, w)


@compiled
def leave_if_drained(core, w):
    """A warp that has ended gives its slot back once nothing of it is in flight."""
    slot = core.slots[w]
    cta = core.ctas[slot.cta]
    if cta.warps[slot.warp].status != DONE or slot.in_flight > 0 or slot.stores > 0:
        return
    keep = np.uint64(~bit_of(w))
    if core.occupied & bit_of(w) == 0:
        return
    core.occupied = np.uint64(core.occupied & keep)
    core.draining = np.uint64(core.draining & keep)
    core.cta_warps_left[slot.cta] -= 1
    if core.cta_warps_left[slot.cta] == 0:
        core.free_ctas = np.uint64(core.free_ctas | bit_of(slot.cta))
        core.resident -= 1
        core.ctas_finished += 1
