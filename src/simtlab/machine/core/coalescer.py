"""The coalescer: the lanes' addresses become as few memory accesses as they touch lines (or 32-byte sectors)."""

import numpy as np

from simtlab.compiled import compiled, count_ones
from simtlab.execute.image import NO_IMAGE, find_image
from simtlab.execute.memory import HEAP_BASE, is_local, is_shared, lane_address
from simtlab.execute.simt_stack import lowest_lane
from simtlab.execute.surface import FAULTED, NOWHERE, handle_of, locate
from simtlab.execute.surface import SURFACE as IMAGE
from simtlab.isa.spaces import LOCAL_BASE
from simtlab.machine.core.atomic_passes import next_pass
from simtlab.machine.core.match_values import count_values
from simtlab.machine.core.shared_memory import conflict_passes
from simtlab.machine.core.state import MAX_ACCESSES
from simtlab.machine.core.timing import Memory, timing_at
from simtlab.machine.core.wavefronts import WORD_BYTES, data_wavefronts, tag_wavefronts, words_at
from simtlab.program.action import Action

GLOBAL, LOCAL, SHARED, CONSTANT = (int(m) for m in (Memory.GLOBAL, Memory.LOCAL, Memory.SHARED, Memory.CONSTANT))
GENERIC, SURFACE, EXCHANGE = int(Memory.GENERIC), int(Memory.SURFACE), int(Memory.EXCHANGE)
LOAD = int(Action.LOAD)
LOCAL_MEMORY_BASE = 0x6000_0000_0000  # where threads' local memory lies for the caches, words of 32 lanes side by side


@compiled
def coalesce(gpu, core, op, warp, ins, mask):
    """Fill in the accesses of an instruction about to issue: its way, the lines it touches, its passes."""
    op.accesses = op.behind = op.wavefronts = op.data_wavefronts = 0
    if mask == 0:
        return
    if op.memory == GENERIC:
        address = lane_address(warp, ins, lowest_lane(mask))
        op.memory = SHARED if is_shared(address) else LOCAL if is_local(address) else GLOBAL
    if op.memory == EXCHANGE:
        row = timing_at(core.slots[op.slot].timing).row[op.pc]
        op.values = 1
        if row.value_at >= 0:
            op.values = count_values(warp.window + ins.operands[row.value_at], row.value_rows, mask)
        op.passes = row.passes * op.values
        return
    if op.memory == SHARED:
        before = gpu.conflicts.wanted
        op.passes = conflict_passes(gpu, warp, ins, mask, op.is_store == 0 and op.is_atomic == 1)
        core.shared_words += (gpu.conflicts.wanted - before) * max(1, ins.access_bytes // gpu.bank_bytes)
        return
    if op.memory == SURFACE:
        op.memory = GLOBAL
        add_surface(gpu, core, op, warp, ins, mask)
        return
    if op.memory == CONSTANT and core.one_constant > 0:
        add_constants(core, op, warp, ins, mask)
        return
    if op.memory == LOCAL:
        add_all_local(gpu, core, op, warp, ins, mask)
        return
    granule = gpu.constant_line_bytes if op.memory == CONSTANT else gpu.sector_bytes
    if op.is_atomic and gpu.atomics_by_lane:
        add_atomics(core, op, warp, ins, mask, granule)
        return
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            add(op, lane_address(warp, ins, lane), ins.access_bytes, granule)
    measure(op)
    if core.banked_tags and op.memory != CONSTANT and op.is_atomic == 0 and op.accesses > 0:
        wide = ins.access_bytes > WORD_BYTES  # through the data in parts, as in shared memory
        count_wavefronts(core, op, conflict_passes(gpu, warp, ins, mask, False) if wide else data_wavefronts(op))


@compiled
def count_wavefronts(core, op, through_data):
    """How often an access goes through the L1's tags and data. Lanes that all want the same sector have it at once."""
    tags = op.data_wavefronts = 1
    if op.accesses > 1:
        tags, op.data_wavefronts = tag_wavefronts(core.l1d, op), through_data
    op.wavefronts += max(tags, op.data_wavefronts)
    core.tag_wavefronts += tags
    core.data_wavefronts += op.data_wavefronts


@compiled
def add_constants(core, op, warp, ins, mask):
    """A load of constants of machine code: each address that lanes want."""
    slot = core.slots[op.slot]
    place = timing_at(slot.timing).row[op.pc].constant
    if place >= 0:
        add(op, slot.constants + place, WORD_BYTES, WORD_BYTES)
        return
    start = 0 if ins.action == LOAD else slot.constants + ins.operands[ins.address_at + 2]
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            add(op, start + lane_address(warp, ins, lane), WORD_BYTES, WORD_BYTES)


@compiled
def add_atomics(core, op, warp, ins, mask, granule):
    """Lanes of an atomic: in passes where tags are in banks, else each after those before it that have the same address."""
    if core.banked_tags:
        add_passes(core, op, warp, ins, mask, granule)
        return
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            address = lane_address(warp, ins, lane)
            add_atomic(op, address, ins.access_bytes, granule, turn_of(warp, ins, mask, lane, address))


@compiled
def add_passes(core, op, warp, ins, mask, granule):
    left, turn = np.uint32(mask), 0
    while left != 0:
        going = next_pass(core, warp, ins, left)
        for lane in range(32):
            if (going >> np.uint32(lane)) & np.uint32(1):
                add_atomic(op, lane_address(warp, ins, lane), ins.access_bytes, granule, turn)
        left = np.uint32(left & ~going)
        turn += 1


@compiled
def turn_of(warp, ins, mask, lane, address):
    """How many lanes before this one have the same address: as many times its atomic has to wait."""
    turn = 0
    for other in range(lane):
        if (mask >> np.uint32(other)) & np.uint32(1):
            turn += lane_address(warp, ins, other) == address
    return turn


@compiled
def add_atomic(op, address, size, granule, turn):
    """An atomic's lane goes with the others of its sector that have the same turn, in an access of their own."""
    line = address & -granule
    k = op.accesses - 1
    while k >= 0 and not (op.lines[k] == line and op.turn[k] == turn):
        k -= 1
    if k < 0:
        k = op.accesses
        op.lines[k], op.turn[k], op.first[k], op.bytes[k] = line, turn, address, 0
        op.accesses += 1
    op.bytes[k] = min(op.bytes[k] + size, granule)


@compiled
def measure(op):
    """A store carries each word once, however many lanes write to it."""
    if op.is_store:
        for k in range(op.accesses):
            op.bytes[k] = WORD_BYTES * count_ones(np.uint64(op.first[k]))


@compiled
def add_surface(gpu, core, op, warp, ins, mask):
    """Texels of a surface lie in global memory. A bad access is the instruction's own fault, reported when it runs."""
    kernel = gpu.kernel[core.slots[op.slot].kernel]
    size = ((ins.detail >> 9 & 3) + 1) << (ins.detail >> 4 & 3)
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            image = find_image(kernel.launch, handle_of(warp, ins, lane), IMAGE, ins.detail & 15)
            place = FAULTED if image == NO_IMAGE else locate(image, kernel.worker, warp, ins, op.pc, lane, size)
            if place != FAULTED and place != NOWHERE:
                address = place - kernel.launch.arena + HEAP_BASE
                add(op, address, size, gpu.sector_bytes)
    measure(op)


@compiled
def add_all_local(gpu, core, op, warp, ins, mask):
    """Local variables. Where lanes of a wide one use different indices they may touch more lines than a record holds: their first
    words go before their second ones then, and so on."""
    op.lanes, op.access_bytes = mask, ins.access_bytes
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            offset = lane_address(warp, ins, lane)
            op.offsets[lane] = np.uint32(offset - LOCAL_BASE if offset >= LOCAL_BASE else offset)
    words = np.int64(max(1, ins.access_bytes // WORD_BYTES))
    if not add_lanes(gpu, core, op, words):
        for word in range(words):
            add_words(gpu, core, op, word)
            op.behind += op.accesses
        add_words(gpu, core, op, 0)
        op.behind -= op.accesses
        op.word = 1
    count_local(core, op)


@compiled
def go_on(gpu, core, op):
    """All accesses have been made of the words so far: those of the next ones."""
    add_words(gpu, core, op, op.word)
    op.word += 1
    op.served = 0
    op.behind -= op.accesses
    count_local(core, op)


@compiled
def add_lanes(gpu, core, op, words):
    """All words of all lanes. False if the record has no room for them."""
    fit = True
    for lane in range(32):
        if (np.uint32(op.lanes) >> np.uint32(lane)) & np.uint32(1):
            for word in range(words):
                fit = fit and add_local(gpu, core, op, lane, word)
    return fit


@compiled
def add_words(gpu, core, op, word):
    """One word of all lanes: for as many there is room."""
    op.accesses = 0
    for lane in range(32):
        if (np.uint32(op.lanes) >> np.uint32(lane)) & np.uint32(1):
            add_local(gpu, core, op, lane, word)


@compiled
def add_local(gpu, core, op, lane, word):
    """A word of a lane's local variable: words lie apart, 32 lanes of each side by side. False if the record has no room for it."""
    address = local_address(gpu, core, op.slot, lane, np.int64(op.offsets[lane]) + word * WORD_BYTES)
    return add(op, address, min(np.int64(op.access_bytes), WORD_BYTES), gpu.sector_bytes)


@compiled
def count_local(core, op):
    measure(op)
    if core.banked_tags:
        count_wavefronts(core, op, data_wavefronts(op))


@compiled
def local_address(gpu, core, w, lane, offset):
    """Local memory as the caches see it: the same word of 32 lanes lies side by side."""
    warp_bytes = 32 * max(gpu.local_bytes, WORD_BYTES)
    first = LOCAL_MEMORY_BASE + (core.number * 64 + w) * warp_bytes
    return first + offset // WORD_BYTES * 32 * WORD_BYTES + lane * WORD_BYTES + offset % WORD_BYTES


@compiled
def add(op, address, size, granule):
    """Add a lane's bytes to the access of its line. False if it has none and there is no room for one."""
    line = address & -granule
    k = op.accesses - 1
    if k >= 0 and op.lines[k] != line and is_new(op, line):
        k = -1
    while k >= 0 and op.lines[k] != line:
        k -= 1
    if k >= 0:
        op.bytes[k] = min(op.bytes[k] + size, granule)
        op.words[k] |= words_at(address - line, size)
        op.first[k] = op.first[k] | words_at(address - line, size) if op.is_store else min(op.first[k], address)
        return True
    if op.accesses == MAX_ACCESSES:
        return False
    op.lines[op.accesses] = line
    op.words[op.accesses] = words_at(address - line, size)
    op.first[op.accesses] = words_at(address - line, size) if op.is_store else address
    op.bytes[op.accesses] = min(size, granule)
    op.accesses += 1
    return True


@compiled
def is_new(op, line):
    """Whether no access is of that line; looks at all of them, which the host does several at a time."""
    seen = 0
    for k in range(op.accesses):
        seen |= op.lines[k] == line
    return seen == 0


