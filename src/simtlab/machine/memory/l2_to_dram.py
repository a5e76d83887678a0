"""From an L2 slice to its memory controller: misses, some by a longer way (l2_parts.py), and dirty lines that are evicted."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.machine.events import is_heard, tell
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.memory.address_map import locate
from simtlab.machine.memory.cache import DIRTY, NO_WAY, address_of, goes_silently, is_empty, victim_of_set
from simtlab.machine.memory.dram import next_event as next_in_dram
from simtlab.machine.memory.dram import offer
from simtlab.machine.memory.l2_entry import NO_DRAM_ROOM, NO_LINE
from simtlab.machine.memory.l2_parts import is_far
from simtlab.machine.request import Kind, create

WRITE_BACK = int(Kind.WRITE_BACK)
ON_EVICT = EVENT_NUMBERS["on_l2_evict"]


@compiled
def has_way_to_dram(slice, requests=1):
    """Whether so many requests find room on the way to the memory controller."""
    return slice.to_dram.count + slice.far_misses.count + requests <= slice.to_dram.limit


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
def make_room(gpu, slice, requests, set):
    """A line of a set; a dirty one is sent to DRAM first. If that cannot be done now, what to wait for, negative."""
    way = victim_of_set(slice.cache, set)
    if way == NO_WAY:
        return -NO_LINE
    if is_heard(gpu, ON_EVICT) and not is_empty(slice.cache.line[way]):
        tell(gpu, slice, ON_EVICT, way)
    if goes_silently(slice.cache, way) or slice.cache.line[way].state != DIRTY:
        return way
    if not has_way_to_dram(slice, 2):
        return -NO_DRAM_ROOM
    number = create(requests, gpu.thread)
    request = requests.entry[number]
    first, last = ends_of(slice.cache.line[way].dirty)
    request.kind, request.address = WRITE_BACK, address_of(slice.cache, way) + first * slice.cache.sector_bytes
    request.bytes = request.dram_bytes = (last - first + 1) * slice.cache.sector_bytes
    request.ready = gpu.l2.cycle + gpu.dram_latency
    request.core = -1
    locate(gpu.map, requests, number)
    push(slice.to_dram, number)
    slice.write_backs += 1
    slice.write_back_sectors += last - first + 1
    return way


@compiled
def ends_of(sectors):
    """The first and the last of a set of sectors."""
    first = last = count_trailing_zeros(np.uint64(sectors))
    while np.uint64(sectors) >> np.uint64(last + 1) != 0:
        last += 1
    return first, last


@compiled
def feed_dram(gpu, slice, channel, requests):
    """The oldest request that has passed the pipe to the memory controller joins its queue. True if it did."""
    number = front(slice.to_dram)
    slice.refused = 0
    if number == NOTHING or requests.entry[number].ready > gpu.l2.cycle:
        return False
    if not offer(channel, requests, number, gpu.dram.cycle):
        slice.refused = 1
        return False
    gpu.channel_wake[slice.channel] = next_in_dram(channel, gpu.dram.cycle)
    pop(slice.to_dram)
    return True
