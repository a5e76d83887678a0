"""Memory divergence correction (Ausavarungnirun et al., PACT 2015; BOOK 4.4.4): the L2 and DRAM treat warps by how often they hit.

Of each warp's reads at the L2, `sample` are counted, and the share that hit makes it all-miss (none), mostly-miss (below
`mostly_miss` percent), balanced, mostly-hit (`mostly_hit` percent or more) or all-hit (all; policies/warp_types.py). Every `period`
cycles counts that are complete begin anew. All-miss and mostly-miss warps go around the L2 (`bypass`), but not while they are
counted; lines for mostly-miss warps are filled as the next to go (`insertion`); reads of mostly-hit and all-hit warps go before all
others in DRAM (`scheduling`).

Choices: all numbers, the bounds and how they are tuned among them; a warp without a type is treated as balanced; a read of a line
in flight has missed.
"""

import numpy as np

from simtlab.policies import warp_types
from simtlab.policies.hook import hook
from simtlab.policies.sets import whole_numbers
from simtlab.policies.warp_types import ALL_MISS, MOSTLY_HIT, MOSTLY_MISS, READ, begin_period, forget, note_read, warp_of

source = "Ausavarungnirun et al., PACT 2015; BOOK 4.4.4"
bytes_a_core = 64 * (6 + 6 + 3) // 8  # of each warp hits, reads and type
scope = "chip"
parameters = {"bypass": 1, "insertion": 1, "scheduling": 1, "sample": 32, "period": 50_000, "mostly_miss": 20, "mostly_hit": 70}
limits = {
    "bypass": (0, 1), "insertion": (0, 1), "scheduling": (0, 1), "sample": (1, None), "period": (1, None),
    "mostly_miss": (0, 100), "mostly_hit": (0, 100),
}  # fmt: skip
counters = {
    "types": ("decisions", "That a warp is all-miss (1), mostly-miss (2), balanced (3), mostly-hit (4) or all-hit (5).", 1),
    "bypassed": ("reads", "Sent around the L2, for their warps seldom hit there."),
    "inserted_last": ("lines", "Filled as the next of their set to go."),
    "first": ("reads", "Put before those of other warps in DRAM."),
}
counts = [*whole_numbers(["bypassed", "inserted_last", "first"]), ("types", "i8", (5,))]
state = np.dtype([*whole_numbers(parameters), *counts, *warp_types.fields])


@hook
def on_l2_hit(slice, own, request, cycle):
    note_read(own, slice.cache.access, 1)


@hook
def on_l2_miss(slice, own, request, cycle):
    note_read(own, slice.cache.access, 0)


@hook
def on_tick(core, own, count, cycle):
    begin_period(core, own, cycle)


@hook
def on_warp_end(core, own, warp, cycle):
    forget(core, own, warp)


@hook
def l2_allocation_bypass(slice, own, request, cycle):
    warp = warp_of(own, slice.cache.access)
    goes_around = own.bypass != 0 and warp.reads == own.sample and (warp.type == ALL_MISS or warp.type == MOSTLY_MISS)
    own.bypassed += goes_around
    return goes_around


@hook
def l2_replacement_insert(cache, own, way, cycle):
    goes_next = own.insertion != 0 and cache.access.kind == READ and warp_of(own, cache.access).type == MOSTLY_MISS
    own.inserted_last += goes_next
    return 0 if goes_next else cache.ways - 1


@hook
def dram_scheduler_priority(channel, own, position, cycle):
    entry = channel.entries[position]
    goes_first = own.scheduling != 0 and entry.core >= 0 and entry.pc >= 0 and warp_of(own, entry).type >= MOSTLY_HIT
    own.first += goes_first
    return goes_first
