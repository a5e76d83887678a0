"""The parts of an L2 that lie apart (NVIDIA A100 whitepaper: two, each beside half of the cores).

A request of a core of one part for a slice of the other takes `l2.crossing_cycles` longer. The other part keeps a copy of what it
has read, until somebody writes there: what it has no copy of takes `l2.miss_crossing_cycles` more. That the copy takes room in the
other part is not modelled.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, front, is_full, pop, push
from simtlab.machine.memory.l2_entry import is_out_of_room
from simtlab.machine.request import Kind

ATOMIC = int(Kind.ATOMIC)


@compiled
def is_far(gpu, slice, request):
    """Whether a request's core is in another part of the chip than the slice."""
    return request.core * gpu.l2_parts // gpu.cores != slice.number * gpu.l2_parts // gpu.slices


@compiled
def come_across(gpu, slice, requests):
    """Requests that have come from the other part join the slice's queue."""
    number = front(slice.crossing)
    while number != NOTHING and requests.entry[number].ready <= gpu.l2.cycle and not is_full(slice.input):
        requests.entry[number].ready += gpu.l2_latency
        push(slice.input, pop(slice.crossing))
        number = front(slice.crossing)


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
