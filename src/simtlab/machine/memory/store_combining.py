"""Stores on their way out of a core: one to a sector that another was sent to shortly before goes with it.

An H200's L2 sees fewer written sectors than its L1s: where warps of a core write to one sector within some tens of cycles, such as
a flag that all of them set or words side by side in one warp's next store, the L2 gets one write of them all. Here the first leaves
at once, and those that come within `l1d.store_combining_cycles` add their words to it as long as the L2 has not written it. One
that was combined counts as written at once: a fence does not wait for it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.cta_slots import acknowledge

PLACE_BITS = 6  # of the hash of an address; a sector that finds its place taken takes it
GOLDEN = np.uint64(0x9E37_79B9_7F4A_7C15)
NOT_WRITTEN = -1


@compiled
def place_of(address):
    return np.int64(np.uint64(np.uint64(address >> 5) * GOLDEN) >> np.uint64(64 - PLACE_BITS))


@compiled
def combine(gpu, core, requests, number):
    """Add a store's words to an earlier one's, if there is one under way; whether that was done."""
    op = core.ops[number]
    address = op.lines[op.served]
    place = core.combining[place_of(address)]
    if place.address != address or gpu.cycle - place.sent > gpu.combining_cycles:
        return False
    request = requests.entry[place.number]
    if request.l2_answer != NOT_WRITTEN or request.address != address or request.born != place.sent:
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
    place = core.combining[place_of(request.address)]
    place.address, place.sent, place.number = request.address, gpu.cycle, number
    request.l2_answer = NOT_WRITTEN
