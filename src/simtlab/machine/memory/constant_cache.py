"""The constant caches of a core: a small one, perhaps a second behind it, and one request for all that miss the same line.

Loads of constants wait here like other loads. Machine code also has constants as operands: an instruction whose operand is not
in the cache does not issue until it is (`ask_for_operands`).
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.dependences import constant_address
from simtlab.machine.core.inflight import lowest_bit, plan_release
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.state import MAX_OPS
from simtlab.machine.core.timing import timing_at
from simtlab.machine.memory.cache import NO_WAY, fill, install, line_of, probe, reserve, touch, victim
from simtlab.machine.memory.l1 import Failure, no_room, send
from simtlab.machine.memory.mshr import NO_ENTRY, allocate, can_merge, merge
from simtlab.machine.memory.mshr import find as find_entry
from simtlab.machine.memory.mshr import is_full as mshr_full
from simtlab.machine.request import Kind

CONSTANT = int(Kind.CONSTANT)
NONE, NO_MSHR, NO_NETWORK = int(Failure.NONE), int(Failure.MSHR), int(Failure.NETWORK)
COMING = -1  # what `look_up` gives for data under way; what it gives for a failure is below that
FIRST_WARP = MAX_OPS  # tokens of those who wait: instructions, then warps; above them, which part of a line they want
TOKENS = 2 * MAX_OPS


@compiled
def is_there(cache, address):
    way = probe(cache, address)
    return way != NO_WAY and cache.line[way].pending == 0


@compiled
def look_up(gpu, core, requests, address, token):
    """Read a constant: after how many cycles it is there, or COMING, or less than that by a failure's number."""
    cache = core.l1c
    way = probe(cache, address)
    if way != NO_WAY and cache.line[way].pending == 0:
        touch(cache, way)
        core.l1c_hits += 1
        return max(np.int64(cache.hit_latency), cache.asked[way] - gpu.cycle)
    if core.l15.enabled and is_there(core.l15, address):
        touch(core.l15, probe(core.l15, address))
        core.l1c_misses += 1
        core.l15_hits += 1
        install(cache, address, gpu.cycle + core.l15.hit_latency)
        return np.int64(core.l15.hit_latency)
    line = line_of(core.l15, address) if core.l15.enabled else line_of(cache, address)
    entry = find_entry(core.mshr_constant, line)
    if entry != NO_ENTRY:
        if not can_merge(core.mshr_constant, entry):
            return np.int64(COMING - NO_MSHR)
    else:
        if mshr_full(core.mshr_constant):
            return np.int64(COMING - NO_MSHR)
        if no_room(core, requests):
            return np.int64(COMING - NO_NETWORK)
        if way == NO_WAY and core.l15.enabled == 0:
            way = victim(cache, address)
            if way != NO_WAY:
                reserve(cache, way, address, np.uint32(1))
        entry = allocate(core.mshr_constant, line, NO_WAY if core.l15.enabled else way)
        size = core.l15.line_bytes if core.l15.enabled else cache.line_bytes
        send(gpu, core, requests, CONSTANT, line, size, token, token if token < FIRST_WARP else -1)
    merge(core.mshr_constant, entry, token + TOKENS * ((address - line) // cache.line_bytes))
    core.l1c_misses += 1
    return np.int64(COMING)


@compiled
def bring_parameters(core, kernel):
    """The bank with a kernel's parameters comes with the launch, as far as the second cache."""
    if core.l15.enabled:
        for address in range(kernel.constants, kernel.constants + kernel.parameter_bytes, core.l15.line_bytes):
            install(core.l15, address, 0)


@compiled
def fetch_constant(gpu, core, requests, number):
    """A load of constants makes an access."""
    op = core.ops[number]
    found = look_up(gpu, core, requests, op.lines[op.served], number)
    if found >= 0:
        op.hits_ready = max(op.hits_ready, gpu.cycle + found)
        return NONE
    op.outstanding += found == COMING
    return NONE if found == COMING else np.int64(COMING - found)


@compiled
def fill_constant(core, address, cycle):
    """A line of constants has come; gives the MSHR entry whose waiters are to be served."""
    entry = find_entry(core.mshr_constant, address)
    way = core.mshr_constant.entry[entry].way
    if core.l15.enabled:
        install(core.l15, address, cycle)
    elif way != NO_WAY:
        fill(core.l1c, way, np.uint32(1))
    return entry


@compiled
def ask_for_operands(gpu, core, requests):
    """Ask for the constants that warps want as operands and that are not there. What comes is granted to a warp, so that
    nobody can take it away before its instruction has issued."""
    wanting = np.uint64(core.wants_constant & ~core.asked_constant)
    while wanting != 0:
        w = lowest_bit(wanting)
        wanting = np.uint64(wanting & ~bit_of(w))
        slot = core.slots[w]
        address = constant_address(core, slot, timing_at(slot.timing).row[slot.head])
        found = look_up(gpu, core, requests, address, FIRST_WARP + w)
        if found < COMING:
            return
        core.moved = core.changed = gpu.cycle
        core.asked_constant = np.uint64(core.asked_constant | bit_of(w))
        if found >= 0:
            slot.granted, slot.grant_at = line_of(core.l1c, address), gpu.cycle + max(found, 1)
            plan_release(core, w, slot.grant_at)
