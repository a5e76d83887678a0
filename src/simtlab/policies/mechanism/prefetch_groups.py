"""Prefetch-aware warp groups (Jog et al., ISCA 2013; BOOK 5.1.2): two-level scheduling in groups of warps that are not neighbours.

Neighbouring warps want neighbouring lines. Where they are in one group, as with two-level scheduling, a simple prefetcher is too
late: the warp that wants the line comes right after the one that foresaw it. Here group g has the warps g, g + `groups`, … of a
core; the current group goes first until all its warps wait for memory or at a barrier, then the next. What a group prefetches
around its lines is for groups to come, and its own misses are spread over more banks of DRAM. The prefetcher: as soon as `misses`
of the four lines of a block have missed, it fetches the others.

Parts: `spread` = 0 has neighbouring warps in a group, `prefetch` = 0 no prefetcher. Choices: issue slots that the current group
leaves empty go to the next one that is ready (holding back the loads of later groups did worse); a core's schedulers share the
current group, so that an odd number of `groups` serves two of them best; blocks are kept in a direct-mapped table.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.policies.hook import bit_of, count_bits, hook, prefetch

source = "Jog et al., ISCA 2013; BOOK 5.1.2"
MOST_GROUPS, ENTRIES, LINES = 16, 64, 4
block_t = np.dtype([("block", "i8"), ("missed", "u8")])
bytes_a_core = ENTRIES * (4 + 1) + 1  # of each block a tag and which of its lines have missed; the current group
state = np.dtype([
    ("groups", "i8"), ("spread", "i8"), ("prefetch", "i8"), ("misses", "i8"), ("members", "u8", (MOST_GROUPS,)), ("current", "i8"),
    ("table", block_t, (ENTRIES,)), ("held_back", "i8"), ("switches", "i8"), ("asked", "i8"),
])  # fmt: skip
parameters = {"groups": 3, "spread": 1, "prefetch": 1, "misses": 2}
limits = {"groups": (1, MOST_GROUPS), "spread": (0, 1), "prefetch": (0, 1), "misses": (1, LINES)}
counters = {
    "held_back": ("cycles", "In which a scheduler's ready warps of other groups waited for the current one."),
    "switches": ("switches", "To another group, when all warps of the current one waited."),
    "asked": ("lines", "Prefetched for the rest of a block."),
}
patient = True  # it never holds all back


@compiled
def form_groups(core, own):
    for w in range(core.warp_slots):
        group = w % own.groups if own.spread else w * own.groups // core.warp_slots
        own.members[group] = np.uint64(own.members[group] | bit_of(w))


@hook
def allow(core, own, ready, cycle):
    if own.members[0] == 0:
        form_groups(core, own)
    can_run = np.uint64(core.occupied & ~(core.long | core.barrier | core.membar | core.draining | core.paused))
    if can_run & own.members[own.current] == 0 and can_run != 0:
        own.switches += 1
        while can_run & own.members[own.current] == 0:
            own.current = (own.current + 1) % own.groups
    group = own.current
    while ready & own.members[group] == 0:
        group = (group + 1) % own.groups
    own.held_back += ready & ~own.members[group] != 0
    return ready & own.members[group]


@hook
def prefetcher_on_miss(core, own, op, cycle):
    load = core.ops[op]
    line = load.lines[load.served] // core.l1d.line_bytes
    block, entry = line // LINES + 1, own.table[line // LINES % ENTRIES]
    if entry.block != block:
        entry.block, entry.missed = block, np.uint64(0)
    before = count_bits(np.uint64(entry.missed))
    entry.missed = np.uint64(entry.missed | bit_of(line % LINES))
    if own.prefetch and before < own.misses <= count_bits(np.uint64(entry.missed)):
        for k in range(LINES):
            if entry.missed & bit_of(k) == 0:
                own.asked += 1
                prefetch(core, ((block - 1) * LINES + k) * core.l1d.line_bytes, load.slot, load.pc, cycle)
