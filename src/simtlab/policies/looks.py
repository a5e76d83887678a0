"""What a hook can see of a core beyond its plain fields: warps, the loads that wait, the program's loops and loads."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros, load_i64
from simtlab.machine.core.inflight import count_bits
from simtlab.machine.core.kinds import Unit
from simtlab.machine.facts import N_COMPARED, NO_LOOP, NOT_READ, facts_at
from simtlab.machine.fifo import item_at
from simtlab.machine.memory.cache import NO_WAY, probe
from simtlab.machine.memory.l1 import sector_bit
from simtlab.machine.memory.mshr import NO_ENTRY, find
from simtlab.policies.sets import added, each

LDST = int(Unit.LDST)
MIX = np.uint64(0x9E3779B97F4A7C15)
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)

__all__ = [
    "NO_LOOP", "active_lanes", "can_run", "compared", "fact_of", "is_first_in_line", "is_in_l1", "is_in_loop",
    "is_there_or_coming", "line_in_l1", "memory_warps", "next_loads", "next_pc", "waiting", "was_merged",
]  # fmt: skip


@compiled
def waiting(core, place):
    """The instruction, of core.ops, that has `place` others before it in the load/store unit's queue."""
    return item_at(core.ldst_queue, place)


@compiled
def memory_warps(core):
    """The warps whose next instruction goes to the load/store unit."""
    return core.unit_of_head[LDST]


@compiled
def can_run(core):
    """The warps that wait neither for data nor at a barrier, nor with their CTA."""
    return np.uint64(core.occupied & ~(core.long | core.barrier | core.membar | core.draining | core.paused))


@compiled
def next_pc(core, warp):
    """Where a warp goes on."""
    slot = core.slots[warp]
    return core.ctas[slot.cta].warps[slot.warp].pc


@compiled
def active_lanes(core, warp):
    """How many lanes of a warp execute now."""
    slot = core.slots[warp]
    return count_bits(np.uint64(core.ctas[slot.cta].warps[slot.warp].mask))


@compiled
def fact_of(core, warp, pc):
    """What is known of an instruction of a warp's program (simtlab.machine.facts)."""
    return facts_at(core.slots[warp].facts).row[pc]


@compiled
def next_loads(core, warps):
    """Those warps of a set whose next instruction is a global load."""
    found = np.uint64(0)
    for w in each(np.uint64(warps & memory_warps(core))):
        if fact_of(core, w, core.slots[w].head).deterministic >= 0:
            found = added(found, w)
    return found


@compiled
def is_in_loop(core, warp, pc, inside):
    """Whether an instruction is in the innermost loop of another, or in a loop within that."""
    loop = fact_of(core, warp, inside)
    return loop.loop != NO_LOOP and loop.header <= pc <= loop.last


@compiled
def is_in_l1(core, op):
    """Whether the next access of a load would hit in the L1."""
    address = core.ops[op].lines[core.ops[op].served]
    way = probe(core.l1d, address)
    return way != NO_WAY and core.l1d.line[way].sectors & sector_bit(core.l1d, address) != 0


@compiled
def is_first_in_line(core, load, k):
    """Whether no access of a load before its k-th is in the same line."""
    for earlier in range(k):
        if load.lines[earlier] >> core.l1d.line_shift == load.lines[k] >> core.l1d.line_shift:
            return False
    return True


@compiled
def line_in_l1(core, op):
    """The line of the L1, of core.l1d.line, that holds or will hold what the next access of a load wants, or NO_WAY."""
    return probe(core.l1d, core.ops[op].lines[core.ops[op].served])


@compiled
def is_there_or_coming(core, op):
    """Whether the line that the next access of a load wants is in the L1, or in flight."""
    return line_in_l1(core, op) != NO_WAY or find(core.mshr, core.ops[op].lines[core.ops[op].served]) != NO_ENTRY


@compiled
def was_merged(core, op):
    """In `on_l1_miss`: whether what the access wants was in flight already, for another load."""
    entry = find(core.mshr, core.ops[op].lines[core.ops[op].served])
    return entry != NO_ENTRY and core.mshr.entry[entry].waiting > 1


@compiled
def compared(core, warp):
    """A hash of what a warp's next instruction compares, in its first active lane."""
    slot = core.slots[warp]
    state = core.ctas[slot.cta].warps[slot.warp]
    fact, lane = facts_at(slot.facts).row[slot.head], 0
    if state.mask != 0:
        lane = count_trailing_zeros(np.uint64(state.mask))
    mixed = np.uint64(0)
    for k in range(N_COMPARED):
        if fact.compared[k] != NOT_READ:
            at, bits = lane * fact.lane_bytes[k], 8 * fact.lane_bytes[k]
            word = np.uint64(load_i64(state.window + fact.compared[k] + at // 8 * 8)) >> np.uint64(8 * (at % 8))
            word = np.uint64(word & ALL_BITS >> np.uint64(64 - bits))
            mixed = np.uint64((mixed ^ word) * MIX)
    return np.int64(mixed >> np.uint64(1))
