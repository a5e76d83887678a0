"""What a watched core does, noted while the machine runs: a log of changes, from which `watch_reading.py` makes the cycles.

After each cycle of the window an entry is written for each warp, instruction and missed line of the core that is not as it was
when last noted; and one for each memory request of the core that has ended. Nothing of the machine is changed by it. A run that
nobody watches has no log: `gpu.watch` is 0.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled, reader_of, seldom
from simtlab.execute.warp_parts import entry_at
from simtlab.machine.core.kinds import OpState
from simtlab.machine.core.state import MAX_OPS, REGISTER_WORDS
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_MSHRS, MAX_WARPS
from simtlab.machine.record import record_t
from simtlab.machine.request import CAPACITY


class Entry(IntEnum):
    """Kinds of entries. Each is so many 64-bit words: its kind, its length, and what stands beside it here."""

    CYCLE = 0  # cycle, causes of the schedulers (8 bits each), schedulers
    WARP = 1  # slot and what `write_warp` writes
    WARP_LEFT = 2  # slot
    INSTRUCTION = 3  # number and what `write_instruction` writes
    COLLECTOR = 4  # instruction, slot, pc, operands to read, operands, their banks (8 bits each)
    QUEUE = 5  # numbers of the instructions in the load/store unit's queue
    BANKS = 6  # sub-core, register banks that were read, … and written, as bits
    LINE = 7  # MSHR entry, address or NO_LINE
    REQUEST = 8  # what `write_request` writes


class Wait(IntEnum):
    """What a warp waits for; of several the first counts, as in `core/stall.py`."""

    NOTHING = 0
    WAIT = 1
    SHORT_SCOREBOARD = 2
    CONSTANT = 3
    LONG_SCOREBOARD = 4
    BRANCH = 5
    MEMBAR = 6
    BARRIER = 7
    DRAIN = 8
    FETCH = 9


CYCLE, WARP, WARP_LEFT, INSTRUCTION, COLLECTOR, QUEUE, BANKS, LINE, REQUEST = (int(entry) for entry in Entry)
(READY, WAIT, SHORT_SCOREBOARD, CONSTANT, LONG_SCOREBOARD, BRANCH, MEMBAR, BARRIER, DRAIN, FETCH) = (int(wait) for wait in Wait)
FREE = int(OpState.FREE)
NOWHERE, NO_LINE, UNKNOWN = -1, -1, -1
WORDS = 1 << 20  # of a log, before the host takes them away
MOST_OF_A_CYCLE = 1 << 16  # words: 64 warps with full SIMT stacks are 51,000
REQUEST_WORDS = 14
FAR_FUTURE = np.int64(1 << 62)

words_at = reader_of(np.dtype([("word", "i8", (WORDS,))]))
watch_t = record_t(
    [
        ("core", "i8"),
        ("last", "i8"),  # the cycle in which nothing is noted any more
        ("length", "i8"),  # of a window that begins with the first instruction issued,
        ("waiting", "i8"),  # … and has not begun
        ("instructions", "i8"),  # that the core had issued at the last look then
        ("closed", "i8"),  # the window is over
        ("kernels", "i8"),  # of earlier launches of the window: the number of this run's first
        ("words", "i8"),  # host address of the log,
        ("used", "i8"),  # … and how much of it is written
        ("lost", "i8"),  # requests for which there was no room
        ("warp_at", "i8", (MAX_WARPS,)),  # where in the log each warp slot was last noted, or NOWHERE
        ("instruction_at", "i8", (MAX_OPS,)),
        ("line", "i8", (MAX_MSHRS,)),  # as last noted
        ("is_free", "i1", (CAPACITY,)),  # requests or MSHR entries, while the others are looked for
    ]
)
watch_at = reader_of(watch_t)


@compiled
def forget(watches):
    """Begin the log anew: everything is noted again. From Python."""
    begin_anew(watches[0])


@compiled
def begin_anew(watch):
    watch.used = 0
    for w in range(MAX_WARPS):
        watch.warp_at[w] = NOWHERE
    for k in range(MAX_OPS):
        watch.instruction_at[k] = NOWHERE
    for k in range(MAX_MSHRS):
        watch.line[k] = NO_LINE


@seldom
@compiled
def note_cycle(gpu, cores, requests):
    """Note what the watched core has become in a cycle; with the last of the window, what it still has under way."""
    watch = watch_at(gpu.watch)
    if watch.closed:
        return
    core = cores[watch.core]
    if watch.waiting:
        look_for_issue(watch, core, gpu.cycle)
    if gpu.cycle < watch.last:
        write_cycle(watch, core, gpu.cycle)
    if gpu.cycle >= watch.last - 1:
        write_under_way(watch, requests)
    if watch.closed or watch.used > WORDS - MOST_OF_A_CYCLE:
        gpu.pause, gpu.until = 1, gpu.cycle  # this stretch of the run ends, and the host takes the log


@compiled
def look_for_issue(watch, core, cycle):
    """A window that begins with the first instruction: of the cycles before it, only the last one stays in the log."""
    if watch.instructions == core.instructions or watch.instructions == UNKNOWN:
        begin_anew(watch)
        watch.instructions = core.instructions
    else:
        watch.waiting, watch.last = 0, cycle + watch.length


@compiled
def write_cycle(watch, core, cycle):
    word, at = words_at(watch.words).word, watch.used
    causes = np.int64(0)
    for scheduler in range(core.schedulers):
        causes |= core.cause[scheduler] << (8 * scheduler)
    word[at], word[at + 1], word[at + 2], word[at + 3], word[at + 4] = CYCLE, 5, cycle, causes, core.schedulers
    watch.used += 5
    note_warps(watch, core)
    note_instructions(watch, core)
    write_collectors(watch, core)
    write_queue(watch, core.ldst_queue)
    write_banks(watch, core, cycle)
    note_lines(watch, core.mshr)


@compiled
def note_warps(watch, core):
    word = words_at(watch.words).word
    for w in range(core.warp_slots):
        if np.uint64(core.occupied >> np.uint64(w)) & np.uint64(1):
            watch.warp_at[w] = keep_if_new(watch, watch.warp_at[w], write_warp(watch, core, w))
        elif watch.warp_at[w] != NOWHERE:
            at = watch.used
            word[at], word[at + 1], word[at + 2] = WARP_LEFT, 3, w
            watch.used += 3
            watch.warp_at[w] = NOWHERE


@compiled
def keep_if_new(watch, before, length):
    """An entry stands at the end of the log: keep it unless it says what an earlier one does. Gives where it is said."""
    word, at = words_at(watch.words).word, watch.used
    if before != NOWHERE and word[before + 1] == length:
        same = 0
        while same < length and word[before + same] == word[at + same]:
            same += 1
        if same == length:
            return before
    watch.used += length
    return at


@compiled
def write_warp(watch, core, w):
    """A warp, its SIMT stack from the top; gives the entry's length."""
    word, at = words_at(watch.words).word, watch.used
    slot = core.slots[w]
    cta = core.ctas[slot.cta]
    warp = cta.warps[slot.warp]
    length = 15 + REGISTER_WORDS + 3 * warp.depth
    word[at], word[at + 1], word[at + 2], word[at + 3], word[at + 4] = WARP, length, w, cta.number, slot.warp
    word[at + 5], word[at + 6], word[at + 7] = watch.kernels + slot.kernel, slot.head, slot.buffered
    word[at + 8] = slot.fetched if core.detail > 1 else UNKNOWN  # one loop has no buffer
    word[at + 9], word[at + 10] = warp.executed, waits_for(core, np.uint64(np.uint64(1) << np.uint64(w)))
    word[at + 11], word[at + 12], word[at + 13], word[at + 14] = warp.pc, warp.reconverge, warp.mask, warp.depth
    for k in range(REGISTER_WORDS):
        word[at + 15 + k] = slot.pending[k]
    place = at + 15 + REGISTER_WORDS
    for k in range(warp.depth):
        entry = entry_at(warp, warp.depth - 1 - k)
        word[place], word[place + 1], word[place + 2] = entry.pc, entry.reconverge, entry.mask
        place += 3
    return length


@compiled
def waits_for(core, bit):
    if (core.busy_warp | core.wait | core.stalled & ~(core.short | core.constant | core.long | core.barrier)) & bit:
        return WAIT
    if core.short & bit:
        return SHORT_SCOREBOARD
    if core.constant & bit:
        return CONSTANT
    if core.long & bit:
        return LONG_SCOREBOARD
    if core.resolving & bit:
        return BRANCH
    if core.membar & bit:
        return MEMBAR
    if core.barrier & bit:
        return BARRIER
    if core.draining & bit:
        return DRAIN
    return READY if core.buffered & bit else FETCH


@compiled
def note_instructions(watch, core):
    """Instructions between issue and write-back; one that is done once more, as free."""
    for number in range(MAX_OPS):
        if core.ops[number].state != FREE:
            write_instruction(watch, core.ops[number], number)
            watch.instruction_at[number] = keep_if_new(watch, watch.instruction_at[number], 11)
        elif watch.instruction_at[number] != NOWHERE:
            write_instruction(watch, core.ops[number], number)
            watch.used += 11
            watch.instruction_at[number] = NOWHERE


@compiled
def write_instruction(watch, op, number):
    word, at = words_at(watch.words).word, watch.used
    word[at], word[at + 1], word[at + 2], word[at + 3], word[at + 4] = INSTRUCTION, 11, number, op.issued, op.slot
    word[at + 5], word[at + 6], word[at + 7] = op.pc, op.state, op.unit
    word[at + 8], word[at + 9], word[at + 10] = op.accesses, op.served, op.outstanding


@compiled
def write_collectors(watch, core):
    """The collector units in use, oldest first."""
    word = words_at(watch.words).word
    for k in range(core.collecting):
        unit, at = core.collector[core.in_order[k]], watch.used
        banks = np.int64(0)
        for operand in range(unit.count):
            banks |= np.int64(unit.banks[operand]) << (8 * operand)
        word[at], word[at + 1], word[at + 2], word[at + 3] = COLLECTOR, 8, unit.op, unit.slot
        word[at + 4], word[at + 5], word[at + 6], word[at + 7] = core.ops[unit.op].pc, unit.wanted, unit.count, banks
        watch.used += 8


@compiled
def write_queue(watch, queue):
    if queue.count == 0:
        return
    word, at = words_at(watch.words).word, watch.used
    word[at], word[at + 1] = QUEUE, 2 + queue.count
    for k in range(queue.count):
        word[at + 2 + k] = queue.items[(queue.head + k) % queue.limit]
    watch.used += 2 + queue.count


@compiled
def write_banks(watch, core, cycle):
    word = words_at(watch.words).word
    for sub_core in range(core.sub_cores):
        read, written = np.int64(0), np.int64(0)
        for bank in range(core.banks):
            read |= np.int64(core.bank_read[sub_core, bank] == cycle) << bank
            written |= np.int64(core.bank_written[sub_core, bank] == cycle) << bank
        if read | written:
            at = watch.used
            word[at], word[at + 1], word[at + 2], word[at + 3], word[at + 4] = BANKS, 5, sub_core, read, written
            watch.used += 5


@compiled
def note_lines(watch, mshr):
    """The lines that have been missed and are in flight."""
    for number in range(mshr.entries):
        watch.is_free[number] = 0
    for k in range(mshr.used, mshr.entries):
        watch.is_free[mshr.free_entry[k]] = 1
    for number in range(mshr.entries):
        note_line(watch, number, NO_LINE if watch.is_free[number] else mshr.entry[number].address)


@compiled
def note_line(watch, number, address):
    if watch.line[number] == address:
        return
    word, at = words_at(watch.words).word, watch.used
    word[at], word[at + 1], word[at + 2], word[at + 3] = LINE, 4, number, address
    watch.used += 4
    watch.line[number] = address


@seldom
@compiled
def note_end(gpu, request):
    """A request ends: its answer has come to the core, or it was a write-back, which nobody answers."""
    watch = watch_at(gpu.watch)
    if request.core == watch.core and not (watch.closed or watch.waiting):
        write_request(watch, request, gpu.cycle)


@compiled
def write_request(watch, request, ended):
    """A request with all its times, and the cycle in which it ended or UNKNOWN."""
    if watch.used + REQUEST_WORDS > WORDS:
        watch.lost += 1
        return
    word, at, born = words_at(watch.words).word, watch.used, request.born
    word[at], word[at + 1], word[at + 2], word[at + 3] = REQUEST, REQUEST_WORDS, request.address, request.kind
    word[at + 4], word[at + 5], word[at + 6], word[at + 7] = request.warp, request.l2_answer, born, born + request.sent
    word[at + 8] = born + request.arrived
    word[at + 9] = born + request.to_dram if request.to_dram else 0
    word[at + 10] = born + request.from_dram if request.from_dram else 0
    word[at + 11], word[at + 12], word[at + 13] = born + request.answered, born + request.delivered, ended
    watch.used += REQUEST_WORDS


@compiled
def close(watches, pools):
    """End a window before its time. From Python."""
    if not (watches[0].closed or watches[0].waiting):
        write_under_way(watches[0], pools[0])


@compiled
def write_under_way(watch, requests):
    """The window is over: what the core's requests have come to, those in the pool that are not free."""
    watch.closed = 1
    used = requests.pool[0].fresh  # a watched machine is run by one thread
    for number in range(used):
        watch.is_free[number] = 0
    free = requests.pool[0].free
    while free != NOTHING:
        watch.is_free[free] = 1
        free = np.int64(requests.entry[free].next)
    for number in range(used):
        if not watch.is_free[number] and requests.entry[number].core == watch.core:
            write_request(watch, requests.entry[number], UNKNOWN)
