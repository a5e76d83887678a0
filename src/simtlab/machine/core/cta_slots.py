"""CTA slots: a CTA moves in when warps, threads, registers and shared memory allow, and out when all its warps have."""

import numpy as np

from simtlab.compiled import call_hook, compiled, dissolved, load_i64, store_i64
from simtlab.execute.cta import start
from simtlab.execute.state import cta_t, field_offset
from simtlab.execute.warp_parts import note_addresses
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.machine.core.instruction_buffer import look_at_head
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.state import N_BARRIERS, REGISTER_WORDS, core_t
from simtlab.machine.events import is_heard, tell
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.memory.cache import NO_WAY

NEXT_CTA = -1
ON_CTA_START, ON_CTA_END, ON_WARP_END = (EVENT_NUMBERS[f"on_{event}"] for event in ("cta_start", "cta_end", "warp_end"))
ALL_SLOTS = np.uint64(0xFFFFFFFFFFFFFFFF)
FIRST_CTA, CTA_BYTES, SHARED_WINDOW = field_offset(core_t, "ctas"), cta_t.itemsize, field_offset(cta_t, "shared_window")


@compiled
def has_room(gpu, core, kernel):
    """Whether a CTA of a kernel fits beside those that are there, and the throttle lets it; and no room is kept for others."""
    if core.reserved > kernel.priority and gpu.most_urgent >= core.reserved:
        return False
    if core.resident >= core.cta_limit or core.free_ctas == 0:
        return False
    if core.registers_left < kernel.registers or core.shared_left < kernel.shared_bytes:
        return False
    if core.threads_left < 32 * kernel.warps:
        return False
    mine = ALL_SLOTS if core.warp_slots == 64 else np.uint64(bit_of(core.warp_slots) - np.uint64(1))
    return count_bits(np.uint64(mine & ~core.occupied)) >= kernel.warps


@compiled
def waits(gpu, cta):
    """Whether a CTA of the kernel that is being dispatched is there and has not begun."""
    kernel = gpu.kernel[gpu.placing]
    if cta < kernel.first_waiting or cta >= kernel.launch.n_ctas:
        return False
    return np.uint64(load_i64(kernel.started + 8 * (cta >> 6))) & bit_of(cta & 63) == 0


@compiled
def chosen_cta(gpu, core, kernel):
    """The CTA that a core gets: the next one, or the one of those that wait which the policy names."""
    if kernel.started == 0:
        return kernel.launch.next_cta
    cta = np.int64(NEXT_CTA)
    if gpu.hooks.cta_dispatch_which != 0:
        cta = call_hook(gpu.hooks.cta_dispatch_which, gpu.address, gpu.own_cta_dispatch, np.uint64(core), gpu.cycle)
    if cta == NEXT_CTA:
        cta = kernel.first_waiting
    word = kernel.started + 8 * (cta >> 6)
    store_i64(word, np.int64(np.uint64(load_i64(word)) | bit_of(cta & 63)))
    while kernel.first_waiting < kernel.launch.n_ctas and not waits(gpu, kernel.first_waiting):
        kernel.first_waiting += 1
    return cta


@compiled
def move_in(gpu, core, k, number):
    """Start a CTA of a kernel in a free slot, and say in which."""
    kernel = gpu.kernel[k]
    c = lowest_bit(core.free_ctas)
    core.free_ctas = np.uint64(core.free_ctas & ~bit_of(c))
    take_resources(core, kernel, 1)
    cta = core.ctas[c]
    settle(gpu, core, cta, c, kernel.warps)
    start(kernel.launch, cta, number)
    cta.shared_window.length = kernel.launch.shared_bytes
    core.cta_warps_left[c] = cta.n_warps
    core.ages += 1
    core.cta_age[c], core.cta_kernel[c] = core.ages, k
    for warp in range(cta.n_warps):
        w = lowest_bit(np.uint64(~core.occupied))
        core.occupied = np.uint64(core.occupied | bit_of(w))
        core.slot_of[c, warp] = w
        cta.context[warp].smid = core.number
        cta.context[warp].warpid = w
        take_slot(gpu, core, kernel, w, k, c, warp)
    for scheduler in range(core.schedulers):
        if gpu.hooks.warp_scheduler_on_cta != 0:
            call_hook(gpu.hooks.warp_scheduler_on_cta, core.address, core.own_warp_scheduler[scheduler], np.uint64(c), gpu.cycle)
    if gpu.hooks.prefetcher_on_cta != 0:
        call_hook(gpu.hooks.prefetcher_on_cta, core.address, core.own_prefetcher, np.uint64(c), gpu.cycle)
    if is_heard(gpu, ON_CTA_START):
        tell(gpu, core, ON_CTA_START, c)
    return c


@compiled
def take_resources(core, kernel, ctas):
    core.resident += ctas
    core.registers_left -= ctas * kernel.registers
    core.shared_left -= ctas * kernel.shared_bytes
    core.threads_left -= ctas * 32 * kernel.warps


@compiled
def settle(gpu, core, cta, c, warps):
    """Point a CTA slot at its own memory. The first slots of all cores stand side by side, for most kernels use only those."""
    place = c * gpu.cores + core.number
    cta.registers = gpu.registers + place * gpu.register_stride
    cta.local = gpu.local + place * gpu.local_stride
    cta.shared_window.host = gpu.shared + place * gpu.shared_stride
    base = core.address + FIRST_CTA + c * CTA_BYTES
    cta.shared_window_address = base + SHARED_WINDOW
    for k in range(warps):
        note_addresses(cta.warps[k], base, k)
        if cta.context[k].one == 0:
            number_lanes(cta.context[k])


@compiled
def number_lanes(context):
    """The special registers that are the same in every warp (as program.context.fill_lanes has them)."""
    for lane in range(32):
        equal = np.int64(1) << lane
        context.laneid[lane] = lane
        context.lanemask_eq[lane], context.lanemask_lt[lane], context.lanemask_le[lane] = equal, equal - 1, 2 * equal - 1
        context.lanemask_gt[lane], context.lanemask_ge[lane] = 0xFFFFFFFF - (2 * equal - 1), 0xFFFFFFFF - (equal - 1)
    context.one = 1


@compiled
def take_slot(gpu, core, kernel, w, k, c, warp):
    """Give a warp its slot."""
    slot = core.slots[w]
    slot.cta, slot.warp, slot.kernel, slot.head, slot.buffered = c, warp, k, 0, 0
    slot.code, slot.timing, slot.code_base = kernel.code, kernel.timing, kernel.code_base
    slot.pc_counts = kernel.pc_counts + core.thread * kernel.count_bytes
    slot.facts = kernel.facts
    slot.in_flight, slot.collecting, slot.stores, slot.reservations, slot.since = 0, 0, 0, 0, gpu.cycle
    slot.bloom, slot.asked_line, core.l0.line[w] = np.uint64(0), NO_WAY, NO_WAY
    slot.constants, slot.granted, slot.raised = kernel.constants, NO_WAY, 0
    core.stalled = np.uint64(core.stalled & ~bit_of(w))  # EXIT has a stall count too
    core.asked_constant = np.uint64(core.asked_constant & ~bit_of(w))
    core.wants_constant = np.uint64(core.wants_constant & ~bit_of(w))
    for barrier in range(N_BARRIERS):
        slot.barriers[barrier] = 0
    for word in range(REGISTER_WORDS):
        slot.pending[word], slot.of_short[word] = np.uint64(0), np.uint64(0)
        slot.of_long[word], slot.of_constant[word] = np.uint64(0), np.uint64(0)
    core.ages += 1
    slot.age = core.ages
    look_at_head(core, w)


@compiled
def acknowledge(gpu, core, w, born):
    """A write (or an atomic) of a warp, sent in some cycle, is where everybody sees it: a fence may wait for that, and a warp's
    end. Where that does not wait, another warp may have the slot by now."""
    slot = core.slots[w]
    if born < slot.since:
        return
    slot.stores -= 1
    if slot.stores == 0:
        core.membar = np.uint64(core.membar & ~bit_of(w))
        core.quiet = 0
        leave_if_drained(gpu, core, w)


@dissolved
@compiled
def leave_if_drained(gpu, core, w):
    """A warp that has ended gives its slot back once nothing of it is in flight."""
    if core.draining & bit_of(w) == 0:
        return
    slot = core.slots[w]
    if slot.in_flight > 0 or (slot.stores > 0 and core.ends_early == 0):
        return
    if is_heard(gpu, ON_WARP_END):
        tell(gpu, core, ON_WARP_END, w)
    keep = np.uint64(~bit_of(w))
    core.occupied = np.uint64(core.occupied & keep)
    core.draining = np.uint64(core.draining & keep)
    core.paused = np.uint64(core.paused & keep)
    core.frozen = np.uint64(core.frozen & keep)
    core.cta_warps_left[slot.cta] -= 1
    gpu.room_changed[core.number] = gpu.any_room_changed = 1
    if core.cta_warps_left[slot.cta] == 0:
        move_out(gpu, core, slot.cta, slot.kernel)


@compiled
def move_out(gpu, core, c, k):
    """A CTA has ended: its resources are free, and others may move in or go on."""
    if is_heard(gpu, ON_CTA_END):
        tell(gpu, core, ON_CTA_END, c)
    kernel = gpu.kernel[k]
    core.free_ctas = np.uint64(core.free_ctas | bit_of(c))
    core.stopping, core.drains = np.uint64(core.stopping & ~bit_of(c)), 0
    take_resources(core, kernel, -1)
    kernel.finished_ctas += 1
    kernel.last_cta_end = max(kernel.last_cta_end, gpu.cycle)
    gpu.dispatching = 1
    pause_beyond_limit(core)


@compiled
def pause_beyond_limit(core):
    """The throttle lets the oldest CTAs run; the youngest beyond its number pause."""
    core.paused = np.uint64(0)
    if core.resident <= core.cta_limit:
        return
    busy = np.uint64(np.uint64(bit_of(core.cta_slots) - np.uint64(1)) & ~core.free_ctas)
    for _ in range(core.resident - core.cta_limit):
        youngest = lowest_bit(busy)
        rest = np.uint64(busy & ~bit_of(youngest))
        while rest != 0:
            c = lowest_bit(rest)
            rest = np.uint64(rest & ~bit_of(c))
            if core.cta_age[c] > core.cta_age[youngest]:
                youngest = c
        busy = np.uint64(busy & ~bit_of(youngest))
        for k in range(core.ctas[youngest].n_warps):
            w = core.slot_of[youngest, k]
            if core.slots[w].cta == youngest:
                core.paused = np.uint64(core.paused | (bit_of(w) & core.occupied))
