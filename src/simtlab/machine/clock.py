"""The clock: cores, network, L2 and DRAM, each at its own rate. Cycles in which nothing can happen are jumped over.

The chip is in parts, one for each host thread (threads.py): a part's cores are ticked, and its slices and channels. In a cycle the
cores come first, and they and the slices offer packets, of which the networks take some; then what has arrived is taken out, flits
move, and L2 and DRAM have the cycle. Where nobody has to look at the chip in between, all from taking them out on is done
together with the cores' next cycle, so that all threads meet once a cycle, and the two that have the networks once more.
"""

import numpy as np

from simtlab.compiled import compiled, count_ones, count_trailing_zeros
from simtlab.execute.state import Outcome
from simtlab.machine.bit_set import WORD_BITS, those_due
from simtlab.machine.clock_levels import ask_for_clocks
from simtlab.machine.core import core as simt_core
from simtlab.machine.core.deferred_writes import commit
from simtlab.machine.dispatch import dispatch, let_in
from simtlab.machine.intervals import next_end, note
from simtlab.machine.jump import jump, next_event
from simtlab.machine.memory.l1_stores import write_back_all
from simtlab.machine.memory.l2_and_dram import tick_memory
from simtlab.machine.network.ports import move_flits, offer_all, take_over, tick_answers, tick_requests
from simtlab.machine.request import balance, in_use
from simtlab.machine.run_ahead import run_ahead
from simtlab.machine.thread_count import count_cycle
from simtlab.machine.threads import (
    CALLED,
    CROSSES_AT,
    DEFERRED,
    FEW_LEFT,
    MEMORY_DONE,
    OFFERS_AT,
    PACKETS,
    PLACED,
    TAKEN_OVER,
    TODO,
    UNITS,
    add_up,
    bring_news,
    call_others,
    come,
    dismiss,
    gather,
    gather_changes_of_room,
    gather_flags,
    give_orders,
    has_news,
    have_news,
    pass_on_clocks,
    report,
    set_until,
    take_orders,
    wait_for_call,
    wait_for_others,
    wait_until_come,
)
from simtlab.machine.watch_log import note_cycle

tick_core, close_accounts = simt_core.tick, simt_core.close_accounts
SPENT, DONE = int(Outcome.SPENT), int(Outcome.DONE)
MEMORY, CORES, PORTS = 1, 2, 4  # what is to be ticked: of each part, where flits move with their memory; of the networks
BETWEEN, CORES_TICKED, PORTS_TICKED, MEMORY_TICKED = 0, 1, 2, 3  # how far the cycle is
TO_MEMORY, TO_CORES = 0, 1


@compiled
def run(crews, gpus, cores, slices, channels, networks, pools, ledgers, parts, levels, until, thread):
    """Run until all kernels are done, a cycle is reached, or something needs the host, and keep the ledger of intervals. Each host
    thread calls this; the first one leads. From Python it takes arrays only, also where there is one record: they are handed over
    in far less time."""
    crew, requests = crews[0], pools[0]
    if thread == 0:
        set_until(gpus, min(until, next_end(ledgers[0]), gpus[0].next_clocks))
    called = np.int64(0)
    while True:
        if thread != 0:
            called = wait_for_call(crew, thread)
        elif not lead(crew, gpus, cores, slices, networks, requests, ledgers[0], parts, levels[0], until):
            gather(gpus)
            dismiss(crew, len(gpus))
        if crew.stop:
            report(crew, thread, called)
            return gpus[0].outcome
        together = max(crew.together[0], 1) if thread == 0 else called % CALLED
        if crew.call[TODO] & PORTS:
            tick_ports(gpus, cores, slices, networks, requests, thread, together)
        else:
            tick_parts(crew, gpus, cores, slices, channels, networks, requests, thread, together)
        if thread != 0:
            report(crew, thread, called)


@compiled
def lead(crew, gpus, cores, slices, networks, requests, ledger, parts, levels, until):
    """What concerns the whole chip, between two ticks of its parts. False if the run ends."""
    gpu = gpus[0]
    if crew.together[0]:
        wait_for_others(crew)
        crew.together[0] = 0
    also = 0
    if gpu.step == CORES_TICKED:
        meet(crew, gpus, cores)
        gpu.step = PORTS_TICKED
        if gpu.network_cycles > 0:
            order(crew, gpus, PORTS)
            return True
    if gpu.step == PORTS_TICKED:
        gpu.crosses_at = gpu.network.cycle if gpu.network_cycles > 0 else -1
        if len(gpus) > 1 and have_news(crew, len(gpus), FEW_LEFT):
            balance(requests, len(gpus))
        if not goes_on(gpu):
            gpu.step = MEMORY_TICKED
            order(crew, gpus, MEMORY)
            return True
        also = MEMORY
    elif gpu.step == MEMORY_TICKED:
        look_around(gpus, cores, networks, requests)
        gpu.step = BETWEEN
    if (gpu.outcome != SPENT or gpu.cycle >= gpu.until) and not keep_books(gpus, cores, ledger, parts, levels, until):
        return False
    begin_cycle(crew, gpus, cores)
    if len(gpus) > 1:
        count_cycle(crew.at_work, gpu.cycle, add_up(crew, len(gpus), UNITS))
    gpu.step = CORES_TICKED
    order(crew, gpus, CORES | also)
    return True


@compiled
def meet(crew, gpus, cores):
    """All cores have had the cycle: what they wrote is seen."""
    gpu = gpus[0]
    gather_flags(crew, gpus)
    for part in range(len(gpus)):
        if has_news(crew, part, DEFERRED):
            commit(gpus[part], gpu, cores)
    if gpu.dispatching:
        note_ends(gpu)


@compiled
def note_ends(gpu):
    """Kernels whose last CTA has ended."""
    for k in range(gpu.kernels):
        kernel = gpu.kernel[k]
        if kernel.end < 0 and kernel.finished_ctas == kernel.launch.n_ctas:
            kernel.end = kernel.last_cta_end
            gpu.finished_kernels += 1
            gpu.ended = max(gpu.ended, kernel.end)


@compiled
def goes_on(gpu):
    """Whether the next cycle comes for sure, whatever L2 and DRAM do in this one, and nobody looks at the chip in between."""
    if not gpu.busy or gpu.outcome != SPENT or gpu.cycle >= gpu.until or gpu.finished_kernels == gpu.kernels:
        return False
    return gpu.watch == 0 and gpu.shares_state == 0 and gpu.hooks.preemption_choose == 0


@compiled
def look_around(gpus, cores, networks, requests):
    """All of the chip has had the cycle: whether everything is done, and else whether nothing happens for a while."""
    gpu = gpus[0]
    if gpu.watch != 0:
        note_cycle(gpu, cores, requests)
    if gpu.outcome != SPENT:
        return
    is_done = gpu.finished_kernels == gpu.kernels and is_at_rest(gpus, requests)
    if is_done and not write_back_all(gpus, cores, requests) and is_finished(gpus):
        gpu.outcome = DONE
        return
    if gpu.jump and not gpu.busy:  # where cores are busy, looking for a jump would cost more than it saves
        cycle = min(next_event(gpus, networks) - 1, gpu.until)
        for thread in range(len(gpus)):
            jump(gpus[thread], cycle)


@compiled
def is_at_rest(gpus, requests):
    for thread in range(len(gpus)):
        if gpus[thread].ahead > gpus[0].cycle:
            return False
    return in_use(requests, len(gpus)) == 0


@compiled
def is_finished(gpus):
    """Whether a machine at rest has also waited, where it wrote to memory, until everybody sees that."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        gpu.wrote |= gpus[thread].wrote
    if gpu.wrote and gpu.finish_at == 0:
        gpu.finish_at = gpu.ended + gpu.finish_cycles
    return gpu.cycle >= gpu.finish_at


@compiled
def keep_books(gpus, cores, ledger, parts, levels, until):
    """An interval ends, or it is time to ask for the clocks. False if the run goes back to Python."""
    gpu = gpus[0]
    if gpu.cycle == next_end(ledger):
        close_accounts(cores, gpu.cycle)
        note(ledger, parts, gpu.cycle)
    if gpu.cycle == gpu.next_clocks:
        close_accounts(cores, gpu.cycle)
        ask_for_clocks(gpu, levels, parts)
        pass_on_clocks(gpus)
    if gpu.outcome != SPENT or gpu.cycle >= until or gpu.pause:
        return False
    for thread in range(len(gpus)):
        if gpus[thread].blocks.full:
            return False
    set_until(gpus, min(until, next_end(ledger), gpu.next_clocks))
    return True


@compiled
def begin_cycle(crew, gpus, cores):
    """The next cycle; CTAs may move in. The clock of the networks goes on with the cores'."""
    gpu = gpus[0]
    gpu.cycle += 1
    gpu.network.progress += gpu.network.khz
    gpu.network_cycles = gpu.network.progress // gpu.core_khz
    gpu.network.progress -= gpu.network_cycles * gpu.core_khz
    gpu.network.cycle += gpu.network_cycles
    gpu.placed = 0
    if gpu.dispatching or gpu.cycle >= gpu.launch_at:
        gather_changes_of_room(crew, gpus)
        dispatch(gpu, cores)
        gpu.places_ctas = gpu.dispatching


@compiled
def order(crew, gpus, todo):
    """Say what is to be ticked, and have the other threads do so where it is enough to be worth calling them."""
    give_orders(crew, gpus[0], todo)
    workers = min(crew.at_work.workers, len(gpus))
    if workers > 1 and is_worth_calling(crew, gpus, todo):
        crew.together[0] = workers if todo != PORTS else 2
        call_others(crew)


@compiled
def is_worth_calling(crew, gpus, todo):
    """Whether so many packets wait at the ports; or so many units had something to do the last time, or else have."""
    if todo == PORTS:
        return crew.least <= 2 * add_up(crew, len(gpus), PACKETS)
    return crew.least <= add_up(crew, len(gpus), UNITS) or crew.least <= count_due(gpus, todo)


@compiled
def count_due(gpus, todo):
    """Cores, slices and channels that have something to do."""
    found = np.int64(0)
    for part in range(len(gpus)):
        gpu = gpus[part]
        for first in range(gpu.first_core, gpu.end_core if todo & CORES else gpu.first_core, WORD_BITS):
            found += count_ones(those_due(gpu.wake, first, gpu.end_core, gpus[0].cycle))
        for first in range(gpu.first_slice, gpu.end_slice if todo & MEMORY else gpu.first_slice, WORD_BITS):
            found += count_ones(those_due(gpu.slice_wake, first, gpu.end_slice, gpu.l2.cycle + 1))
        for first in range(gpu.first_channel, gpu.end_channel if todo & MEMORY else gpu.first_channel, WORD_BITS):
            found += count_ones(those_due(gpu.channel_wake, first, gpu.end_channel, gpu.dram.cycle + 1))
    return found


@compiled
def tick_ports(gpus, cores, slices, networks, requests, thread, together):
    """Requests are the first thread's part, answers the second's, if it is at work."""
    if thread == 0:
        tick_requests(gpus, cores, slices, networks[TO_MEMORY], requests)
    if thread == min(1, together - 1):
        tick_answers(gpus, cores, slices, networks[TO_CORES], requests)


@compiled
def tick_parts(crew, gpus, cores, slices, channels, networks, requests, thread, together):
    """A thread's parts of the chip. L2 and DRAM may still have to have the cycle before the cores' one."""
    todo = crew.call[TODO]
    parts = range(len(gpus) * thread // together, len(gpus) * (thread + 1) // together)
    if todo & MEMORY:
        tick_memory_parts(crew, gpus, cores, slices, channels, networks, requests, parts, thread, together)
    if todo & CORES:
        if todo & MEMORY and together > 1:
            wait_for_neighbours(crew, gpus[0], together)
        for part in parts:
            take_orders(crew, gpus[part], 0)
            if crew.call[PLACED] != 0:
                let_in(gpus[part], gpus[0], cores)
            gpus[part].busy = tick_cores(gpus[part], cores, requests)
            if crew.call[OFFERS_AT] >= 0:
                offer_all(gpus, gpus[part], cores, slices, requests, crew.call[OFFERS_AT])
    for part in parts:
        bring_news(crew, gpus[part], requests, len(gpus))


@compiled
def tick_memory_parts(crew, gpus, cores, slices, channels, networks, requests, parts, thread, together):
    """What has come out of the networks is taken, by all threads, before flits move in them."""
    crosses_at, before = crew.call[CROSSES_AT], crew.call[TODO] & CORES != 0
    for part in parts:
        take_orders(crew, gpus[part], before)
        if crosses_at >= 0:
            take_over(gpus, gpus[part], cores, slices, networks, requests)
    if together > 1:
        come(crew, TAKEN_OVER)
        if thread < 2:
            wait_until_come(crew, TAKEN_OVER, together)
    if thread == 0:
        move_flits(networks[TO_MEMORY], crosses_at)
    if thread == min(1, together - 1):
        move_flits(networks[TO_CORES], crosses_at)
    for part in parts:
        tick_memory(gpus[part], slices, channels, requests)


@compiled
def wait_for_neighbours(crew, gpu, together):
    """Cores may get answers from another thread, which hands out all that some of them share; and where they look at what the L2
    has written (memory/store_combining.py), all of it has its cycle first."""
    if gpu.combining_cycles > 0:
        come(crew, MEMORY_DONE)
        wait_until_come(crew, MEMORY_DONE, together)
    elif gpu.coalescer.groups > 0:
        wait_until_come(crew, TAKEN_OVER, together)


@compiled
def tick_cores(gpu, cores, requests):
    """The cores with something to do; False if there are none."""
    busy = False
    for first in range(gpu.first_core, gpu.end_core, WORD_BITS):
        due = those_due(gpu.wake, first, gpu.end_core, gpu.cycle)
        while due != 0:
            busy = True
            gpu.units += 1
            core = cores[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_core(gpu, core, requests)
            if gpu.may_run_ahead:
                run_ahead(gpu, core, requests)
    return busy
