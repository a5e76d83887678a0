"""Writes and atomics of a core at its L1: by the write policy of their space, and what of them stays in the cache."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.cta_slots import acknowledge
from simtlab.machine.memory.cache import DIRTY, NO_WAY, address_of, invalidate, line_of, may_go, probe, touch, victim, write_words
from simtlab.machine.memory.l1 import (
    LOCAL,
    NO_NETWORK,
    NO_TAG,
    NONE,
    WritePolicy,
    no_room,
    note_access,
    send,
    take_line,
    write_back,
)
from simtlab.machine.memory.store_combining import combine, note_line, note_store
from simtlab.machine.request import Kind

WRITE, ATOMIC, WRITE_BACK = int(Kind.WRITE), int(Kind.ATOMIC), int(Kind.WRITE_BACK)
EVICT, BACK = int(WritePolicy.WRITE_EVICT), int(WritePolicy.WRITE_BACK)


@compiled
def write_back_all(gpus, cores, requests):
    """A run has ended: dirty lines go to the L2, as many as find room. False if there are none left."""
    any_left = False
    for c in range(len(cores)):
        core = cores[c]
        cache = core.l1d
        if cache.write_policy_global != BACK and cache.write_policy_local != BACK:
            return False
        for way in range(cache.sets * cache.ways):
            if cache.line[way].state == DIRTY:
                any_left = True
                if no_room(core, requests):
                    break
                core.l1_data_reads += 1
                send(gpus[core.thread], core, requests, WRITE_BACK, address_of(cache, way), cache.line_bytes, 0, -1)
                invalidate(cache, way)
    return any_left


@compiled
def store_line(gpu, core, requests, number):
    """A write of one sector, by the policy of its space."""
    op = core.ops[number]
    address = op.lines[op.served]
    cache = core.l1d
    is_local = op.memory == LOCAL
    if cache.tracked:
        note_access(core, op, address, WRITE)
    policy = cache.write_policy_local if is_local else cache.write_policy_global
    is_cached = cache.enabled and (is_local or gpu.bypass_global == 0)
    way = probe(cache, address) if is_cached else NO_WAY
    if policy == BACK and is_cached and (way != NO_WAY or cache.write_allocate):
        return store_in_cache(gpu, core, requests, number, way)
    if no_room(core, requests):
        return NO_NETWORK
    if policy == EVICT:
        if way != NO_WAY and may_go(cache.line[way]):
            invalidate(cache, way)
    elif is_cached and not keep_written(gpu, core, requests, address, way, np.uint64(op.first[op.served])):
        return NO_NETWORK
    core.l1_lookups += is_cached
    if gpu.combining_cycles == 0 or not combine(gpu, core, requests, number):
        made = send(gpu, core, requests, WRITE, address, op.bytes[op.served], number, number)
        requests.entry[made].mask = mask_cycles(gpu, core, op)
        note_store(gpu, core, requests, made)
    return NONE


@compiled
def mask_cycles(gpu, core, op):
    """How long the first request of a line keeps the core's port for the mask of the bytes that are written, if some sector is not
    as a whole. An atomic always has one."""
    if gpu.mask_cycles == 0:
        return np.int64(0)
    line, k = line_of(core.l1d, op.lines[op.served]), op.served
    if k > 0 and line_of(core.l1d, op.lines[k - 1]) == line and (op.is_atomic == 0 or op.turn[k - 1] == op.turn[k]):
        return np.int64(0)
    while op.is_store and k < op.accesses and line_of(core.l1d, op.lines[k]) == line and op.bytes[k] == gpu.sector_bytes:
        k += 1
    is_whole = op.is_store and (k == op.accesses or line_of(core.l1d, op.lines[k]) != line)
    return np.int64(0) if is_whole else gpu.mask_cycles


@compiled
def keep_written(gpu, core, requests, address, way, words):
    """Write-through: a line that is there is written too; a write that misses takes one where it may. False if that one is dirty
    and cannot leave now."""
    cache = core.l1d
    if way == NO_WAY and cache.write_allocate:
        way = victim(cache, address)
        if way != NO_WAY:
            if cache.line[way].state == DIRTY and not write_back(gpu, core, requests, way):
                return False
            take_line(gpu, core, way, address, np.uint32(0))
    if way != NO_WAY:
        write_words(cache, way, address, words, False)
        core.l1_data_writes += 1
    return True


@compiled
def store_in_cache(gpu, core, requests, number, way):
    """Write-back: the line stays here, dirty; a miss takes a line without fetching it."""
    op = core.ops[number]
    address = op.lines[op.served]
    cache = core.l1d
    if way == NO_WAY:
        way = victim(cache, address)
        if way == NO_WAY:
            return NO_TAG
        if cache.line[way].state == DIRTY:
            if no_room(core, requests):
                return NO_NETWORK
            write_back(gpu, core, requests, way)
        take_line(gpu, core, way, address, np.uint32(0))
    write_words(cache, way, address, np.uint64(op.first[op.served]), True)
    touch(cache, way)
    core.l1_lookups += 1
    core.l1_data_writes += 1
    acknowledge(gpu, core, op.slot, gpu.cycle)
    return NONE


@compiled
def send_atomic(gpu, core, requests, number):
    """Atomics are carried out at the L2; a copy of the line here is worthless afterwards."""
    if no_room(core, requests):
        return NO_NETWORK
    op = core.ops[number]
    address = op.lines[op.served]
    way = probe(core.l1d, address) if core.l1d.enabled else NO_WAY
    if way != NO_WAY and may_go(core.l1d.line[way]):
        invalidate(core.l1d, way)
    op.outstanding += 1
    core.l1_lookups += core.l1d.enabled
    note_line(gpu, core, address)
    made = send(gpu, core, requests, ATOMIC, address, op.bytes[op.served], number, number)
    requests.entry[made].mask = mask_cycles(gpu, core, op)
    return NONE
