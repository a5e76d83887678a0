"""Stores on their way out of a core: one to a sector that another was sent to shortly before goes with it.

An H200's L2 sees fewer written sectors than its L1s: where warps of a core write to one sector within some tens of cycles, such as
a flag that all of them set or words side by side in one warp's next store, the L2 gets one write of them all. Here the first leaves
at once, and those that come within `l1d.store_combining_cycles` add their words to it as long as the L2 has not written it. Where
the core's port is busy stores wait for it, and the last `l1d.store_combining_lines` of them can be combined with as long as they
wait: an array in local memory of which a warp writes to 16 lines in turn leaves an H200's core as whole lines, one of 32 lines word
by word. A store that was combined counts as written at once: a fence does not wait for it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.cta_slots import acknowledge
from simtlab.machine.fifo import item_at
from simtlab.machine.request import NOT_YET, Kind

WRITE = int(Kind.WRITE)
SET_BITS, WAYS = 6, 4  # of the table of sectors, which is as large as the most that wait
GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
NOT_WRITTEN = -1


@compiled
def place_of(core, address):
    """Where a sector is in the table, or has its place: the one of its set that was taken first."""
    first = WAYS * np.int64(np.uint64(np.uint64(address >> 5) * GOLDEN) >> np.uint64(64 - SET_BITS))
    oldest = first
    for way in range(WAYS):
        place = first + way
        if core.combining[place].address == address:
            return place
        if core.combining[place].order < core.combining[oldest].order:
            oldest = place
    return oldest


@compiled
def combine(gpu, core, requests, number):
    """Add a store's words to an earlier one's, if there is one under way; whether that was done."""
    op = core.ops[number]
    address = op.lines[op.served]
    place = core.combining[place_of(core, address)]
    if place.address != address:
        return False
    request = requests.entry[place.number]
    if request.l2_answer != NOT_WRITTEN or request.address != address or request.born != place.born:
        return False
    if core.lines_sent - place.order > gpu.combining_lines:
        return False
    if request.sent != NOT_YET and gpu.cycle - place.born > gpu.combining_cycles:
        return False
    request.words = np.uint64(request.words | np.uint64(op.first[op.served]))
    core.stores_combined += 1
    acknowledge(gpu, core, op.slot, gpu.cycle)
    return True


@compiled
def note_store(gpu, core, requests, number):
    """A write is under way that others may be combined with."""
    if gpu.combining_cycles == 0:
        return
    request = requests.entry[number]
    place = core.combining[place_of(core, np.int64(request.address))]
    note_line(gpu, core, np.int64(request.address))
    place.address, place.number, place.order = request.address, number, core.lines_sent
    place.born = gpu.cycle
    request.l2_answer = NOT_WRITTEN


@compiled
def note_line(gpu, core, address):
    """A write or an atomic is under way to a line."""
    line = address >> gpu.packet_shift
    core.lines_sent += line != core.line_sent
    core.line_sent = line


@compiled
def is_whole(gpu, requests, queue):
    """Whether all that waits in front of a core's queue to be written of one line are whole sectors: what was combined may be."""
    first = requests.entry[item_at(queue, 0)]
    for k in range(queue.count):
        request = requests.entry[item_at(queue, k)]
        if request.kind != WRITE or (request.address ^ first.address) >> gpu.packet_shift != 0:
            break
        if request.words != gpu.whole_sector:
            return False
    return True
