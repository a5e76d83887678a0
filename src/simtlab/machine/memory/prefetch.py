"""The prefetch port of an L1: lines that a policy expects to be wanted wait here for a cycle without a demand access.

A prefetch takes a line, an MSHR and a place on the way out like any miss, and waits while it cannot have them. It is dropped
if its line is there already, is in flight, or lies outside of memory, if the port's queue is full, and when a demand for its
line goes before it: fetched after that, the line would come for nobody.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_PREFETCHES
from simtlab.machine.memory.cache import NO_WAY, probe, sector_of
from simtlab.machine.memory.l1 import NO_ENTRY, NONE, find_entry, sector_bit, send, take_entry, token_of
from simtlab.machine.request import Kind

PREFETCH = int(Kind.PREFETCH)


class Drop(IntEnum):
    """Why a prefetch went no further."""

    PRESENT = 0
    PENDING = 1
    FULL = 2
    OVERTAKEN = 3
    OUTSIDE = 4


PRESENT, PENDING, FULL, OVERTAKEN, OUTSIDE = (int(d) for d in Drop)
ADDRESS_LIMIT = np.int64(1 << 47)  # no GPU's memory goes beyond it
NOTHING_WANTED = -1  # the address of a prefetch that was dropped while it waited


@compiled
def prefetch(core, address, warp, pc, cycle):
    """Ask for the line (or sector) of an address, for a warp slot; `pc` is the load that predicted it."""
    core.prefetch_asked += 1
    if not 0 <= np.int64(address) < ADDRESS_LIMIT:
        core.prefetch_dropped[OUTSIDE] += 1
        return
    queue = core.prefetches
    if queue.count >= queue.limit:
        core.prefetch_dropped[FULL] += 1
        return
    item = queue.items[(queue.head + queue.count) % MAX_PREFETCHES]
    item.address = sector_of(core.l1d, address)
    item.warp, item.pc, item.asked = warp, pc, cycle
    queue.count += 1


@compiled
def serve_prefetch(gpu, core, requests):
    """A cycle without a demand access: the oldest prefetch has the L1. False if it could not be served."""
    queue = core.prefetches
    while queue.count > 0 and queue.items[queue.head].address == NOTHING_WANTED:
        leave_queue(queue)
    if queue.count == 0:
        return False
    item = queue.items[queue.head]
    way = probe(core.l1d, item.address)
    if way != NO_WAY and core.l1d.line[way].sectors & sector_bit(core.l1d, item.address):
        core.prefetch_dropped[PRESENT] += 1
    elif find_entry(core.mshr, item.address) != NO_ENTRY:
        core.prefetch_dropped[PENDING] += 1
    elif not begin(gpu, core, requests, item, way):
        return False
    core.l1_lookups += 1
    leave_queue(queue)
    core.moved = gpu.cycle
    return True


@compiled
def leave_queue(queue):
    queue.head = (queue.head + 1) % MAX_PREFETCHES
    queue.count -= 1


@compiled
def overtake(core, address):
    """A demand has gone to the L1: a prefetch of the same line that still waits is not wanted any more."""
    queue = core.prefetches
    for k in range(queue.count):
        item = queue.items[(queue.head + k) % MAX_PREFETCHES]
        if item.address == address:
            item.address = NOTHING_WANTED
            core.prefetch_dropped[OVERTAKEN] += 1


@compiled
def begin(gpu, core, requests, item, way):
    """Send a prefetch; False if something it needs is not to be had now."""
    if take_entry(gpu, core, requests, item.address, way) != NONE:
        return False
    entry = core.mshr.entry[core.mshr.newest]
    entry.prefetch, entry.warp, entry.asked = 1, item.warp, item.asked
    core.prefetch_issued += 1
    send(gpu, core, requests, PREFETCH, item.address, core.l1d.sector_bytes, token_of(core.mshr.newest), -1)
    return True
