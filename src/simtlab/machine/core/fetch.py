"""Instruction fetch: warps with an empty instruction buffer take turns at the L1 instruction cache."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.instruction_buffer import look_at_head
from simtlab.machine.core.l0_instruction_cache import (
    NOT_THERE,
    fetch_again,
    is_followed,
    read_line,
    stream,
    wait_for_line,
    when_there,
)
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.memory.cache import NO_WAY, fill, line_of, lock, probe, reserve, touch, victim
from simtlab.machine.memory.l1 import no_room, send
from simtlab.machine.request import Kind

INSTRUCTION = int(Kind.INSTRUCTION)


@compiled
def wanting(core, sub_core):
    """The warps of a sub-core that need instructions and can be fetched for now."""
    want = np.uint64(core.occupied & ~core.buffered & ~core.barrier & ~core.draining & ~(core.fetching | core.refused))
    if core.sub_cores > 1:
        want = np.uint64(want & core.within[sub_core])
    return np.uint64(want & ~core.resolving)


@compiled
def fetch(gpu, core, requests):
    """Each sub-core fetches for a warp or more: the next in turn."""
    for sub_core in range(core.sub_cores):
        for _ in range(core.fetches):
            want = wanting(core, sub_core)
            if want == 0:
                break
            turn = core.fetch_turn[sub_core]
            later = np.uint64(want >> np.uint64(turn)) if turn < 64 else np.uint64(0)
            w = turn + lowest_bit(later) if later != 0 else lowest_bit(want)
            core.fetch_turn[sub_core] = w + 1
            fetch_for(gpu, core, requests, w)


@compiled
def fetch_for(gpu, core, requests, w):
    """Read the cache line of the warp's next instruction: decoded instructions on a hit, a request on a miss."""
    slot = core.slots[w]
    kernel = gpu.kernel[slot.kernel]
    address = kernel.code_base + slot.head * kernel.instruction_bytes
    if core.ideal_fetch:
        core.l1i_hits += core.detail > 1
        decode(gpu, core, w, address)
        return
    if core.l0.enabled and found_in_l0(gpu, core, requests, w, address):
        return
    cache = core.l1i
    way = probe(cache, address)
    if way != NO_WAY and cache.line[way].pending == 0:
        if core.line_cycles > 0 and cache.asked[way] > gpu.cycle:
            core.moved = core.changed = gpu.cycle  # it is being filled
            if core.l0.enabled:
                fetch_again(core, w, cache.asked[way], gpu.cycle)
            return
        touch(cache, way)
        if way == slot.asked_line:
            unlock_line(core, slot)
        if core.l0.enabled:
            bring_to_l0(gpu, core, requests, w, address)
            return
        core.l1i_hits += core.detail > 1  # one loop: every instruction reads the cache when it is issued
        decode(gpu, core, w, address)
        if core.prefetch_lines > 0:
            prefetch_behind(gpu, core, requests, w, address)
        return
    core.moved = core.changed = gpu.cycle
    if way == NO_WAY:
        way = victim(cache, address) if core.instruction_misses < core.most_instruction_misses else NO_WAY
        if way == NO_WAY or no_room(core, requests):
            core.refused = np.uint64(core.refused | bit_of(w))
            return
        ask(gpu, core, requests, way, address, w)
        lock(cache, way, 1)  # else warps could evict each other's lines for ever
        slot.asked_line = way
        core.stream_first = core.stream_end = 0
        prefetch_behind(gpu, core, requests, w, address)
    core.fetching = np.uint64(core.fetching | bit_of(w))


@compiled
def unlock_line(core, slot):
    """The warp need not have its line kept in the L1 any longer: it can be evicted."""
    lock(core.l1i, slot.asked_line, -1)
    slot.asked_line = NO_WAY
    core.refused = np.uint64(0)


@compiled
def found_in_l0(gpu, core, requests, w, address):
    """Whether the sub-core's L0 has the line, or it comes from the L1: then the warp reads it, or waits for it."""
    there = when_there(core, w, address)
    if there == NOT_THERE:
        return False
    if core.slots[w].asked_line != NO_WAY:
        unlock_line(core, core.slots[w])  # another warp has brought it here
    if there > gpu.cycle:
        wait_for_line(core, w, address, there, gpu.cycle)
        return True
    core.l0.hits += 1
    core.l0.line[w] = NO_WAY
    decode(gpu, core, w, address)
    if is_followed(core, core.sub_core_of[w], address):
        prefetch_to_l0(gpu, core, requests, w, address)
    return True


@compiled
def bring_to_l0(gpu, core, requests, w, address):
    """A line that the L1 has goes to the L0 of the warp's sub-core, and those behind it."""
    core.l0.misses += 1
    there = read_line(core, core.sub_core_of[w], address, gpu.cycle)
    wait_for_line(core, w, address, there, gpu.cycle)
    prefetch_to_l0(gpu, core, requests, w, address)


@compiled
def prefetch_to_l0(gpu, core, requests, w, address):
    """The streams go on: the L0's in the L1, the L1's beyond it in memory."""
    kernel = gpu.kernel[core.slots[w].kernel]
    end = kernel.code_base + kernel.instructions * kernel.instruction_bytes
    last = stream(core, core.sub_core_of[w], address, end, gpu.cycle)
    if core.prefetch_lines > 0:
        prefetch_behind(gpu, core, requests, w, last)


@compiled
def decode(gpu, core, w, address):
    """The instructions of a line from an address on, as many as are decoded at once, go into the warp's buffer."""
    slot, line_bytes = core.slots[w], core.l1i.line_bytes
    core.moved = core.changed = gpu.cycle
    left_in_line = (line_bytes - (address & (line_bytes - 1))) // gpu.kernel[slot.kernel].instruction_bytes
    width = left_in_line if core.detail == 1 else core.decode_width  # one loop has no buffer to fill
    slot.fetched = gpu.cycle
    slot.buffered = min(width, left_in_line, gpu.kernel[slot.kernel].instructions - slot.head)
    look_at_head(core, w)


@compiled
def prefetch_behind(gpu, core, requests, w, address):
    """Ask for the lines of the kernel that follow one. Those of the stream that were asked for before are not looked for again."""
    cache, kernel = core.l1i, gpu.kernel[core.slots[w].kernel]
    end = kernel.code_base + kernel.instructions * kernel.instruction_bytes
    following = line_of(cache, address) + cache.line_bytes
    last = min(following + core.prefetch_lines * cache.line_bytes, end)
    if core.stream_first <= following <= core.stream_end:
        following = core.stream_end
    else:
        core.stream_first = following
    while following < last and core.instruction_misses < core.most_instruction_misses and not no_room(core, requests):
        if probe(cache, following) == NO_WAY:
            way = victim(cache, following)
            if way == NO_WAY:
                break
            ask(gpu, core, requests, way, following, w)
        following += cache.line_bytes
    core.stream_end = following


@compiled
def bring_first_lines(core, kernel, k, cycle):
    """The beginning of a kernel's code comes with its first CTA, one line after the other."""
    core.begun = np.uint64(core.begun | bit_of(k))
    end = kernel.code_base + kernel.instructions * kernel.instruction_bytes
    address = line_of(core.l1i, kernel.code_base)
    there = cycle
    for _ in range(core.launch_lines):
        if address < end and probe(core.l1i, address) == NO_WAY:
            way = victim(core.l1i, address)
            if way != NO_WAY:
                reserve(core.l1i, way, address, np.uint32(1))
                fill(core.l1i, way, np.uint32(1))
                touch(core.l1i, way)
                core.l1i.asked[way] = there
                there += core.line_cycles
        address += core.l1i.line_bytes
    core.next_line = max(core.next_line, there)


@compiled
def ask(gpu, core, requests, way, address, w):
    """Send for a line of instructions."""
    cache = core.l1i
    core.l1i_misses += 1
    core.instruction_misses += 1
    reserve(cache, way, address, np.uint32(1))
    send(gpu, core, requests, INSTRUCTION, line_of(cache, address), cache.line_bytes, w, -1)


@compiled
def instructions_came(core, address, cycle):
    """A line of instructions has come, and is there when those before it are: whoever waited for one tries again."""
    way = probe(core.l1i, address)
    if way != NO_WAY:
        fill(core.l1i, way, np.uint32(1))
        core.next_line = max(core.next_line, cycle)
        core.l1i.asked[way] = core.next_line
        core.next_line += core.line_cycles
    core.fetching, core.refused = np.uint64(0), np.uint64(0)
    core.instruction_misses -= 1
