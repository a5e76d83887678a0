"""The clock: cores, network, L2 and DRAM, each at its own rate. Cycles in which nothing can happen are jumped over."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.execute.state import Outcome
from simtlab.machine.bit_set import WORD_BITS, is_empty, remove, those_due
from simtlab.machine.clock_levels import ask_for_clocks
from simtlab.machine.core import core as simt_core
from simtlab.machine.dispatch import dispatch
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.intervals import next_end, note
from simtlab.machine.limits import MAX_ANSWERS
from simtlab.machine.memory import dram, l2_arrival, l2_slice
from simtlab.machine.memory.l1_stores import write_back_all
from simtlab.machine.memory.l2_entry import is_crowded, is_out_of_room
from simtlab.machine.network import network as net
from simtlab.machine.network.request_coalescer import hand_out, is_coalesced, join, note_sent
from simtlab.machine.network.sector_packet import following, gather
from simtlab.machine.request import Kind, end
from simtlab.machine.run_ahead import run_ahead
from simtlab.machine.watch_log import note_cycle

tick_core, close_accounts = simt_core.tick, simt_core.close_accounts
send, receivers, receive, take = net.send, net.receivers, net.receive, net.take
move_packets, next_in_network = net.tick, net.next_event
tick_slice, arrive, wake_slice = l2_slice.tick, l2_arrival.arrive, l2_arrival.wake_slice
tick_dram, finished, next_in_dram = dram.tick, dram.finished, dram.next_event
READ, WRITE_BACK = int(Kind.READ), int(Kind.WRITE_BACK)
SPENT, DONE = int(Outcome.SPENT), int(Outcome.DONE)
FAR_FUTURE = np.int64(1 << 62)
TO_MEMORY, TO_CORES = 0, 1


@compiled
def run(gpus, cores, slices, channels, networks, pools, ledgers, parts, levels, until):
    """Run until all kernels are done, a cycle is reached, or something needs the host, and keep the ledger of intervals. From
    Python it takes arrays only, also where there is one record: they are handed over in far less time."""
    gpu, ledger = gpus[0], ledgers[0]
    while True:
        gpu.until = min(until, next_end(ledger), gpu.next_clocks)
        outcome = run_stretch(gpu, cores, slices, channels, networks, pools[0])
        if gpu.cycle == next_end(ledger):
            close_accounts(cores, gpu.cycle)
            note(ledger, parts, gpu.cycle)
        if gpu.cycle == gpu.next_clocks:
            close_accounts(cores, gpu.cycle)
            ask_for_clocks(gpu, levels[0], parts)
        if outcome != SPENT or gpu.cycle >= until or gpu.blocks.full or gpu.pause:
            return outcome


@compiled
def run_stretch(gpu, cores, slices, channels, networks, requests):
    """Run until all kernels are done, `gpu.until` is reached, or something needs the host."""
    while gpu.cycle < gpu.until:
        gpu.cycle += 1
        if gpu.dispatching or gpu.cycle >= gpu.launch_at:
            dispatch(gpu, cores)
        busy = tick_cores(gpu, cores, requests)
        tick_memory(gpu, cores, slices, channels, networks, requests)
        if gpu.watch != 0:
            note_cycle(gpu, cores, requests)
        if gpu.outcome != SPENT:
            return gpu.outcome
        at_rest = gpu.finished_kernels == gpu.kernels and requests.used == 0 and gpu.ahead <= gpu.cycle
        if at_rest and not write_back_all(gpu, cores, requests) and is_finished(gpu):
            return DONE
        if gpu.jump and not busy:  # where cores are busy, looking for a jump would cost more than it saves
            jump(gpu, min(next_event(gpu, networks) - 1, gpu.until))
    return SPENT


@compiled
def is_finished(gpu):
    """Whether a machine at rest has also waited, where it wrote to memory, until everybody sees that."""
    if gpu.wrote and gpu.finish_at == 0:
        gpu.finish_at = gpu.ended + gpu.finish_cycles
    return gpu.cycle >= gpu.finish_at


@compiled
def tick_cores(gpu, cores, requests):
    """The cores with something to do; False if there are none."""
    busy = False
    for first in range(0, gpu.cores, WORD_BITS):
        due = those_due(gpu.wake, first, gpu.cores, gpu.cycle)
        while due != 0:
            busy = True
            core = cores[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_core(gpu, core, requests)
            if gpu.may_run_ahead:
                run_ahead(gpu, core, requests)
    return busy


@compiled
def jump(gpu, cycle):
    """Go on to a cycle before which nothing happens, in any clock domain."""
    if cycle > gpu.cycle:
        gpu.cycle = cycle
        set_clock(gpu.network, cycle - gpu.clocks_from, gpu.core_khz)
        set_clock(gpu.l2, cycle - gpu.clocks_from, gpu.core_khz)
        set_clock(gpu.dram, cycle - gpu.clocks_from, gpu.core_khz)


@compiled
def set_clock(clock, core_cycles, core_khz):
    """Where another clock stands so many core cycles after they changed."""
    gone = clock.from_progress + core_cycles * clock.khz
    clock.cycle = clock.from_cycle + gone // core_khz
    clock.progress = gone % core_khz


@compiled
def tick_memory(gpu, cores, slices, channels, networks, requests):
    """The other clock domains catch up with the core clock."""
    gpu.network.progress += gpu.network.khz
    while gpu.network.progress >= gpu.core_khz:
        advance(gpu.network, gpu.core_khz)
        tick_network(gpu, cores, slices, networks, requests)
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
def tick_network(gpu, cores, slices, networks, requests):
    """Both directions: packets enter, move, and are taken out where there is room for them."""
    for first in range(0, gpu.clusters, WORD_BITS):
        left = gpu.senders.words[first >> 6]
        while left != 0:
            inject(gpu, cores, networks[TO_MEMORY], requests, first + count_trailing_zeros(left))
            left = np.uint64(left & (left - np.uint64(1)))
    for first in range(0, gpu.slices, WORD_BITS):
        due = those_due(gpu.reply_ready, first, gpu.slices, gpu.l2.cycle)
        while due != 0:
            reply(gpu, slices[first + count_trailing_zeros(due)], networks[TO_CORES], requests)
            due = np.uint64(due & (due - np.uint64(1)))
    gpu.undelivered = 0
    move_packets(networks[TO_MEMORY], gpu.network.cycle)
    deliver_to_slices(gpu, slices, networks[TO_MEMORY], requests)
    move_packets(networks[TO_CORES], gpu.network.cycle)
    deliver_to_cores(gpu, cores, networks[TO_CORES], requests)


@compiled
def deliver_to_slices(gpu, slices, network, requests):
    for first in range(0, gpu.slices, WORD_BITS):
        left = receivers(network, first)
        while left != 0:
            deliver_to_slice(gpu, slices[first + count_trailing_zeros(left)], network, requests)
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def deliver_to_cores(gpu, cores, network, requests):
    for first in range(0, gpu.clusters, WORD_BITS):
        left = receivers(network, first)
        while left != 0:
            deliver_to_core(gpu, cores, network, requests, first + count_trailing_zeros(left))
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def inject(gpu, cores, network, requests, cluster):
    """The cores of a cluster take turns at its network port."""
    first = cluster * gpu.cores_per_cluster
    turn = gpu.inject_turn[cluster]
    for k in range(turn, turn + gpu.cores_per_cluster):
        c = first + (k if k < gpu.cores_per_cluster else k - gpu.cores_per_cluster)
        if gpu.injecting[c] == 0:
            continue
        number = front(cores[c].inject)
        if requests.entry[number].born > gpu.cycle:
            continue  # of a core that has run ahead
        request = requests.entry[number]
        shares = is_coalesced(gpu.coalescer, request)
        joins = shares and join(gpu.coalescer, requests, number)
        size = 1 if joins or gpu.packet_sectors == 1 else gather(gpu, requests, cores[c].inject)
        if joins or send(network, requests, number, cluster, gpu.network.cycle):
            for _ in range(size):
                sent = pop(cores[c].inject)
                if not joins:
                    requests.entry[sent].sent = gpu.cycle
                if shares and not joins:
                    note_sent(gpu.coalescer, requests.entry[sent])
            gpu.injecting[c] -= size
            gpu.waiting[cluster] -= size
            if gpu.waiting[cluster] == 0:
                remove(gpu.senders, cluster)
            gpu.inject_turn[cluster] = c + 1 - first if c + 1 - first < gpu.cores_per_cluster else 0
            if cores[c].wants_room:
                cores[c].wants_room = cores[c].quiet = 0
                cores[c].refused = np.uint64(0)
                gpu.wake[c] = min(gpu.wake[c], gpu.cycle + 1)
        return


@compiled
def reply(gpu, slice, network, requests):
    """An answer whose data are there leaves the slice."""
    number = front(slice.output)
    size = 1
    if gpu.packet_sectors > 1 and requests.entry[number].kind == READ:
        size = gather(gpu, requests, slice.output)
        requests.entry[number].flits = gpu.flits[size * gpu.sector_bytes]
    if send(network, requests, number, slice.number, gpu.network.cycle):
        if is_out_of_room(gpu, slice):
            wake_slice(gpu, slice.number, gpu.l2.cycle + 1)
        for _ in range(size):
            requests.entry[pop(slice.output)].answered = gpu.cycle
        waiting = front(slice.output)
        gpu.reply_ready[slice.number] = FAR_FUTURE if waiting == NOTHING else requests.entry[waiting].ready


@compiled
def deliver_to_slice(gpu, slice, network, requests):
    if is_crowded(gpu, slice):
        gpu.undelivered = 1
        return
    number = receive(network, slice.number)
    take(network, requests, slice.number)
    while number != NOTHING:
        follower = following(requests, number)
        arrive(gpu, slice, requests, number)
        number = follower


@compiled
def deliver_to_core(gpu, cores, network, requests, cluster):
    number = receive(network, cluster)
    c = requests.entry[number].core
    if cores[c].responses.count + gpu.packet_sectors <= MAX_ANSWERS:
        take(network, requests, cluster)
        while number != NOTHING:
            hand_over(gpu, cores, requests, number)
            number = following(requests, number)
        gpu.wake[c] = min(gpu.wake[c], gpu.cycle + 1)
    else:
        gpu.undelivered = 1


@compiled
def hand_over(gpu, cores, requests, number):
    """An answer is at its core, and at those that share it."""
    request = requests.entry[number]
    push(cores[request.core].responses, number)
    request.delivered = gpu.cycle
    if is_coalesced(gpu.coalescer, request):
        hand_out(gpu, cores, requests, request)


@compiled
def tick_slices(gpu, slices, channels, requests):
    for first in range(0, gpu.slices, WORD_BITS):
        due = those_due(gpu.slice_wake, first, gpu.slices, gpu.l2.cycle)
        while due != 0:
            slice = slices[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_slice(gpu, slice, channels[slice.channel], requests)


@compiled
def tick_channels(gpu, slices, channels, requests):
    """DRAM channels with something to do; finished reads go back to their slices, finished writes are over."""
    for first in range(0, gpu.channels, WORD_BITS):
        due = those_due(gpu.channel_wake, first, gpu.channels, gpu.dram.cycle)
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
            end(requests, number)
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


@compiled
def next_event(gpu, networks):
    """The next core cycle at which any part of the chip can do something."""
    soonest = FAR_FUTURE
    if gpu.dispatching or gpu.undelivered:
        return gpu.cycle + 1
    if not is_empty(gpu.senders):
        return gpu.cycle + 1
    for c in range(gpu.cores):
        soonest = min(soonest, gpu.wake[c])
    soonest = min(soonest, gpu.launch_at)
    if gpu.finish_at > gpu.cycle:
        soonest = min(soonest, gpu.finish_at)
    if gpu.ahead > gpu.cycle:
        soonest = min(soonest, gpu.ahead)
    if soonest <= gpu.cycle + 1:
        return gpu.cycle + 1
    in_l2, in_dram = FAR_FUTURE, FAR_FUTURE
    for s in range(gpu.slices):
        in_l2 = min(in_l2, gpu.slice_wake[s], gpu.reply_ready[s])
    if in_l2 <= gpu.l2.cycle:
        return gpu.cycle + 1
    if in_l2 < FAR_FUTURE:
        soonest = min(soonest, core_cycle_of(gpu, in_l2, gpu.l2))
    for direction in range(2):
        event = next_in_network(networks[direction], gpu.network.cycle + 1)
        if event < FAR_FUTURE:
            soonest = min(soonest, core_cycle_of(gpu, event, gpu.network))
    for k in range(gpu.channels):
        in_dram = min(in_dram, gpu.channel_wake[k])
    if in_dram < FAR_FUTURE:
        soonest = min(soonest, core_cycle_of(gpu, max(in_dram, gpu.dram.cycle + 1), gpu.dram))
    return max(soonest, gpu.cycle + 1)


@compiled
def core_cycle_of(gpu, event, clock):
    """The first core cycle by which another clock has made that many cycles."""
    left = (event - clock.from_cycle) * gpu.core_khz - clock.from_progress
    return gpu.clocks_from + (left + clock.khz - 1) // clock.khz
