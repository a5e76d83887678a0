"""The entry of an L2 slice: what its oldest request waits for, and the request coalescer.

Reads of one sector that wait at a slice at the same time are looked up together, up to `l2.coalesced_reads` of them, and answered
one by one (Nsight Compute's L2 request coalescer, LRC). A read waits there for the requests before it; and those that come within
`l2.coalescing_cycles` of it find it there too.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, front, item_at, take_out
from simtlab.machine.request import Kind

READ = int(Kind.READ)


class Block(IntEnum):
    """What the oldest request of a slice waits for."""

    NONE = 0
    OUTPUT = 1  # room for an answer
    MSHR = 2
    LINE = 3  # a line of its set, or room for one more who waits for it
    TO_DRAM = 4  # room in the queue to the memory controller


NONE, NO_OUTPUT, NO_MSHR, NO_LINE, NO_DRAM_ROOM = (int(block) for block in Block)


@compiled
def is_crowded(gpu, slice):
    """Whether a packet finds no room at a slice."""
    return slice.input.count + slice.crossing.count + gpu.packet_sectors > slice.input.limit


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
