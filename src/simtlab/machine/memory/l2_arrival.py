"""Requests that come to an L2 slice: a policy may send a read around the L2, or give a request priority over others."""

import numpy as np

from simtlab.compiled import call_hook, compiled, seldom
from simtlab.machine.fifo import bring_forward, front, item_at, push
from simtlab.machine.memory.cache import NO_WAY, announce, probe_set, sector_of, set_of
from simtlab.machine.memory.l1 import sector_bit
from simtlab.machine.memory.l2_parts import is_far
from simtlab.machine.memory.l2_to_dram import has_way_to_dram, send_to_dram
from simtlab.machine.memory.mshr import NO_ENTRY
from simtlab.machine.request import Kind, L2Answer

READ, MISS = int(Kind.READ), int(L2Answer.MISS)


@compiled
def wake_slice(gpu, number, cycle):
    """Something may change at a slice at an L2 cycle."""
    gpu.slice_wake[number] = min(gpu.slice_wake[number], cycle)


@compiled
def arrive(gpu, slice, requests, number):
    """A request comes from the network; it is looked at when it has passed the slice's pipe."""
    request = requests.entry[number]
    request.arrived = gpu.cycle - request.born
    request.set = set_for(gpu, slice.cache, request)
    if slice.cache.tracked and is_asked(gpu, slice, requests, number):
        return
    if gpu.l2_parts > 1 and is_far(gpu, slice, request):
        request.ready = gpu.l2.cycle + gpu.crossing_cycles
        push(slice.crossing, number)
    else:
        request.ready = gpu.l2.cycle + gpu.l2_latency
        push(slice.input, number)
    announce(slice.cache, request.set)
    wake_slice(gpu, slice.number, max(request.ready, gpu.l2.cycle + 1))


@compiled
def is_there(gpu, slice, request):
    """Whether the L2 has what a read wants already."""
    way = probe_set(slice.cache, set_for(gpu, slice.cache, request), sector_of(slice.cache, request.address))
    return way != NO_WAY and slice.cache.line[way].sectors & sector_bit(slice.cache, request.address) != 0


@seldom
@compiled
def is_asked(gpu, slice, requests, number):
    """A request that has just come, before policies: true if it is sent around the L2."""
    request = requests.entry[number]
    note_request(slice.cache, request)
    request.priority = 0
    if gpu.hooks.l2_queue_priority != 0:
        own = slice.own_l2_queue
        request.priority = call_hook(gpu.hooks.l2_queue_priority, slice.address, own, np.uint64(number), gpu.cycle)
    if gpu.hooks.l2_allocation_bypass == 0 or request.kind != READ or not can_go_around(slice, request):
        return False
    if call_hook(gpu.hooks.l2_allocation_bypass, slice.address, slice.own_l2_allocation, np.uint64(number), gpu.cycle) == 0:
        return False
    request.entry, request.l2_answer = NO_ENTRY, MISS
    request.bytes = max(request.bytes, slice.cache.sector_bytes)
    request.dram_bytes = request.bytes
    send_to_dram(gpu, slice, requests, number)
    slice.bypasses += 1
    slice.around += 1
    wake_slice(gpu, slice.number, max(request.ready, gpu.l2.cycle + 1))
    return True


@compiled
def can_go_around(slice, request):
    """Whether DRAM has what a read wants: its line is not dirty here, nor in flight; and there is room on the way."""
    if not has_way_to_dram(slice) or slice.around + slice.mshr.entries >= slice.fills.limit:
        return False
    address = sector_of(slice.cache, request.address)
    way = probe_set(slice.cache, request.set, address)
    return way == NO_WAY or (slice.cache.line[way].dirty == 0 and slice.cache.line[way].pending == 0)


@compiled
def note_request(cache, request):
    """Who asks a slice, for policies."""
    access = cache.access
    access.address, access.pc, access.warp, access.core = request.address, request.pc, request.warp, request.core
    access.kind, access.deterministic = request.kind, request.deterministic


@compiled
def bring_first(slice, requests, cycle):
    """Of those that have passed the pipe, the oldest of the highest priority is served."""
    best, place = requests.entry[front(slice.input)].priority, 0
    for k in range(1, slice.input.count):
        request = requests.entry[item_at(slice.input, k)]
        if request.ready > cycle:
            break
        if request.priority > best:
            best, place = request.priority, k
    if place > 0:
        bring_forward(slice.input, place)
        slice.blocked = 0


@compiled
def set_for(gpu, cache, request):
    """The set that a request's line belongs to: of all, or of the part that the core's group has."""
    set = set_of(cache, request.address)
    if gpu.l2_groups == 1:
        return set
    sets = cache.sets // gpu.l2_groups
    group = request.core * gpu.l2_groups // gpu.cores
    return (set & (sets - 1)) + group * sets
