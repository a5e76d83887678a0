"""The clock: cores, network, L2 and DRAM, each at its own rate. Cycles in which nothing can happen are jumped over.

The chip is in parts, one for each host thread (threads.py): a part's cores are ticked, and its slices and channels. In a cycle the
cores come first, then the networks, then L2 and DRAM. Where nobody has to look at the chip in between, L2 and DRAM have their
cycle together with the cores' next one, so that the threads meet twice a cycle and not three times.
"""

import numpy as np

from simtlab.compiled import compiled, count_ones, count_trailing_zeros
from simtlab.execute.state import Outcome
from simtlab.machine.bit_set import WORD_BITS, those_due
from simtlab.machine.clock_levels import ask_for_clocks
from simtlab.machine.core import core as simt_core
from simtlab.machine.core.deferred_writes import commit
from simtlab.machine.dispatch import dispatch
from simtlab.machine.fifo import NOTHING, push
from simtlab.machine.intervals import next_end, note
from simtlab.machine.jump import jump, next_event
from simtlab.machine.memory import dram, l2_arrival, l2_slice
from simtlab.machine.memory.l1_stores import write_back_all
from simtlab.machine.network.ports import tick_to_cores, tick_to_memory, wake_receivers
from simtlab.machine.request import Kind, balance, end, in_use
from simtlab.machine.run_ahead import run_ahead
from simtlab.machine.thread_count import count_cycle
from simtlab.machine.threads import (
    CALLED,
    call_others,
    dismiss,
    gather,
    gather_changes_of_room,
    gather_flags,
    pass_on_clocks,
    pass_on_wakes,
    report,
    set_until,
    wait_for_call,
    wait_for_others,
)
from simtlab.machine.watch_log import note_cycle

tick_core, close_accounts = simt_core.tick, simt_core.close_accounts
tick_slice, wake_slice = l2_slice.tick, l2_arrival.wake_slice
tick_dram, finished, next_in_dram = dram.tick, dram.finished, dram.next_event
WRITE_BACK = int(Kind.WRITE_BACK)
SPENT, DONE = int(Outcome.SPENT), int(Outcome.DONE)
MEMORY, CORES, NETWORKS = 1, 2, 4  # what is to be ticked of each part
BETWEEN, CORES_TICKED, NETWORKS_TICKED, MEMORY_TICKED = 0, 1, 2, 3  # how far the cycle is
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
        for t in range(*parts_of(gpus, thread, together)):
            tick_part(gpus, gpus[t], cores, slices, channels, networks, requests)
        if thread != 0:
            report(crew, thread, called)


@compiled
def parts_of(gpus, thread, together):
    """The parts that a thread ticks where so many do: the first of them, and the first that is another's."""
    if gpus[0].todo == NETWORKS and together > 1:
        return thread, thread + 1
    return len(gpus) * thread // together, len(gpus) * (thread + 1) // together


@compiled
def lead(crew, gpus, cores, slices, networks, requests, ledger, parts, levels, until):
    """What concerns the whole chip, between two ticks of its parts. False if the run ends."""
    gpu = gpus[0]
    if crew.together[0]:
        wait_for_others(crew)
        crew.together[0] = 0
    also = 0
    if gpu.step == CORES_TICKED:
        meet(gpus, cores)
        gpu.step = NETWORKS_TICKED
        order(crew, gpus, NETWORKS)
        return True
    if gpu.step == NETWORKS_TICKED:
        wake_receivers(gpus, cores, slices, requests)
        if len(gpus) > 1:
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
    begin_cycle(gpus, cores)
    if len(gpus) > 1:
        count_cycle(crew.at_work)
    gpu.step = CORES_TICKED
    order(crew, gpus, CORES | also)
    return True


@compiled
def meet(gpus, cores):
    """All cores have had the cycle: what they wrote is seen, and the networks' clock goes on."""
    gpu = gpus[0]
    gather_flags(gpus)
    for thread in range(len(gpus)):
        commit(gpus[thread], gpu, cores)
    if gpu.dispatching:
        note_ends(gpu)
    gpu.network.progress += gpu.network.khz
    gpu.network_cycles = gpu.network.progress // gpu.core_khz
    gpu.network.progress -= gpu.network_cycles * gpu.core_khz
    gpu.network.cycle += gpu.network_cycles
    gpu.undelivered = 0
    for thread in range(len(gpus)):
        gpus[thread].crowded = 0


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
def begin_cycle(gpus, cores):
    """The next cycle; CTAs may move in."""
    gpu = gpus[0]
    for thread in range(len(gpus)):
        gpus[thread].cycle += 1
    if gpu.dispatching or gpu.cycle >= gpu.launch_at:
        gather_changes_of_room(gpus)
        dispatch(gpu, cores)
        pass_on_wakes(gpus)


@compiled
def order(crew, gpus, todo):
    """Say what is to be ticked of each part, and have the other threads do so where it is enough to be worth calling them."""
    for thread in range(len(gpus)):
        gpus[thread].todo = todo
    workers = min(crew.at_work.workers, len(gpus))
    if workers > 1 and crew.least <= count_due(gpus, todo):
        crew.together[0] = workers if todo != NETWORKS else 2
        call_others(crew)


@compiled
def count_due(gpus, todo):
    """Cores, slices and channels that have something to do, or to send."""
    found = np.int64(0)
    for thread in range(len(gpus)):
        gpu = gpus[thread]
        for first in range(gpu.first_core, gpu.end_core if todo & CORES else gpu.first_core, WORD_BITS):
            found += count_ones(those_due(gpu.wake, first, gpu.end_core, gpu.cycle))
        for first in range(gpu.first_slice, gpu.end_slice if todo & MEMORY else gpu.first_slice, WORD_BITS):
            found += count_ones(those_due(gpu.slice_wake, first, gpu.end_slice, gpu.l2.cycle + 1))
        for first in range(gpu.first_channel, gpu.end_channel if todo & MEMORY else gpu.first_channel, WORD_BITS):
            found += count_ones(those_due(gpu.channel_wake, first, gpu.end_channel, gpu.dram.cycle + 1))
        for first in range(gpu.first_slice, gpu.end_slice if todo & NETWORKS else gpu.first_slice, WORD_BITS):
            found += 2 * count_ones(those_due(gpu.reply_ready, first, gpu.end_slice, gpu.l2.cycle))
    return found


@compiled
def tick_part(gpus, gpu, cores, slices, channels, networks, requests):
    """A thread's part of the chip. L2 and DRAM may still have to have the cycle before the cores' one."""
    if gpu.todo & NETWORKS:
        tick_networks(gpus, gpu.thread, cores, slices, networks, requests)
    if gpu.todo & MEMORY:
        gpu.cycle -= gpu.todo & CORES != 0
        tick_memory(gpu, slices, channels, requests)
        gpu.cycle += gpu.todo & CORES != 0
    if gpu.todo & CORES:
        gpu.busy = tick_cores(gpu, cores, requests)


@compiled
def tick_networks(gpus, thread, cores, slices, networks, requests):
    """Requests are the first thread's part, answers the second's, if there is one."""
    gpu = gpus[0]
    first = gpu.network.cycle - gpu.network_cycles + 1
    for cycle in range(first, gpu.network.cycle + 1):
        if thread == 0:
            tick_to_memory(gpus, cores, slices, networks[TO_MEMORY], requests, cycle)
    for cycle in range(first, gpu.network.cycle + 1):
        if thread == min(1, len(gpus) - 1):
            tick_to_cores(gpus, cores, slices, networks[TO_CORES], requests, cycle)


@compiled
def tick_cores(gpu, cores, requests):
    """The cores with something to do; False if there are none."""
    busy = False
    for first in range(gpu.first_core, gpu.end_core, WORD_BITS):
        due = those_due(gpu.wake, first, gpu.end_core, gpu.cycle)
        while due != 0:
            busy = True
            core = cores[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_core(gpu, core, requests)
            if gpu.may_run_ahead:
                run_ahead(gpu, core, requests)
    return busy


@compiled
def tick_memory(gpu, slices, channels, requests):
    """L2 and DRAM catch up with the core clock."""
    gpu.l2.progress += gpu.l2.khz
    while gpu.l2.progress >= gpu.core_khz:
        advance(gpu.l2, gpu.core_khz)
        tick_slices(gpu, slices, channels, requests)
    gpu.dram.progress += gpu.dram.khz
    while gpu.dram.progress >= gpu.core_khz:
        advance(gpu.dram, gpu.core_khz)
        tick_channels(gpu, slices, channels, requests)


@compiled
def advance(clock, core_khz):
    clock.progress -= core_khz
    clock.cycle += 1


@compiled
def tick_slices(gpu, slices, channels, requests):
    for first in range(gpu.first_slice, gpu.end_slice, WORD_BITS):
        due = those_due(gpu.slice_wake, first, gpu.end_slice, gpu.l2.cycle)
        while due != 0:
            slice = slices[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_slice(gpu, slice, channels[slice.channel], requests)


@compiled
def tick_channels(gpu, slices, channels, requests):
    """DRAM channels with something to do; finished reads go back to their slices, finished writes are over."""
    for first in range(gpu.first_channel, gpu.end_channel, WORD_BITS):
        due = those_due(gpu.channel_wake, first, gpu.end_channel, gpu.dram.cycle)
        while due != 0:
            number = first + count_trailing_zeros(due)
            due = np.uint64(due & (due - np.uint64(1)))
            tick_channel(gpu, slices, channels[number], requests)
            gpu.channel_wake[number] = next_in_dram(channels[number], gpu.dram.cycle + 1)


@compiled
def tick_channel(gpu, slices, channel, requests):
    queued = channel.queued
    tick_dram(channel, requests, gpu.dram.cycle)
    if channel.queued < queued:
        wake_refused(gpu, slices, channel)
    number = finished(channel, requests, gpu.dram.cycle)
    while number != NOTHING:
        if requests.entry[number].kind == WRITE_BACK:
            end(requests, gpu.thread, number)
        else:
            s = requests.entry[number].slice
            push(slices[s].fills, number)
            wake_slice(gpu, s, gpu.l2.cycle + 1)
        number = finished(channel, requests, gpu.dram.cycle)


@compiled
def wake_refused(gpu, slices, channel):
    """A memory controller has room again: as many of its slices as there are places, of those that wait for one, may try."""
    places = channel.queue_entries - channel.queued
    s = channel.first_slice
    while places > 0 and s < channel.first_slice + channel.slices:
        if slices[s].refused:
            wake_slice(gpu, s, gpu.l2.cycle + 1)
            places -= 1
        s += 1
