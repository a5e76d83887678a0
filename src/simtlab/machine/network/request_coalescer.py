"""The request coalescer in front of the network (Nsight Compute's LRC): while a read of one core of a GPC is under way, others of
the GPC that want the same wait for the same answer instead of asking for their own.

All cores begin a kernel with the same code, and often with the same data. Without this, each line would leave the L2 once for
every core. An H200 was asked which reads are shared (two to all cores read lines at set times, the L2's sectors counted by `ncu`):
those of any cores of a GPC, up to four for one answer (`network.coalescing_requests`), if they want the same sectors of the line,
and for a short while if the L2 has the line, longer if it must come from DRAM (`coalescing_hit_cycles`, `coalescing_miss_cycles`).
Code and constants are shared by all of a GPC until they have come.

A line that is being read is one entry of a table for all GPCs, by a hash of its address, with the sectors that were asked for and
the last packet of each GPC that others may join. Whoever asks for other sectors of the line, of whatever GPC, asks for itself and
ends the entry: the next one begins anew. So cores of an H200's GPC that read different sectors of the same lines at once share
hardly any of their reads (`tests/timing/test_h200_sharing.py`), of which an entry for each set of sectors would make 50 to 75%.
Those who wait for a request are a list by `next` that it begins.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, push
from simtlab.machine.limits import MAX_CORES, MAX_GROUPS
from simtlab.machine.memory.l2_arrival import is_there
from simtlab.machine.record import record_t
from simtlab.machine.request import Kind

PLACES = 16384  # for lines that are being read
PLACE_BITS = 14
GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)  # spreads addresses over the places
FREE = -1
CORES_OF_A_TPC = 2
READ, INSTRUCTION, CONSTANT = int(Kind.READ), int(Kind.INSTRUCTION), int(Kind.CONSTANT)
ANY_TIME = np.int64(1 << 62)

line_t = record_t(
    [
        ("key", "i8"),  # its address, see `key_of`; or FREE
        ("until", "i8"),  # the last cycle in which reads of it are shared
        ("sectors", "i8"),
        ("packet", "i4", (MAX_GROUPS,)),  # of each group: the first request of the last one that others may join, or FREE
    ]
)
coalescer_t = record_t(
    [
        ("groups", "i8"),  # of cores; 0: requests are not coalesced
        ("most", "i8"),  # reads of data that share an answer
        ("data", "i8"),  # of data too, not only of instructions and constants
        ("hit_cycles", "i8"),  # for which a read is shared that the L2 has; 0: until the answer comes
        ("miss_cycles", "i8"),  # … that it has not
        ("group", "i2", (MAX_CORES,)),  # of each core
        ("lines", line_t, (PLACES,)),
    ]
)


def sizes(cores: int, most: int) -> list[int]:
    """How many cores each group has, at most so many: they are dealt evenly, by TPCs where `most` is a number of these."""
    groups, unit = -(-cores // most), 1 if most % CORES_OF_A_TPC or cores % CORES_OF_A_TPC else CORES_OF_A_TPC
    units = cores // unit
    return [unit * (units // groups + (g >= groups - units % groups)) for g in range(groups)]


@compiled
def is_coalesced(coalescer, request):
    if coalescer.groups == 0:
        return False
    if request.kind == READ:
        return coalescer.data != 0
    return request.kind == INSTRUCTION or request.kind == CONSTANT


@compiled
def key_of(gpu, request):
    """The line of a read; code is shared request by request."""
    return request.address >> gpu.sharing_shift << 1 if request.kind == READ else request.address << 1 | 1


@compiled
def place_of(key):
    return np.int64(np.uint64(np.uint64(key) * GOLDEN) >> np.uint64(64 - PLACE_BITS))


@compiled
def place_of_request(gpu, request):
    return place_of(key_of(gpu, request))


@compiled
def join(coalescer, gpu, cores, requests, number):
    """All requests of a packet wait for the answers to another's, if there is one under way like it; whether they do. These may
    come sooner than one of its own could."""
    request = requests.entry[number]
    key = key_of(gpu, request)
    line = coalescer.lines[place_of(key)]
    first = np.int64(line.packet[coalescer.group[request.core]])
    if line.key != key or first == FREE or requests.entry[first].kind != request.kind:
        return False
    if request.kind == READ:
        is_full = coalescer.most > 0 and requests.entry[first].shared + 1 >= coalescer.most
        if is_full or line.sectors != request.sectors or gpu.cycle > line.until:
            return False
    requests.entry[first].shared += 1
    core = cores[request.core]
    core.first_answer = min(core.first_answer, requests.entry[first].born + gpu.least_trip)
    mate = np.int64(number)
    while mate != NOTHING:
        mate = wait_for(requests, mate, first)
    return True


@compiled
def wait_for(requests, number, first):
    """A request waits for the one of a packet that is like it. Gives the next of its own packet."""
    request, other = requests.entry[number], first
    while requests.entry[other].address != request.address:
        other = np.int64(requests.entry[other].mate)
    request.next = requests.entry[other].sharers
    requests.entry[other].sharers = number
    request.sent = request.arrived = request.answered = 0
    following = np.int64(request.follower)
    request.follower = NOTHING
    return following


@compiled
def note_sent(coalescer, gpu, slices, requests, number):
    """A packet is under way: others may wait for its answer, for as long as the L2 takes to have it. One that asks for other
    sectors of a line than the packet before it has ended that one's entry."""
    request = requests.entry[number]
    key = key_of(gpu, request)
    line = coalescer.lines[place_of(key)]
    is_open = line.key != FREE and gpu.cycle <= line.until
    if is_open and line.key != key:
        return  # another line's place
    if is_open and line.sectors != request.sectors:
        line.key = FREE
        return
    if not is_open:
        line.key, line.sectors = key, request.sectors
        line.packet[: coalescer.groups] = FREE
    line.packet[coalescer.group[request.core]], line.until = number, ANY_TIME
    if request.kind == READ and coalescer.hit_cycles > 0:
        has_it = is_there(gpu, slices[request.slice], request)
        line.until = gpu.cycle + (coalescer.hit_cycles if has_it else coalescer.miss_cycles)


@compiled
def hand_out(gpus, gpu, cores, requests, answered):
    """An answer has come: those who waited for it have it too, and nobody may join its packet any more. They are of one group, the
    answers to which one host thread hands out."""
    coalescer, now = gpus[0].coalescer, gpu.cycle
    request = requests.entry[answered]
    key, group = key_of(gpu, request), coalescer.group[request.core]
    line = coalescer.lines[place_of(key)]
    if line.key == key and line.packet[group] == request.head:
        line.packet[group] = FREE
        line.until = min(line.until, now)
    number = np.int64(request.sharers)
    request.sharers = NOTHING
    while number != NOTHING:
        other = requests.entry[number]
        following = np.int64(other.next)
        other.next, other.delivered, other.l2_answer = NOTHING, now - other.born, request.l2_answer
        push(cores[other.core].responses, number)
        its = gpus[cores[other.core].thread]
        its.wake[other.core] = min(its.wake[other.core], now + 1)
        number = following
