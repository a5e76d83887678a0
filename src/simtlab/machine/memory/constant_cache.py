"""The constant cache of a core: one line a cycle for the lanes that want it; misses of one line share a request."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.memory.cache import NO_WAY, fill, probe, reserve, touch, victim
from simtlab.machine.memory.l1 import Failure, no_room, send
from simtlab.machine.memory.mshr import NO_ENTRY, allocate, can_merge, merge
from simtlab.machine.memory.mshr import find as find_entry
from simtlab.machine.memory.mshr import is_full as mshr_full
from simtlab.machine.request import Kind

CONSTANT = int(Kind.CONSTANT)
NONE, NO_MSHR, NO_NETWORK = int(Failure.NONE), int(Failure.MSHR), int(Failure.NETWORK)


@compiled
def fetch_constant(gpu, core, requests, number):
    """A read of the constant cache; misses of one line share a request."""
    op = core.ops[number]
    cache = core.l1c
    address = op.lines[op.served]
    way = probe(cache, address)
    if way != NO_WAY and cache.line[way].pending == 0:
        touch(cache, way)
        core.l1c_hits += 1
        op.hits_ready = gpu.cycle + cache.hit_latency
        return NONE
    entry = find_entry(core.mshr_constant, address)
    if entry != NO_ENTRY:
        if not can_merge(core.mshr_constant, entry):
            return NO_MSHR
    else:
        if mshr_full(core.mshr_constant):
            return NO_MSHR
        if no_room(core, requests):
            return NO_NETWORK
        if way == NO_WAY:
            way = victim(cache, address)
            if way != NO_WAY:
                reserve(cache, way, address, np.uint32(1))
        entry = allocate(core.mshr_constant, address, way)
        send(gpu, core, requests, CONSTANT, address, cache.line_bytes, number, number)
    merge(core.mshr_constant, entry, number)
    op.outstanding += 1
    core.l1c_misses += 1
    return NONE


@compiled
def fill_constant(core, address):
    """A line of constants has come; gives the MSHR entry whose waiters are to be served."""
    entry = find_entry(core.mshr_constant, address)
    way = core.mshr_constant.entry[entry].way
    if way != NO_WAY:
        fill(core.l1c, way, np.uint32(1))
    return entry
