"""First-level caches of a core: lookups, misses, and what happens when an answer comes back. Writes are in `l1_stores`."""

from enum import IntEnum

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.machine.bit_set import add as add_member
from simtlab.machine.events import is_heard, tell
from simtlab.machine.fifo import is_full, push
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.memory import mshr as table
from simtlab.machine.memory.address_map import locate
from simtlab.machine.memory.cache import (
    ALL_WORDS,
    DIRTY,
    NO_WAY,
    address_of,
    expect,
    fill,
    forget_all,
    goes_silently,
    invalidate,
    is_empty,
    place_in_order,
    probe,
    reserve,
    touch,
    victim,
    was_unused,
)
from simtlab.machine.request import Kind, create

READ, WRITE, ATOMIC = int(Kind.READ), int(Kind.WRITE), int(Kind.ATOMIC)
WRITE_BACK = int(Kind.WRITE_BACK)
find_entry, merge, allocate = table.find, table.merge, table.allocate
mshr_full, can_merge, take_waiter, release = table.is_full, table.can_merge, table.take_waiter, table.release
NO_ENTRY, NOBODY = table.NO_ENTRY, table.NOBODY


class Failure(IntEnum):
    """Why the L1 could not take an access in this cycle."""

    NONE = 0
    TAG = 1
    MSHR = 2
    NETWORK = 3


class WritePolicy(IntEnum):
    WRITE_THROUGH = 0
    WRITE_EVICT = 1
    WRITE_BACK = 2


ON_HIT, ON_MISS, ON_FILL, ON_EVICT = (EVENT_NUMBERS[f"on_l1_{event}"] for event in ("hit", "miss", "fill", "evict"))
LOCAL = 2  # Memory.LOCAL; named here to keep the imports one way
NONE, NO_TAG, NO_MSHR, NO_NETWORK = (int(f) for f in Failure)


@compiled
def sector_bit(cache, address):
    return np.uint32(np.uint32(1) << np.uint32((address & (cache.line_bytes - 1)) >> cache.sector_shift))


@compiled
def send(gpu, core, requests, kind, address, size, token, number):
    """Send a request to memory; the caller has seen that there is room. Gives its number."""
    made = create(requests, gpu.thread)
    request = requests.entry[made]
    request.kind, request.address, request.bytes, request.token = kind, address, size, token
    request.core, request.home, request.born = core.number, core.cluster, gpu.cycle
    request.pc, request.deterministic, request.mask, request.head = -1, -1, 0, made
    if number >= 0:
        op = core.ops[number]
        request.warp, request.pc, request.deterministic = op.slot, op.pc, op.deterministic
    locate(gpu.map, requests, made)
    request.destination = request.slice
    if kind == WRITE:
        request.words = np.uint64(core.ops[number].first[core.ops[number].served])
    elif kind == WRITE_BACK:
        request.words = np.uint64(ALL_WORDS >> np.uint64(64 - (size >> 2)))
    carries = size if kind == WRITE or kind == WRITE_BACK or kind == ATOMIC else 0
    request.flits = gpu.flits[carries]
    if kind != WRITE_BACK:
        expect_answer(gpu, core, kind)
    push(core.inject, made)
    gpu.injecting[core.number] += 1
    gpu.waiting[core.cluster] += 1
    add_member(gpu.senders, core.cluster)
    return made


@compiled
def expect_answer(gpu, core, kind):
    """A request is born that will be answered, and when that can be at the earliest."""
    soonest = gpu.cycle + (gpu.least_trip if kind == WRITE or kind == ATOMIC else gpu.least_read_trip)
    core.first_answer = soonest if core.outstanding == 0 else min(core.first_answer, soonest)
    core.outstanding += 1


@compiled
def no_room(core, requests):
    """Whether a request cannot leave now; the core is woken when its queue has room, and looks again itself for a request."""
    if core.outstanding >= requests.limit:
        core.wants_room = core.starved = 1
        return True
    if is_full(core.inject):
        core.wants_room = 1
        return True
    return False


@compiled
def load(gpu, core, requests, number):
    """A read of one sector. Hit, hit on a pending miss (hit reserved), miss, or rejected (reservation failure)."""
    op = core.ops[number]
    address = op.lines[op.served]
    cache = core.l1d
    if cache.tracked:
        note_access(core, op, address, READ)
    if goes_around(gpu, core, op, number):
        return bypass(gpu, core, requests, number, address)
    if core.known_miss:
        return miss(gpu, core, requests, number, address, NO_WAY)
    bit = sector_bit(cache, address)
    way = probe(cache, address)
    if way != NO_WAY and (cache.line[way].sectors & bit or (cache.by_word and were_written(cache, way, op))):
        touch(cache, way)
        core.l1_hits += 1
        core.l1_lookups += 1
        core.l1_data_reads += 1
        if cache.line[way].prefetched:
            cache.line[way].prefetched = 0
            count_use(gpu, core, cache.asked[way])
        op.hits_ready = gpu.cycle + cache.hit_latency
        if is_heard(gpu, ON_HIT):
            tell(gpu, core, ON_HIT, number)
        return NONE
    entry = find_entry(core.mshr, address)
    if entry != NO_ENTRY:
        if not can_merge(core.mshr, entry):
            return NO_MSHR
        merge(core.mshr, entry, number)
        op.outstanding += 1
        core.l1_hits_reserved += 1
        op.joined += 1
        core.l1_lookups += 1
        if core.mshr.entry[entry].prefetch:
            core.mshr.entry[entry].prefetch = 0
            core.prefetch_late += 1
            count_use(gpu, core, core.mshr.entry[entry].asked)
        if is_heard(gpu, ON_MISS):
            tell(gpu, core, ON_MISS, number)
        return NONE
    return miss(gpu, core, requests, number, address, way)


@compiled
def note_access(core, op, address, kind):
    """Who asks the L1, for policies."""
    access = core.l1d.access
    access.address, access.pc, access.warp, access.core = address, op.pc, op.slot, core.number
    access.kind, access.deterministic = kind, op.deterministic


@compiled
def take_line(gpu, core, way, address, sectors):
    """Give a line of the L1 to an access; a mechanism may want to know of the one that goes."""
    if is_heard(gpu, ON_EVICT) and not is_empty(core.l1d.line[way]):
        tell(gpu, core, ON_EVICT, way)
    reserve(core.l1d, way, address, sectors)


@compiled
def were_written(cache, way, op):
    """Whether all the words that an access wants were written since the line took its place, though its sector was not fetched."""
    place = (op.lines[op.served] & (cache.line_bytes - 1)) >> 2
    wanted = np.uint64(np.uint64(op.words[op.served]) << np.uint64(place))
    return cache.line[way].written & wanted == wanted


@compiled
def goes_around(gpu, core, op, number):
    """Whether a load leaves the L1 alone: there is none, global memory skips it, or the policy says so."""
    if core.l1d.enabled == 0 or (op.memory != LOCAL and (gpu.bypass_global or op.strong)):
        return True
    if gpu.hooks.l1_allocation_bypass == 0:
        return False
    return call_hook(gpu.hooks.l1_allocation_bypass, core.address, core.own_l1_allocation, np.uint64(number), gpu.cycle) != 0


@compiled
def count_use(gpu, core, asked):
    """A demand has found (or merged with) a line that a prefetch asked for."""
    core.prefetch_used += 1
    core.prefetch_distance += gpu.cycle - asked


@compiled
def miss(gpu, core, requests, number, address, way):
    """A load whose line is not there and not in flight."""
    failure = take_entry(gpu, core, requests, address, way)
    if failure != NONE:
        return failure if waits(gpu, core, number, failure) else bypass(gpu, core, requests, number, address)
    merge(core.mshr, core.mshr.newest, number)
    core.ops[number].outstanding += 1
    core.ops[number].missed += 1
    core.l1_misses += 1
    if core.prefetch_filled > 0:
        core.prefetch_early += was_unused(core.l1d, address)
    core.l1_lookups += 1
    send(gpu, core, requests, READ, address, core.l1d.sector_bytes, token_of(core.mshr.newest), number)
    if gpu.hooks.prefetcher_on_miss != 0:
        call_hook(gpu.hooks.prefetcher_on_miss, core.address, core.own_prefetcher, np.uint64(number), gpu.cycle)
    if is_heard(gpu, ON_MISS):
        tell(gpu, core, ON_MISS, number)
    return NONE


@compiled
def waits(gpu, core, number, failure):
    """Whether a miss that finds no line, MSHR or room waits for it, rather than go around the L1."""
    if gpu.hooks.l1_allocation_bypass_stall == 0 or failure == NO_NETWORK:
        return True
    core.ldst_blocked = failure
    own = core.own_l1_allocation
    return call_hook(gpu.hooks.l1_allocation_bypass_stall, core.address, own, np.uint64(number), gpu.cycle) == 0


@compiled
def take_entry(gpu, core, requests, address, way):
    """Reserve what a miss needs: a line (unless lines are taken on fill), an MSHR, room to leave; all of it or nothing."""
    cache = core.l1d
    wants_line = way == NO_WAY and cache.on_fill == 0
    if wants_line:
        way = victim(cache, address)
        if way == NO_WAY:
            return NO_TAG
    if mshr_full(core.mshr):
        return NO_MSHR
    if no_room(core, requests):
        return NO_NETWORK
    if wants_line:
        dirty = not goes_silently(cache, way) and cache.line[way].state == DIRTY
        if dirty and not write_back(gpu, core, requests, way):
            return NO_NETWORK
        take_line(gpu, core, way, address, sector_bit(cache, address))
    elif way != NO_WAY:
        expect(cache, way, sector_bit(cache, address))
    allocate(core.mshr, address, way)
    core.known_miss = 0
    return NONE


@compiled
def why_rejected(core, op):
    """Why a load's next access would be rejected while no MSHR is free; NONE if it hits, or merges with a pending miss. That its
    line is not there is noted, for that stays so until another miss is taken."""
    cache, address = core.l1d, op.lines[op.served]
    way = probe(cache, address)
    if way != NO_WAY and (cache.line[way].sectors & sector_bit(cache, address) or (cache.by_word and were_written(cache, way, op))):
        return NONE
    if find_entry(core.mshr, address) != NO_ENTRY:
        return NONE
    core.known_miss = way == NO_WAY
    if way == NO_WAY and cache.on_fill == 0 and victim(cache, address) == NO_WAY:
        return NO_TAG
    return NO_MSHR


@compiled
def bypass(gpu, core, requests, number, address):
    """A read that the L1 leaves alone."""
    if no_room(core, requests):
        return NO_NETWORK
    core.ops[number].outstanding += 1
    core.ops[number].missed += 1
    core.l1_misses += 1
    send(gpu, core, requests, READ, address, gpu.sector_bytes, number, number)
    return NONE


@compiled
def write_back(gpu, core, requests, way):
    """Send a dirty line to the L2; the caller has seen that it can leave. False if the access that evicts it cannot leave
    too: the line is gone then, and the access finds its place empty when it comes back."""
    core.l1_data_reads += 1
    send(gpu, core, requests, WRITE_BACK, address_of(core.l1d, way), core.l1d.line_bytes, 0, -1)
    if no_room(core, requests):
        invalidate(core.l1d, way)
        return False
    return True


@compiled
def forget_first_level(cores):
    """Empty the data and instruction caches of all cores, and of machine code the constants, which each launch has of its own."""
    for c in range(len(cores)):
        if cores[c].l15.enabled:
            forget_all(cores[c].l1c)
            forget_all(cores[c].l15)
        forget_all(cores[c].l1d)
        forget_all(cores[c].l1i)
        for sub_core in range(cores[c].sub_cores if cores[c].l0.enabled else 0):
            forget_all(cores[c].l0.cache[sub_core])


@compiled
def token_of(entry):
    """The token of a request whose waiters stand in an MSHR entry, and the entry of such a token."""
    return -1 - entry


@compiled
def fill_line(gpu, core, requests, entry, address):
    """Data of a sector have come for the L1D; those who wait for it stand in the MSHR entry."""
    cache = core.l1d
    way = core.mshr.entry[entry].way
    bit = sector_bit(cache, address)
    if way == NO_WAY and cache.on_fill:
        if cache.tracked and core.mshr.entry[entry].first != NOBODY:
            note_access(core, core.ops[core.mshr.waiter[core.mshr.entry[entry].first].token], address, READ)
        way = probe(cache, address)
        if way == NO_WAY:
            way = line_for_fill(gpu, core, requests, address)
            if way != NO_WAY:
                take_line(gpu, core, way, address, bit)
    if way != NO_WAY:
        cache.line[way].prefetched = core.mshr.entry[entry].prefetch
        if cache.line[way].prefetched:
            cache.asked[way] = core.mshr.entry[entry].asked
        fill(cache, way, bit)
        place_in_order(cache, way)
        if is_heard(gpu, ON_FILL):
            tell(gpu, core, ON_FILL, way)
        core.l1_data_writes += 1
        core.mshr.entry[entry].way = way


@compiled
def line_for_fill(gpu, core, requests, address):
    """A line for data that have come; none if all of the set are in flight, or the one to go is dirty and cannot leave now."""
    cache = core.l1d
    way = victim(cache, address)
    if way != NO_WAY and not goes_silently(cache, way) and cache.line[way].state == DIRTY:
        if no_room(core, requests):
            return NO_WAY
        write_back(gpu, core, requests, way)
    return way
