"""The ports of the networks: requests of cores and answers of slices enter, and are taken out where there is room for them.

Each host thread (threads.py) has the counters and alarms of its own cores and slices in its record of the chip. The two directions
touch nothing in common, so that two threads may tick them.
"""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.machine.bit_set import WORD_BITS, add, remove, those_due
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.limits import MAX_ANSWERS, MAX_DELIVERED
from simtlab.machine.memory.l2_arrival import arrive, wake_slice
from simtlab.machine.memory.l2_entry import is_crowded, is_out_of_room
from simtlab.machine.memory.store_combining import is_whole
from simtlab.machine.memory.tlb import NO_PAGES, is_translated
from simtlab.machine.network import network as net
from simtlab.machine.network.request_coalescer import hand_out, is_coalesced, join, note_sent
from simtlab.machine.network.sector_packet import following, gather, seal
from simtlab.machine.request import Kind
from simtlab.machine.threads import SENDS, first_reply, has_news

send, arrive_at_ports, receivers, receive, take, cross = net.send, net.arrive, net.receivers, net.receive, net.take, net.cross
READ, WRITE = int(Kind.READ), int(Kind.WRITE)
FAR_FUTURE = np.int64(1 << 62)
TO_MEMORY, TO_CORES = 0, 1


@compiled
def tick_requests(crew, gpus, cores, slices, network, requests):
    """Requests enter, and are taken out where there is room for them, in all cycles that the networks have in this one of the
    cores; what is left of the last one is their flits' way (`move_flits`)."""
    gpu = gpus[0]
    for cycle in range(gpu.network.cycle - gpu.network_cycles + 1, gpu.network.cycle + 1):
        for part in range(len(gpus)):
            if has_news(crew, part, SENDS):
                inject_all(gpus, gpus[part], cores, slices, network, requests, cycle)
        arrive_at_ports(network, cycle)
        deliver_to_slices(gpus, slices, network, requests)
        if cycle < gpu.network.cycle:
            cross(network, cycle)


@compiled
def tick_answers(crew, gpus, cores, slices, network, requests):
    """The same with answers. What may concern the other direction too is put off until both have had the cycle."""
    gpu = gpus[0]
    for cycle in range(gpu.network.cycle - gpu.network_cycles + 1, gpu.network.cycle + 1):
        for part in range(len(gpus)):
            if first_reply(crew, part) <= gpu.l2.cycle:
                reply_all(gpu, gpus[part], slices, network, requests, cycle)
        arrive_at_ports(network, cycle)
        deliver_to_cores(gpus, cores, network, requests)
        if cycle < gpu.network.cycle:
            cross(network, cycle)


@compiled
def move_flits(gpu, network):
    """In the last of these cycles."""
    if gpu.network_cycles > 0:
        cross(network, gpu.network.cycle)


@compiled
def wake_receivers(gpus, cores, slices, requests):
    """Both directions have had their cycles: cores get their answers, and those that share them too, in the order of the ports;
    slices whose answers have left have room."""
    gpu = gpus[0]
    for k in range(gpu.answer_count):
        request = requests.entry[gpu.answers[k]]
        push(cores[request.core].responses, gpu.answers[k])
        request.delivered = gpu.cycle - request.born
        its = gpus[cores[request.core].thread]
        its.wake[request.core] = min(its.wake[request.core], gpu.cycle + 1)
        if is_coalesced(gpu.coalescer, request):
            hand_out(gpus, cores, requests, gpu.answers[k])
    gpu.answer_count = 0
    for first in range(0, gpu.slices, WORD_BITS):
        left = gpu.relieved.words[first >> 6]
        gpu.relieved.words[first >> 6] = np.uint64(0)
        while left != 0:
            number = first + count_trailing_zeros(left)
            left = np.uint64(left & (left - np.uint64(1)))
            wake_slice(gpus[slices[number].thread], number, gpu.l2.cycle + 1)


@compiled
def inject_all(gpus, gpu, cores, slices, network, requests, cycle):
    """A thread's clusters of cores that have something to send."""
    for first in range(0, gpu.clusters, WORD_BITS):
        left = gpu.senders.words[first >> 6]
        while left != 0:
            inject(gpus[0], gpu, cores, slices, network, requests, first + count_trailing_zeros(left), cycle)
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def reply_all(chief, gpu, slices, network, requests, cycle):
    """A thread's slices that have an answer."""
    for first in range(gpu.first_slice, gpu.end_slice, WORD_BITS):
        due = those_due(gpu.reply_ready, first, gpu.end_slice, gpu.l2.cycle)
        while due != 0:
            reply(chief, gpu, slices[first + count_trailing_zeros(due)], network, requests, cycle)
            due = np.uint64(due & (due - np.uint64(1)))


@compiled
def deliver_to_slices(gpus, slices, network, requests):
    for first in range(0, len(slices), WORD_BITS):
        left = receivers(network, first)
        while left != 0:
            slice = slices[first + count_trailing_zeros(left)]
            deliver_to_slice(gpus[0], gpus[slice.thread], slice, network, requests)
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def deliver_to_cores(gpus, cores, network, requests):
    for first in range(0, gpus[0].clusters, WORD_BITS):
        left = receivers(network, first)
        while left != 0:
            deliver_to_core(gpus, cores, network, requests, first + count_trailing_zeros(left))
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def inject(chief, gpu, cores, slices, network, requests, cluster, cycle):
    """The cores of a cluster take turns at its network port."""
    coalescer = chief.coalescer
    if cycle < gpu.port_free[cluster]:
        return
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
        if chief.page_shift != NO_PAGES and not is_translated(chief, cores[c], request.address):
            continue
        shares = is_coalesced(coalescer, request)
        size = 1 if gpu.packet_sectors == 1 else gather(gpu, requests, cores[c].inject)
        if shares:
            seal(gpu, requests, number)
        mask = mask_of(gpu, requests, cores[c].inject)
        if size > 1 and request.kind == WRITE:
            request.flits = size * gpu.flits[request.bytes]
        joins = shares and join(coalescer, gpu, requests, number)
        if joins or send(network, requests, number, cluster, cycle):
            for _ in range(size):
                sent = pop(cores[c].inject)
                if not joins:
                    requests.entry[sent].sent = gpu.cycle - requests.entry[sent].born
            if request.kind == WRITE:
                gpu.port_free[cluster] = cycle + size + mask
            elif mask > 0:
                gpu.port_free[cluster] = cycle + 1 + mask
            if shares and not joins:
                note_sent(coalescer, gpu, slices, requests, number)
            have_left(gpu, cores[c], cluster, size)
            gpu.inject_turn[cluster] = c + 1 - first if c + 1 - first < gpu.cores_per_cluster else 0
        return


@compiled
def mask_of(gpu, requests, queue):
    """How long the first request of a core's queue keeps its port for a mask: what was combined may need none."""
    request = requests.entry[front(queue)]
    if gpu.mask_cycles == 0 or request.kind == READ or request.mask <= 0:
        return np.int64(0)
    if request.kind == WRITE and gpu.combining_cycles > 0 and is_whole(gpu, requests, queue):
        return np.int64(0)
    return np.int64(request.mask)


@compiled
def have_left(gpu, core, cluster, size):
    """Requests have left a core, which may wait for that."""
    gpu.injecting[core.number] -= size
    gpu.waiting[cluster] -= size
    if gpu.waiting[cluster] == 0:
        remove(gpu.senders, cluster)
    if core.wants_room:
        core.wants_room = core.quiet = 0
        core.refused = np.uint64(0)
        gpu.wake[core.number] = min(gpu.wake[core.number], gpu.cycle + 1)


@compiled
def reply(chief, gpu, slice, network, requests, cycle):
    """An answer whose data are there leaves the slice."""
    number = front(slice.output)
    size = 1
    if gpu.packet_sectors > 1 and requests.entry[number].kind == READ:
        size = gather(gpu, requests, slice.output)
        requests.entry[number].flits = gpu.flits[size * gpu.sector_bytes]
    if send(network, requests, number, slice.number, cycle):
        if is_out_of_room(gpu, slice):
            add(chief.relieved, slice.number)
        for _ in range(size):
            left = requests.entry[pop(slice.output)]
            left.answered = gpu.cycle - left.born
        waiting = front(slice.output)
        gpu.reply_ready[slice.number] = FAR_FUTURE if waiting == NOTHING else requests.entry[waiting].ready


@compiled
def deliver_to_slice(chief, gpu, slice, network, requests):
    if is_crowded(gpu, slice):
        chief.crowded = 1
        return
    number = receive(network, slice.number)
    take(network, requests, slice.number)
    while number != NOTHING:
        follower = following(requests, number)
        arrive(gpu, slice, requests, number)
        number = follower


@compiled
def deliver_to_core(gpus, cores, network, requests, cluster):
    gpu = gpus[0]
    number = receive(network, cluster)
    core = cores[requests.entry[number].core]
    if core.responses.count + gpu.packet_sectors > MAX_ANSWERS or gpu.answer_count + gpu.packet_sectors > MAX_DELIVERED:
        gpu.undelivered = 1
        return
    take(network, requests, cluster)
    while number != NOTHING:
        gpu.answers[gpu.answer_count] = number
        gpu.answer_count += 1
        number = following(requests, number)
