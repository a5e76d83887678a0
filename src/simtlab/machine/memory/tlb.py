"""Address translation (BOOK 4.4.8): each core has a TLB, all share another, and behind that page tables are walked.

A request leaves its core when its address is translated; those behind it in the core's queue wait too. The L1 is looked up by
virtual addresses: on an H200 a chase that hits there finds all pages alike. What the core's TLB does not have it asks the shared
one for, and that walks the tables for what it has not; others that want the same page meanwhile wait for the same walk. Either is
fully associative, and the least recently used entry is evicted. Where TLBs are warm, entries that were never used are taken without
a walk: as if launches before had touched all that there is room for.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_TLB_ENTRIES
from simtlab.machine.record import record_t

NOT_THERE = -1
NO_PAGES = -1

tlb_t = record_t(
    [
        ("entries", "i8"),
        ("taken", "i8"),  # of them, ever
        ("last", "i8"),  # the one that was found last
        ("clock", "i8"),  # counts accesses
        ("misses", "i8"),  # of a core's,
        ("walks", "i8"),  # … and those of them that the shared one missed too
        ("page", "i8", (MAX_TLB_ENTRIES,)),
        ("touched", "i8", (MAX_TLB_ENTRIES,)),  # by the clock
        ("ready", "i8", (MAX_TLB_ENTRIES,)),  # the core cycle from which on it is known
    ]
)


@compiled
def has_entry(gpu, core, address):
    """Whether a core's own TLB has an address, or waits for it."""
    own, page = core.tlb, address >> gpu.page_shift
    if own.taken > 0 and own.page[own.last] == page:
        return True
    for place in range(own.taken):
        if own.page[place] == page:
            return True
    return False


@compiled
def is_translated(chief, gpu, core, address):
    """Whether an address is known by now; it is asked for from now on. The TLB of all is the chief's."""
    own, page = core.tlb, address >> gpu.page_shift
    place = find(own, page)
    if place == NOT_THERE:
        is_new = own.taken < own.entries
        place = take(own, page)
        own.ready[place] = translated_at(chief, gpu.cycle, own, page, is_new)
    return own.ready[place] <= gpu.cycle


@compiled
def translated_at(chief, cycle, own, page, is_new):
    """When a core's TLB has a page that it has not had; a place that was never used may have it for nothing."""
    shared = chief.tlb
    place = find(shared, page)
    if place == NOT_THERE:
        is_free = chief.warm_tlbs and shared.taken < shared.entries
        place = take(shared, page)
        shared.ready[place] = 0 if is_free else cycle + chief.tlb_hit_cycles + chief.walk_cycles
        own.walks += 0 if is_free else 1
    if chief.warm_tlbs and is_new and shared.ready[place] <= cycle:
        return np.int64(0)
    own.misses += 1
    return max(shared.ready[place], cycle + chief.tlb_hit_cycles)


@compiled
def find(tlb, page):
    """The entry of a page, or NOT_THERE."""
    tlb.clock += 1
    if tlb.taken > 0 and tlb.page[tlb.last] == page:
        tlb.touched[tlb.last] = tlb.clock
        return tlb.last
    for place in range(tlb.taken):
        if tlb.page[place] == page:
            tlb.last = place
            tlb.touched[place] = tlb.clock
            return np.int64(place)
    return np.int64(NOT_THERE)


@compiled
def take(tlb, page):
    """An entry for a page: one that was never used, or the least recently used."""
    place = np.int64(0)
    if tlb.taken < tlb.entries:
        place = tlb.taken
        tlb.taken += 1
    else:
        for other in range(1, tlb.entries):
            if tlb.touched[other] < tlb.touched[place]:
                place = np.int64(other)
    tlb.page[place], tlb.touched[place], tlb.last = page, tlb.clock, place
    return place
