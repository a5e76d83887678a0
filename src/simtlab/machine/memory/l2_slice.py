"""An L2 slice (BOOK 4.3): a request waits out the slice's pipe, then hits, merges with a pending miss, or goes to DRAM.

The L2 is write-back: a write takes its line without reading it (which words it has written is known), and the sectors of a line
that are dirty go to DRAM when it is evicted, from the first to the last. Atomics are carried out here, in order of arrival.
Every request but a write-back is answered.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.events import is_heard, tell
from simtlab.machine.fifo import NOTHING, front, is_full, pop, push
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.memory import mshr as table
from simtlab.machine.memory.cache import (
    DIRTY,
    NO_WAY,
    expect,
    fill,
    place_in_order,
    probe_set,
    rank,
    reserve,
    sector_of,
    touch,
    write_words,
)
from simtlab.machine.memory.l1 import sector_bit
from simtlab.machine.memory.l2_arrival import bring_first, note_request
from simtlab.machine.memory.l2_entry import (
    NO_DRAM_ROOM,
    NO_LINE,
    NO_MSHR,
    NO_OUTPUT,
    NONE,
    coalesce,
    follows,
    goes_along,
    is_out_of_room,
    note_write,
)
from simtlab.machine.memory.l2_parts import come_across, has_come_across, must_cross, send_across
from simtlab.machine.memory.l2_to_dram import feed_dram, has_way_to_dram, make_room, misses_come_across, send_to_dram
from simtlab.machine.request import Kind, L2Answer, end
from simtlab.machine.watch_log import note_end

READ, WRITE, WRITE_BACK, ATOMIC = int(Kind.READ), int(Kind.WRITE), int(Kind.WRITE_BACK), int(Kind.ATOMIC)
ON_HIT, ON_MISS = (EVENT_NUMBERS[f"on_l2_{event}"] for event in ("hit", "miss"))
INSTRUCTION, CONSTANT = int(Kind.INSTRUCTION), int(Kind.CONSTANT)
HIT, HIT_RESERVED, MISS = (int(answer) for answer in L2Answer)
find_entry, merge, allocate = table.find, table.merge, table.allocate
mshr_full, can_merge, take_waiter, release = table.is_full, table.can_merge, table.take_waiter, table.release
NO_ENTRY, NOBODY = table.NO_ENTRY, table.NOBODY
NOT_FILLING = -1
FAR_FUTURE = np.int64(1 << 62)
ATOMIC_BYTES = 32  # the most an atomic's answer carries


@compiled
def tick(gpu, slice, channel, requests):
    """One L2 cycle: data from DRAM first, then the oldest request, then whatever is due for DRAM."""
    if slice.blocked:
        slice.stalls += gpu.l2.cycle - slice.ticked - 1  # cycles slept through
    slice.ticked = gpu.l2.cycle
    if slice.crossing.count > 0:
        come_across(gpu, slice, requests)
    if slice.far_misses.count > 0:
        misses_come_across(gpu, slice, requests)
    if slice.far_hits.count > 0:
        answer_across(gpu, slice, requests)
    if slice.filling != NOT_FILLING or slice.fills.count > 0:
        take_data(gpu, slice, requests)
    number = serve(gpu, slice, requests)
    for _ in range(1, gpu.l2_sectors):
        if number == NOTHING or not follows(gpu, slice, requests, number):
            break
        number = serve(gpu, slice, requests)
    fed = feed_dram(gpu, slice, channel, requests)
    gpu.slice_wake[slice.number] = next_wake(gpu, slice, requests, fed)


@compiled
def next_wake(gpu, slice, requests, fed):
    """The next L2 cycle in which the slice can do something by itself. Room in the output queue or at the memory
    controller, data and new requests wake it."""
    now = gpu.l2.cycle
    if gpu.jump == 0:
        waiting = slice.fills.count + slice.input.count + slice.crossing.count + slice.to_dram.count + slice.far_misses.count
        waiting += slice.far_hits.count
        is_idle = slice.filling == NOT_FILLING and waiting == 0
        return FAR_FUTURE if is_idle else now + 1
    has_data = slice.fills.count > 0 if slice.filling == NOT_FILLING else not is_out_of_room(gpu, slice)
    if has_data or (fed and slice.blocked == NO_DRAM_ROOM):
        return now + 1
    wake = FAR_FUTURE
    if slice.input.count > 0 and not slice.blocked:
        wake = max(requests.entry[front(slice.input)].ready, now + 1)
    if slice.crossing.count > 0 and not is_full(slice.input):
        wake = min(wake, max(requests.entry[front(slice.crossing)].ready, now + 1))
    if slice.far_misses.count > 0:
        wake = min(wake, max(requests.entry[front(slice.far_misses)].ready, now + 1))
    if slice.far_hits.count > 0 and not is_out_of_room(gpu, slice):
        wake = min(wake, max(requests.entry[front(slice.far_hits)].ready, now + 1))
    if slice.to_dram.count > 0 and not slice.refused:
        wake = min(wake, max(requests.entry[front(slice.to_dram)].ready, now + 1))
    return wake


@compiled
def sectors_of(cache, address, size):
    """The sectors of a line that so many bytes from an address touch."""
    bits = sector_bit(cache, address)
    last = address | (cache.line_bytes - 1)
    for place in range(address + cache.sector_bytes, min(address + size - 1, last) + 1, cache.sector_bytes):
        bits = np.uint32(bits | sector_bit(cache, place))
    return bits


@compiled
def take_data(gpu, slice, requests):
    """Sectors have come from DRAM: fill them, and answer one of those who wait for it each cycle."""
    if slice.filling == NOT_FILLING:
        if requests.entry[front(slice.fills)].entry == NO_ENTRY:
            pass_on(gpu, slice, requests)
            return
        request = requests.entry[pop(slice.fills)]
        request.from_dram = gpu.cycle - request.born
        slice.filling = request.entry
        way = slice.mshr.entry[slice.filling].way
        if way != NO_WAY:
            fill(slice.cache, way, sectors_of(slice.cache, slice.mshr.entry[slice.filling].address, request.dram_bytes))
            if slice.cache.tracked:
                note_request(slice.cache, request)
                place_in_order(slice.cache, way)
    if is_out_of_room(gpu, slice):
        return
    waiter = take_waiter(slice.mshr, slice.filling)
    if waiter != NOBODY:
        touch_for(slice, requests.entry[waiter])
        if is_late(gpu, slice, requests, waiter):
            send_across(gpu, slice, requests, waiter)
        else:
            answer(gpu, slice, requests, waiter)
    if slice.mshr.entry[slice.filling].first == NOBODY:
        release(slice.mshr, slice.filling)
        slice.filling = NOT_FILLING


@compiled
def is_late(gpu, slice, requests, number):
    """Whether a read of the other part waited for data that somebody of this one had asked for: they have yet to cross the chip."""
    request, way = requests.entry[number], slice.mshr.entry[slice.filling].way
    if way == NO_WAY:
        return False
    sectors = sectors_of(slice.cache, sector_of(slice.cache, request.address), request.bytes)
    return must_cross(gpu, slice, request, way, sectors) and request.l2_answer == HIT_RESERVED


@compiled
def answer_across(gpu, slice, requests):
    """Answer those whose data have crossed the chip."""
    number = has_come_across(gpu, slice, requests)
    while number != NOTHING:
        answer(gpu, slice, requests, number)
        number = has_come_across(gpu, slice, requests)


@compiled
def pass_on(gpu, slice, requests):
    """Data have come for a read that went around the L2."""
    if is_out_of_room(gpu, slice):
        return
    number = pop(slice.fills)
    requests.entry[number].from_dram = gpu.cycle - requests.entry[number].born
    slice.around -= 1
    answer(gpu, slice, requests, number)


@compiled
def touch_for(slice, request):
    """An atomic leaves its line dirty."""
    if request.kind == ATOMIC:
        way = probe_set(slice.cache, request.set, request.address)
        if way != NO_WAY:
            make_dirty(slice, way, request.address)


@compiled
def make_dirty(slice, way, address):
    line = slice.cache.line[way]
    line.dirty = np.uint32(line.dirty | sector_bit(slice.cache, address))
    if line.pending == 0:
        line.state = DIRTY
    rank(slice.cache, way)


@compiled
def answer(gpu, slice, requests, number):
    """Send a request back to its core, its data a hit latency from now, and those that were looked up with it."""
    while number != NOTHING:
        request = requests.entry[number]
        companion, request.next = request.next, NOTHING
        answer_one(gpu, slice, request, number)
        number = companion


@compiled
def answer_one(gpu, slice, request, number):
    request.ready = gpu.l2.cycle + slice.cache.hit_latency + (gpu.l2_atomic_latency if request.kind == ATOMIC else 0)
    request.destination = request.home
    carries = 0 if request.kind == WRITE else min(request.bytes, ATOMIC_BYTES) if request.kind == ATOMIC else request.bytes
    request.flits = gpu.flits[carries]
    if slice.output.count == 0:
        gpu.reply_ready[slice.number] = request.ready
    push(slice.output, number)


@compiled
def serve(gpu, slice, requests):
    """Look at the oldest request; what it needs and cannot get now, it waits for. Gives a request that was served, or NOTHING."""
    number = front(slice.input)
    if number == NOTHING or requests.entry[number].ready > gpu.l2.cycle:
        slice.blocked = NONE
        return NOTHING
    if gpu.hooks.l2_queue_priority != 0 and slice.input.count > 1:
        bring_first(slice, requests, gpu.l2.cycle)
        number = front(slice.input)
    if not is_still_blocked(gpu, slice):
        kind = requests.entry[number].kind
        is_write = kind == WRITE or kind == WRITE_BACK
        free_at = (slice.next_atomic + 99) // 100 if kind == ATOMIC else slice.write_end
        if is_write and goes_along(gpu, slice, requests.entry[number]):
            free_at = np.int64(0)
        if free_at > gpu.l2.cycle:
            requests.entry[number].ready = free_at  # it is busy with another
            slice.blocked = NONE
            return NOTHING
        slice.blocked = write(gpu, slice, requests, number) if is_write else read(gpu, slice, requests, number)
    if slice.blocked == NONE:
        if gpu.coalesced_reads > 1 and requests.entry[number].kind == READ:
            companion = coalesce(gpu, slice, requests, number)
            if companion != NOTHING and requests.entry[number].l2_answer == HIT:
                requests.entry[number].next = NOTHING  # which is answered already
                answer(gpu, slice, requests, companion)
        if requests.entry[number].kind == ATOMIC:
            slice.next_atomic = max(slice.next_atomic, 100 * gpu.l2.cycle - 99) + slice.atomic_hundredths
        pop(slice.input)
        slice.accesses += 1
        slice.code_accesses += requests.entry[number].kind == INSTRUCTION or requests.entry[number].kind == CONSTANT
        return number
    slice.stalls += 1
    return NOTHING


@compiled
def is_still_blocked(gpu, slice):
    """Whether what the oldest request waited for is sure to be missing still; whatever it does, it needs room for an answer."""
    if is_out_of_room(gpu, slice):
        slice.blocked = NO_OUTPUT
        return True
    if slice.blocked == NO_MSHR:
        return mshr_full(slice.mshr)
    return slice.blocked == NO_DRAM_ROOM and not has_way_to_dram(slice)


@compiled
def read(gpu, slice, requests, number):
    """A read (or an atomic). Gives what it must wait for."""
    request = requests.entry[number]
    cache = slice.cache
    address = sector_of(slice.cache, request.address)
    way = probe_set(cache, request.set, address)
    wanted = sectors_of(cache, address, request.bytes)
    if cache.tracked:
        note_request(cache, request)
    if way != NO_WAY and cache.line[way].sectors & wanted == wanted and not must_queue(gpu, slice, request, address):
        touch(cache, way)
        slice.hits += 1
        request.l2_answer = HIT
        if request.kind == ATOMIC:
            make_dirty(slice, way, address)
            slice.atomics += 1
        if must_cross(gpu, slice, request, way, wanted):
            send_across(gpu, slice, requests, number)
        else:
            answer(gpu, slice, requests, number)
        if is_heard(gpu, ON_HIT):
            tell(gpu, slice, ON_HIT, number)
        return NONE
    block = fetched_from(gpu, address)
    entry = find_entry(slice.mshr, block)
    if entry != NO_ENTRY:
        if not can_merge(slice.mshr, entry):
            return NO_LINE
        merge(slice.mshr, entry, number)
        slice.hits_reserved += 1
        request.l2_answer = HIT_RESERVED
        slice.atomics += request.kind == ATOMIC
        if is_heard(gpu, ON_MISS):
            tell(gpu, slice, ON_MISS, number)
        return NONE
    if mshr_full(slice.mshr):
        return NO_MSHR
    if not has_way_to_dram(slice):
        return NO_DRAM_ROOM
    if way == NO_WAY:
        way = make_room(gpu, slice, requests, request.set)
        if way < 0:
            return -way
        reserve(cache, way, block, np.uint32(0))
        slice.copied[way] = 0
    request.bytes = max(request.bytes, cache.sector_bytes)
    request.dram_bytes = max(request.bytes, gpu.l2_fetch_bytes)
    coming = sectors_of(cache, block, request.dram_bytes)
    expect(cache, way, coming)
    must_cross(gpu, slice, request, way, coming)  # they will: a miss of the other part brings all of them there
    request.entry = allocate(slice.mshr, block, way)
    merge(slice.mshr, request.entry, number)
    slice.misses += 1
    request.l2_answer = MISS
    slice.atomics += request.kind == ATOMIC
    send_to_dram(gpu, slice, requests, number)
    if is_heard(gpu, ON_MISS):
        tell(gpu, slice, ON_MISS, number)
    return NONE


@compiled
def fetched_from(gpu, address):
    """Where the bytes begin that a miss of an address reads from DRAM."""
    return address & -gpu.l2_fetch_bytes if gpu.l2_fetch_bytes > 0 else address


@compiled
def must_queue(gpu, slice, request, address):
    """Whether an atomic finds its line there while others that came before it are still being served: it joins them."""
    if request.kind != ATOMIC or slice.filling == NOT_FILLING:
        return False
    return slice.mshr.entry[slice.filling].address == fetched_from(gpu, address)


@compiled
def write(gpu, slice, requests, number):
    """A write stays in its line, dirty. Gives what it must wait for."""
    request = requests.entry[number]
    cache = slice.cache
    way = probe_set(cache, request.set, request.address)
    if cache.tracked:
        note_request(cache, request)
    slice.writes += 1
    if way == NO_WAY:
        way = make_room(gpu, slice, requests, request.set)
        if way < 0:
            slice.writes -= 1
            return -way
        reserve(cache, way, request.address, np.uint32(0))
    slice.copied[way] = 0
    write_words(cache, way, request.address, request.words, True)
    touch(cache, way)
    request.l2_answer = HIT
    gpu.wrote = 1
    note_write(gpu, slice, request)
    if request.kind == WRITE_BACK:
        if gpu.watch != 0:
            note_end(gpu, request)
        end(requests, gpu.thread, number)
    else:
        answer(gpu, slice, requests, number)
    return NONE
