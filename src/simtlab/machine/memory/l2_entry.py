"""The entry of an L2 slice: the way between the halves of the L2, and the request coalescer.

The L2 of a large GPU is in parts that lie apart (NVIDIA A100 whitepaper: two, each beside half of the cores). A request of a core
of one part for a slice of the other takes `l2.crossing_cycles` longer. The other part keeps a copy of what it has read, until
somebody writes there: what it has no copy of takes `l2.miss_crossing_cycles` more. That the copy takes room in the other part is
not modelled.

Reads of one sector that wait at a slice at the same time are looked up together, up to `l2.coalesced_reads` of them, and answered
one by one (Nsight Compute's L2 request coalescer, LRC). A read waits there for the requests before it; and those that come within
`l2.coalescing_cycles` of it find it there too.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, front, is_full, item_at, pop, push, take_out
from simtlab.machine.request import Kind

READ, ATOMIC = int(Kind.READ), int(Kind.ATOMIC)


@compiled
def is_far(gpu, slice, request):
    """Whether a request's core is in another part of the chip than the slice."""
    return request.core * gpu.l2_parts // gpu.cores != slice.number * gpu.l2_parts // gpu.slices


@compiled
def is_crowded(gpu, slice):
    """Whether a packet finds no room at a slice."""
    return slice.input.count + slice.crossing.count + gpu.packet_sectors > slice.input.limit


@compiled
def come_across(gpu, slice, requests):
    """Requests that have come from the other part join the slice's queue."""
    number = front(slice.crossing)
    while number != NOTHING and requests.entry[number].ready <= gpu.l2.cycle and not is_full(slice.input):
        requests.entry[number].ready += gpu.l2_latency
        push(slice.input, pop(slice.crossing))
        number = front(slice.crossing)


@compiled
def send_to_dram(gpu, slice, requests, number):
    """A read that the slice does not have goes to DRAM, a core's of the other part by a longer way."""
    request = requests.entry[number]
    request.to_dram = gpu.cycle - request.born
    if gpu.miss_crossing_cycles > 0 and is_far(gpu, slice, request):
        request.ready = gpu.l2.cycle + gpu.miss_crossing_cycles
        push(slice.far_misses, number)
    else:
        request.ready = gpu.l2.cycle + gpu.dram_latency
        push(slice.to_dram, number)


@compiled
def misses_come_across(gpu, slice, requests):
    """Misses that have gone the longer way join the others."""
    number = front(slice.far_misses)
    while number != NOTHING and requests.entry[number].ready <= gpu.l2.cycle:
        requests.entry[number].ready += gpu.dram_latency
        push(slice.to_dram, pop(slice.far_misses))
        number = front(slice.far_misses)


@compiled
def must_cross(gpu, slice, request, way, sectors):
    """Whether a read of data that the slice has comes from the other part, which has no copy of it. It has one from now on."""
    if gpu.miss_crossing_cycles == 0 or request.kind == ATOMIC or not is_far(gpu, slice, request):
        return False
    has_no_copy = slice.copied[way] & sectors != sectors
    slice.copied[way] |= np.uint8(sectors)
    return has_no_copy and not is_full(slice.far_hits)


@compiled
def send_across(gpu, slice, requests, number):
    """A read's data go the longer way to the other part."""
    requests.entry[number].ready = gpu.l2.cycle + gpu.miss_crossing_cycles
    push(slice.far_hits, number)


@compiled
def has_come_across(gpu, slice, requests):
    """A read whose data have gone the longer way and that can be answered, or NOTHING."""
    number = front(slice.far_hits)
    if number == NOTHING or requests.entry[number].ready > gpu.l2.cycle or is_out_of_room(gpu, slice):
        return np.int64(NOTHING)
    return pop(slice.far_hits)


@compiled
def has_way_to_dram(slice, requests=1):
    """Whether so many requests find room on the way to the memory controller."""
    return slice.to_dram.count + slice.far_misses.count + requests <= slice.to_dram.limit


@compiled
def is_out_of_room(gpu, slice):
    """Whether the answers to reads that were looked up together may find no room."""
    return slice.output.count + gpu.coalesced_reads > slice.output.limit


@compiled
def coalesce(gpu, slice, requests, number):
    """Reads of the same sector that wait behind one join it, a list by `next`. Gives the first of them, or NOTHING."""
    last = requests.entry[number]
    for _ in range(1, gpu.coalesced_reads):
        place = find_companion(gpu, slice, requests, number)
        if place == 0:
            break
        last.next = take_out(slice.input, place)
        last = requests.entry[last.next]
        last.l2_answer = requests.entry[number].l2_answer
        slice.coalesced += 1
    return np.int64(requests.entry[number].next)


@compiled
def find_companion(gpu, slice, requests, oldest):
    """The place in the queue of another read of the oldest request's sector that is looked up with it; 0 if there is none."""
    address, latest = requests.entry[oldest].address, gpu.l2.cycle + gpu.coalescing_cycles
    for k in range(1, min(slice.input.count, gpu.coalescing_entries + 1)):
        other = requests.entry[item_at(slice.input, k)]
        if other.ready > latest:
            return 0
        if other.address == address and other.kind == READ:
            return k
    return 0


@compiled
def follows(gpu, slice, requests, number):
    """Whether the oldest request reads the line that a read in this cycle was of; a slice has several sectors of it at once."""
    other = front(slice.input)
    if other == NOTHING or requests.entry[other].ready > gpu.l2.cycle:
        return False
    one, following = requests.entry[number], requests.entry[other]
    return one.kind == READ and following.kind == READ and (one.address ^ following.address) >> slice.cache.line_shift == 0


@compiled
def goes_along(gpu, slice, request):
    """Whether a write is of the same packet, and of the same sectors that a slice takes at once, as the last one."""
    return request.head == slice.last_packet and request.address >> gpu.l2_write_shift == slice.last_written


@compiled
def note_write(gpu, slice, request):
    """How long a write keeps the slice: as one for what lies beside it and came with it, but for a second mask of bytes."""
    if not goes_along(gpu, slice, request):
        slice.last_written, slice.last_packet = request.address >> gpu.l2_write_shift, request.head
        slice.last_whole = request.words == gpu.whole_sector
        slice.write_end = gpu.l2.cycle + gpu.l2_write_cycles
    elif not slice.last_whole or request.words != gpu.whole_sector:
        slice.write_end += 1
