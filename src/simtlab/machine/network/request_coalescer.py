"""The request coalescer in front of the network: while a read is under way from one core of a group, others of the group that
want the same wait for the same answer instead of asking for their own.

All cores begin a kernel with the same code, and often with the same data. Without this, each line would leave the L2 once for
every core. Reads under way are kept in a table by a hash of their address; one that finds its place taken goes alone.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, push
from simtlab.machine.limits import MAX_GROUPS
from simtlab.machine.record import record_t
from simtlab.machine.request import Kind

PLACES = 512  # for reads under way of one group
PLACE_BITS = 9
GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)  # spreads addresses over the places
FREE = -1
READ, INSTRUCTION, CONSTANT = int(Kind.READ), int(Kind.INSTRUCTION), int(Kind.CONSTANT)

coalescer_t = record_t(
    [
        ("cores", "i8"),  # of a group; 0: requests are not coalesced
        ("code_cores", "i8"),  # of a group that shares instructions and constants
        ("groups", "i8"),  # that share data, which stand before those that share code
        ("code_groups", "i8"),
        ("first_of_code", "i8"),
        ("interleaved", "i8"),  # every n-th core is of one group
        ("data", "i8"),  # of data too, not only of instructions and constants
        ("address", "i8", (MAX_GROUPS, PLACES)),  # by group: what is read, or FREE
        ("waiting", "i8", (MAX_GROUPS, PLACES)),  # the first of the requests that wait for each, a list by `next`
    ]
)


@compiled
def is_coalesced(coalescer, request):
    if request.kind == READ:
        return coalescer.cores > 0 and coalescer.data != 0
    return coalescer.code_cores > 0 and (request.kind == INSTRUCTION or request.kind == CONSTANT)


@compiled
def group_of(coalescer, request):
    """The cores that a request's core shares it with."""
    if request.kind == READ:
        return request.core % coalescer.groups if coalescer.interleaved else request.core // coalescer.cores
    place = request.core % coalescer.code_groups if coalescer.interleaved else request.core // coalescer.code_cores
    return coalescer.first_of_code + place


@compiled
def place_of(address):
    return np.int64(np.uint64(np.uint64(address >> 5) * GOLDEN) >> np.uint64(64 - PLACE_BITS))


@compiled
def join(coalescer, requests, number):
    """Wait for the answer to another's request, if there is one under way."""
    request = requests.entry[number]
    group, place = group_of(coalescer, request), place_of(request.address)
    if coalescer.address[group, place] != request.address:
        return False
    request.next = coalescer.waiting[group, place]
    request.sent = request.arrived = request.answered = request.born
    coalescer.waiting[group, place] = number
    return True


@compiled
def note_sent(coalescer, request):
    """A request is under way: others may wait for its answer, if its place is free."""
    group, place = group_of(coalescer, request), place_of(request.address)
    if coalescer.address[group, place] == FREE:
        coalescer.address[group, place], coalescer.waiting[group, place] = request.address, NOTHING


@compiled
def hand_out(gpus, cores, requests, request):
    """An answer has come: those who waited for it have it too."""
    coalescer, now = gpus[0].coalescer, gpus[0].cycle
    group, place = group_of(coalescer, request), place_of(request.address)
    if coalescer.address[group, place] != request.address:
        return
    number = coalescer.waiting[group, place]
    coalescer.address[group, place], coalescer.waiting[group, place] = FREE, NOTHING
    while number != NOTHING:
        other = requests.entry[number]
        following = other.next
        other.next, other.delivered, other.l2_answer = NOTHING, now, request.l2_answer
        push(cores[other.core].responses, number)
        gpu = gpus[cores[other.core].thread]
        gpu.wake[other.core] = min(gpu.wake[other.core], now + 1)
        number = following
