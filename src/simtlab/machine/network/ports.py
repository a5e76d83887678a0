"""The ports of the networks: requests of cores and answers of slices enter, and are taken out where there is room for them.

Whoever has a port prepares the packet that is to enter (`offer_…`); the network takes it, or it does not (`enter_…`), and whoever
has the port is told (`finish_…`). So the threads of the host (threads.py) offer, finish and take out what has come for their own
cores and slices, side by side, and what concerns a network as a whole is one thread's, another one's for the other direction.
"""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros, prefetch
from simtlab.machine.bit_set import WORD_BITS, add, remove, those_due
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.limits import MAX_ANSWERS, MAX_DELIVERED
from simtlab.machine.memory.l2_arrival import arrive, wake_slice
from simtlab.machine.memory.l2_entry import is_crowded, is_out_of_room
from simtlab.machine.memory.store_combining import is_whole
from simtlab.machine.memory.tlb import NO_PAGES, has_entry, is_translated
from simtlab.machine.network import network as net
from simtlab.machine.network.request_coalescer import hand_out, is_coalesced, join, note_sent, place_of_request
from simtlab.machine.network.sector_packet import following, gather, seal
from simtlab.machine.request import Kind

send, arrive_at_ports, receivers, receive, take, cross = net.send, net.arrive, net.receivers, net.receive, net.take, net.cross
READ, WRITE = int(Kind.READ), int(Kind.WRITE)
FAR_FUTURE = np.int64(1 << 62)
STAYS, LEAVES, SHARES = 0, 1, 2  # what becomes of a packet: no room; it is on its way; it waits for the answer to another's
TO_MEMORY, TO_CORES = 0, 1
NO_CORE, ASKS = -1, -2  # of a cluster: none has a packet that may leave; one asks the TLB of all, which is the first thread's


@compiled
def tick_requests(gpus, cores, slices, network, requests):
    """Requests enter, and come to where they leave, in all cycles that the network has in this one of the cores. Of the last one
    the rest, from taking them out on, is `take_over` and `move_flits`; the first began with the cores (`offer_all`)."""
    gpu = gpus[0]
    first, last = gpu.network.cycle - gpu.network_cycles + 1, gpu.network.cycle
    for cycle in range(first, last + 1):
        if cycle > first:
            for part in range(len(gpus)):
                offer_requests(gpus, gpus[part], cores, requests, cycle)
        enter_requests(gpus, cores, slices, network, requests, cycle)
        arrive_at_ports(network, cycle)
        if cycle < last:
            for part in range(len(gpus)):
                finish_requests(gpus[part], cores, requests)
                deliver_to_slices(gpus[part], slices, network, requests)
            cross(network, cycle)


@compiled
def tick_answers(gpus, cores, slices, network, requests):
    """The same with answers. What may concern the other direction too is put off until both have had the cycle."""
    gpu = gpus[0]
    first, last = gpu.network.cycle - gpu.network_cycles + 1, gpu.network.cycle
    for cycle in range(first, last + 1):
        if cycle > first:
            for part in range(len(gpus)):
                offer_answers(gpus[part], slices, requests)
        enter_answers(gpus, network, requests, cycle)
        arrive_at_ports(network, cycle)
        if cycle < last:
            for part in range(len(gpus)):
                finish_answers(gpus[part], slices, requests)
                deliver_to_cores(gpus[part], cores, network, requests)
            cross(network, cycle)


@compiled
def offer_all(gpus, gpu, cores, slices, requests, cycle):
    """A thread's cores have had the cycle: what they, and its slices, want to send in a cycle of the networks."""
    offer_requests(gpus, gpu, cores, requests, cycle)
    offer_answers(gpu, slices, requests)


@compiled
def take_over(gpus, gpu, cores, slices, networks, requests):
    """What has become of a thread's offers, and what has come to its slices and, by the ports that it has, to cores."""
    gpu.crowded = gpu.undelivered = 0
    finish_requests(gpu, cores, requests)
    finish_answers(gpu, slices, requests)
    wake_relieved(gpu)
    deliver_to_slices(gpu, slices, networks[TO_MEMORY], requests)
    deliver_to_cores(gpu, cores, networks[TO_CORES], requests)
    for k in range(gpu.answer_count):
        answer(gpus, gpu, cores, requests, np.int64(gpu.answers[k]))
    gpu.answer_count = 0


@compiled
def answer(gpus, gpu, cores, requests, number):
    """A core gets its answer, and those that share it get it too, in the order of the ports."""
    request = requests.entry[number]
    core = cores[request.core]
    push(core.responses, number)
    request.delivered = gpu.cycle - request.born
    its = gpus[core.thread]
    its.wake[request.core] = min(its.wake[request.core], gpu.cycle + 1)
    if is_coalesced(gpus[0].coalescer, request):
        hand_out(gpus, gpu, cores, requests, number)


@compiled
def move_flits(network, cycle):
    """The last cycle of the network in one of the cores."""
    if cycle >= 0:
        cross(network, cycle)


# Requests -------------------------------------------------------------------------------------------------------------


@compiled
def offer_requests(gpus, gpu, cores, requests, cycle):
    """A thread's clusters of cores that have something to send."""
    gpu.offered_requests, gpu.offered_at = 0, cycle
    for first in range(0, gpu.clusters, WORD_BITS):
        left = gpu.senders.words[first >> 6]
        while left != 0:
            cluster = first + count_trailing_zeros(left)
            left = np.uint64(left & (left - np.uint64(1)))
            if cycle >= gpu.port_free[cluster]:
                offer_request(gpus, gpu, cores, requests, cluster)


@compiled
def offer_request(gpus, gpu, cores, requests, cluster):
    c = whose_turn(gpus, gpu, cores, requests, cluster, len(gpus) == 1)
    if c != NO_CORE:
        offer = gpu.request_offer[gpu.offered_requests]
        gpu.offered_requests += 1
        offer.port, offer.core, offer.result = cluster, c, STAYS
        if c != ASKS:
            make_packet(gpus, gpu, cores, requests, offer)


@compiled
def whose_turn(gpus, gpu, cores, requests, cluster, asks_all):
    """The cores of a cluster take turns at its network port: the first that has a request whose address is translated. Only who
    has the TLB of all may ask that."""
    first, turn = cluster * gpu.cores_per_cluster, gpu.inject_turn[cluster]
    for k in range(turn, turn + gpu.cores_per_cluster):
        c = first + (k if k < gpu.cores_per_cluster else k - gpu.cores_per_cluster)
        if gpu.injecting[c] == 0:
            continue
        request = requests.entry[front(cores[c].inject)]
        if request.born > gpu.cycle:
            continue  # of a core that has run ahead
        if gpu.page_shift != NO_PAGES:
            if not asks_all and not has_entry(gpu, cores[c], request.address):
                return np.int64(ASKS)
            if not is_translated(gpus[0], gpu, cores[c], request.address):
                continue
        return np.int64(c)
    return np.int64(NO_CORE)


@compiled
def make_packet(gpus, gpu, cores, requests, offer):
    """What leaves a core together, and how long it keeps the port."""
    queue, coalescer = cores[offer.core].inject, gpus[0].coalescer
    number = front(queue)
    request = requests.entry[number]
    size = np.int64(1) if gpu.packet_sectors == 1 else gather(gpu, requests, queue)
    offer.shares = is_coalesced(coalescer, request)
    if offer.shares:
        seal(gpu, requests, number)
        offer.place = place_of_request(gpu, request)
    mask = mask_of(gpu, requests, queue)
    if size > 1 and request.kind == WRITE:
        request.flits = size * gpu.flits[request.bytes]
    offer.number, offer.size, offer.busy = number, size, 0
    if request.kind == WRITE:
        offer.busy = size + mask
    elif mask > 0:
        offer.busy = 1 + mask


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
def enter_requests(gpus, cores, slices, network, requests, cycle):
    """Requests enter their network in the order of the ports, or wait for the answer to another's."""
    chief = gpus[0]
    if len(gpus) > 1:
        look_through_offers(gpus, cores, requests)
    for part in range(len(gpus)):
        gpu = gpus[part]
        for k in range(gpu.offered_requests):
            offer = gpu.request_offer[k]
            if offer.core == NO_CORE:
                continue
            number = np.int64(offer.number)
            if offer.shares and join(chief.coalescer, gpu, cores, requests, number):
                offer.result = SHARES
            elif send(network, requests, number, np.int64(offer.port), cycle):
                offer.result = LEAVES
                if offer.shares:
                    note_sent(chief.coalescer, gpu, slices, requests, number)


@compiled
def look_through_offers(gpus, cores, requests):
    """Offers of other threads: those that ask the TLB of all are made, and what the rest is about comes into the host's cache."""
    for part in range(len(gpus)):
        gpu = gpus[part]
        for k in range(gpu.offered_requests):
            offer = gpu.request_offer[k]
            if offer.core == ASKS:
                offer.core = whose_turn(gpus, gpu, cores, requests, np.int64(offer.port), True)
                if offer.core != NO_CORE:
                    make_packet(gpus, gpu, cores, requests, offer)
            if offer.core != NO_CORE:
                fetch_soon(gpus[0].coalescer, requests, offer)


@compiled
def fetch_soon(coalescer, requests, offer):
    """The host has a packet's request, and what may be under way of its line, in its cache when their turn comes."""
    prefetch(requests.entry, offer.number)
    if offer.shares:
        prefetch(coalescer.lines, offer.place)


@compiled
def finish_requests(gpu, cores, requests):
    """Requests that have left their cores, which may wait for that."""
    for k in range(gpu.offered_requests):
        offer = gpu.request_offer[k]
        if offer.result == STAYS:
            continue
        core, cluster = cores[offer.core], np.int64(offer.port)
        for _ in range(offer.size):
            sent = pop(core.inject)
            if offer.result == LEAVES:
                requests.entry[sent].sent = gpu.cycle - requests.entry[sent].born
        if offer.busy > 0:
            gpu.port_free[cluster] = gpu.offered_at + offer.busy
        have_left(gpu, core, cluster, np.int64(offer.size))
        turn = offer.core + 1 - cluster * gpu.cores_per_cluster
        gpu.inject_turn[cluster] = turn if turn < gpu.cores_per_cluster else 0
    gpu.offered_requests = 0


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
def deliver_to_slices(gpu, slices, network, requests):
    """Requests that have come to a thread's slices."""
    for first in range(gpu.first_slice, gpu.end_slice, WORD_BITS):
        left = receivers(network, first, gpu.end_slice)
        while left != 0:
            deliver_to_slice(gpu, slices[first + count_trailing_zeros(left)], network, requests)
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def deliver_to_slice(gpu, slice, network, requests):
    if is_crowded(gpu, slice):
        gpu.crowded = 1
        return
    number = receive(network, slice.number)
    take(network, requests, slice.number)
    while number != NOTHING:
        follower = following(requests, number)
        arrive(gpu, slice, requests, number)
        number = follower


# Answers --------------------------------------------------------------------------------------------------------------


@compiled
def offer_answers(gpu, slices, requests):
    """A thread's slices that have an answer whose data are there."""
    gpu.offered_answers = 0
    for first in range(gpu.first_slice, gpu.end_slice, WORD_BITS):
        due = those_due(gpu.reply_ready, first, gpu.end_slice, gpu.l2.cycle)
        while due != 0:
            slice = slices[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            offer = gpu.answer_offer[gpu.offered_answers]
            gpu.offered_answers += 1
            number, size = front(slice.output), np.int64(1)
            if gpu.packet_sectors > 1 and requests.entry[number].kind == READ:
                size = gather(gpu, requests, slice.output)
                requests.entry[number].flits = gpu.flits[size * gpu.sector_bytes]
            offer.number, offer.port, offer.size, offer.result = number, slice.number, size, STAYS


@compiled
def enter_answers(gpus, network, requests, cycle):
    """Answers enter their network."""
    for part in range(len(gpus) if len(gpus) > 1 else 0):
        for k in range(gpus[part].offered_answers):
            prefetch(requests.entry, gpus[part].answer_offer[k].number)
    for part in range(len(gpus)):
        for k in range(gpus[part].offered_answers):
            offer = gpus[part].answer_offer[k]
            if send(network, requests, np.int64(offer.number), np.int64(offer.port), cycle):
                offer.result = LEAVES


@compiled
def finish_answers(gpu, slices, requests):
    """Answers that have left their slices, which have room now."""
    for k in range(gpu.offered_answers):
        offer = gpu.answer_offer[k]
        if offer.result == STAYS:
            continue
        slice = slices[offer.port]
        if is_out_of_room(gpu, slice):
            add(gpu.relieved, slice.number)
        for _ in range(offer.size):
            left = requests.entry[pop(slice.output)]
            left.answered = gpu.cycle - left.born
        waiting = front(slice.output)
        gpu.reply_ready[slice.number] = FAR_FUTURE if waiting == NOTHING else requests.entry[waiting].ready
    gpu.offered_answers = 0


@compiled
def wake_relieved(gpu):
    for word in range(len(gpu.relieved.words)):
        left = gpu.relieved.words[word]
        gpu.relieved.words[word] = np.uint64(0)
        while left != 0:
            wake_slice(gpu, WORD_BITS * word + count_trailing_zeros(left), gpu.l2.cycle + 1)
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def deliver_to_cores(gpu, cores, network, requests):
    """Answers that have come to the ports of clusters that a thread has."""
    for first in range(gpu.first_port, gpu.end_port, WORD_BITS):
        left = receivers(network, first, gpu.end_port)
        while left != 0:
            deliver_to_core(gpu, cores, network, requests, first + count_trailing_zeros(left))
            left = np.uint64(left & (left - np.uint64(1)))


@compiled
def deliver_to_core(gpu, cores, network, requests, cluster):
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
