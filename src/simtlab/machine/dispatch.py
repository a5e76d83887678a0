"""CTA dispatch: whose turn it is among the kernels, and the policy that says which core takes the next CTA, and which it is.

A kernel's turn comes when the one before it in its stream has ended. Of those whose turn it is, the first with CTAs left goes
first, and where a CTA of it fits nowhere, the next kernel may fill the room.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, seldom
from simtlab.machine.core.core import account_for_sleep
from simtlab.machine.core.cta_slots import chosen_cta, has_room, move_in
from simtlab.machine.core.fetch import bring_first_lines
from simtlab.machine.core.preemption import forget, make_places, resume
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.memory.constant_cache import bring_parameters
from simtlab.machine.run_ahead import is_ahead
from simtlab.machine.state import NO_KERNEL

NO_CORE = -1
NEVER = np.int64(1 << 62)


@seldom
@compiled
def dispatch(gpu, cores):
    """Every core with room takes at most one CTA a cycle."""
    gpu.dispatching, gpu.launch_at, gpu.most_urgent = 0, NEVER, 0
    if not any_waits(gpu):
        return
    look_at_changed(gpu, cores)
    for priority in range(gpu.highest_priority, -1, -1):
        for k in range(gpu.kernels):
            kernel = gpu.kernel[k]
            if kernel.priority == priority and has_ctas(kernel) and its_turn(gpu, kernel):
                gpu.most_urgent = max(gpu.most_urgent, priority)
                dispatch_kernel(gpu, cores, k)


@compiled
def look_at_changed(gpu, cores):
    """What is known of a core's room holds until it changes, as long as one kernel asks. Only in a cycle with nothing to place can
    a core have run ahead of the others."""
    asks_all = asks_all_cores(gpu)
    for c in range(gpu.cores):
        gpu.room_changed[c] |= asks_all or (gpu.room[c] != 0 and gpu.places_ctas == 0)
        if gpu.room_changed[c]:
            gpu.resident[c] = cores[c].resident
            gpu.taken[c] = is_ahead(gpu, cores[c])
            gpu.dispatching |= gpu.taken[c]  # it may have room when its time has come


@compiled
def asks_all_cores(gpu):
    """Whether all cores are looked at for every CTA: what fits depends on the kernel, and on which others are to make room."""
    return gpu.kernels > 1 or gpu.hooks.preemption_choose != 0


@compiled
def any_waits(gpu):
    """Whether CTAs of any kernel wait for a core."""
    for k in range(gpu.kernels):
        if has_ctas(gpu.kernel[k]):
            return True
    return False


@compiled
def has_ctas(kernel):
    """Whether CTAs of a kernel wait for a core."""
    return kernel.launch.next_cta < kernel.launch.n_ctas or kernel.parked > 0


@compiled
def its_turn(gpu, kernel):
    """Whether all launches before it in its stream have ended; notes the first cycle."""
    if kernel.after != NO_KERNEL:
        before = gpu.kernel[kernel.after]
        if before.finished_ctas < before.launch.n_ctas:
            return False
    if gpu.cycle < kernel.arrival:
        gpu.launch_at = min(gpu.launch_at, kernel.arrival)
        return False
    if kernel.start < 0:
        kernel.start = gpu.cycle
    if gpu.cycle < kernel.start + gpu.launch_cycles:
        gpu.launch_at = min(gpu.launch_at, kernel.start + gpu.launch_cycles)
        return False
    return True


@compiled
def dispatch_kernel(gpu, cores, k):
    """The policy places CTAs until no core can take one, or it says so."""
    kernel, gpu.placing = gpu.kernel[k], k
    anywhere, asks_all = False, asks_all_cores(gpu)
    for c in range(gpu.cores):
        if kernel.parked > 0:
            resume(gpu, cores[c], k)
        if gpu.room_changed[c]:
            gpu.room[c] = gpu.taken[c] == 0 and has_room(gpu, cores[c], kernel)
            gpu.room_changed[c] = gpu.taken[c] or asks_all
        anywhere = anywhere or gpu.room[c] != 0
    if kernel.priority > 0 and gpu.hooks.preemption_choose != 0:
        make_places(gpu, cores, k)
    while anywhere and kernel.launch.next_cta < kernel.launch.n_ctas:
        if gpu.next_cta_start > 1000 * gpu.cycle:
            gpu.dispatching = 1
            return
        c = call_hook(gpu.hooks.cta_dispatch_choose, gpu.address, gpu.own_cta_dispatch, np.uint64(k), gpu.cycle)
        if c == NO_CORE:
            return
        place(gpu, cores, c, k)
        if gpu.cta_starts > 0:
            gpu.next_cta_start = max(gpu.next_cta_start, 1000 * gpu.cycle - 999) + 1000000 // gpu.cta_starts


@compiled
def place(gpu, cores, c, k):
    """A core gets a CTA of a kernel, and no other in this cycle. It moves in before the core is ticked, in the thread that does."""
    kernel, placed = gpu.kernel[k], gpu.placed_in[gpu.placed]
    placed.core, placed.kernel, placed.cta = c, k, chosen_cta(gpu, c, kernel)
    gpu.placed += 1
    kernel.launch.next_cta += 1
    gpu.resident[c] += 1
    gpu.room[c], gpu.room_changed[c], gpu.taken[c], gpu.dispatching = 0, 1, 1, 1
    if gpu.hooks.preemption_choose != 0:  # which may look at the core at once
        let_in(gpu, gpu, cores)
        gpu.placed = 0


@compiled
def let_in(gpu, chief, cores):
    """The CTAs that were placed in a thread's cores move in."""
    for number in range(chief.placed):
        c, k = np.int64(chief.placed_in[number].core), np.int64(chief.placed_in[number].kernel)
        if c < gpu.first_core or c >= gpu.end_core:
            continue
        core, kernel = cores[c], gpu.kernel[k]
        account_for_sleep(core, gpu.cycle)
        taken = move_in(gpu, core, k, chief.placed_in[number].cta)
        core.reserved = 0 if kernel.priority >= core.reserved else core.reserved
        if gpu.hooks.preemption_choose != 0:
            core.cta_context[taken] = 4 * kernel.registers + kernel.shared_bytes
            forget(core, taken)
        if core.begun & bit_of(k) == 0:
            bring_first_lines(core, kernel, k, gpu.cycle)
            bring_parameters(core, kernel)
        gpu.wake[c] = min(gpu.wake[c], gpu.cycle)
        core.quiet = 0
