"""Mascar: where memory is saturated one warp loads at a time, and hits overtake misses (Sethia et al., HPCA 2015; BOOK 5.1.2).

Memory-aware scheduling (`mas`): with room in the MSHRs and in the queue to the network, warps about to issue a memory instruction
go first (equal priority). With either almost full, the others go first, and of memory instructions only those of the owner warp
issue, until it comes to an instruction that waits for data (memory access priority); then the oldest memory warp owns.

Cache access re-execution: where the oldest instruction of the load/store unit is a load that is stalled, one whose next line is in
the L1 goes before it. `queue_entries` is how many can wait in the unit, put aside or not; 0 leaves re-execution out. While memory
is saturated the owner's misses go before those of other warps.

Choices: saturated is `spare` MSHRs or fewer left, or one place or none in the queue to the network; within each kind of warp the
warp scheduler decides (the paper's is gto); all that goes to the load/store unit is a memory instruction; a miss of a warp that
does not own waits behind hits and the owner's, those of the oldest warp first, and goes where there are none; stores and atomics,
which no L1 serves, are not put aside and nothing but hits overtakes them: else what gives a lock back starves behind the tries of
older warps. Where threads spin it still loses (ATM): the oldest own the memory to try again, and one that holds a lock waits.
"""

import numpy as np

from simtlab.policies.congestion import is_saturated, is_stalled
from simtlab.policies.hook import bit_of, hook, memory_warps, oldest, waiting
from simtlab.policies.ldst_order import first_that_hits, is_miss, miss_of
from simtlab.policies.looks import can_run
from simtlab.policies.sets import whole_numbers

source = "Sethia, Jamshidi, Mahlke, HPCA 2015; BOOK 5.1.2"
bytes_a_core = 32 * 10 + 48 // 4 + 2  # 32 instructions put aside (address, lanes, warp); two bits a warp; the owner and the mode
parameters = {"mas": 1, "queue_entries": 36, "spare": 4}
limits = {"mas": (0, 1), "queue_entries": (0, 64), "spare": (0, 256)}
counters = {
    "owners": ("warps", "Times that another warp came to own the memory."),
    "kept": ("cycles", "In which a scheduler kept back memory instructions of warps that do not own."),
    "overtook": ("instructions", "That went before a stalled one in the load/store unit."),
}
state = np.dtype(whole_numbers(parameters, counters, ["saturated", "owner"]))
patient = True  # it asks what the core holds, which changes with the core


@hook
def allow(core, own, ready, cycle):
    memory = np.uint64(ready & memory_warps(core))
    others = np.uint64(ready & ~memory)
    if own.mas == 0 or memory == 0:
        return ready
    was_saturated, own.saturated = own.saturated, is_saturated(core, own.spare)
    if own.saturated == 0:
        return memory
    if can_run(core) & bit_of(own.owner) == 0 or (was_saturated == 0 and memory & bit_of(own.owner) == 0):
        own.owner = oldest(core, memory)
        own.owners += 1
    owned = np.uint64(memory & bit_of(own.owner))
    own.kept += owned != memory
    return others if others != 0 else owned


@hook
def ldst_queue_next(core, own, count, cycle):
    saturated = own.mas != 0 and is_saturated(core, own.spare)
    if own.queue_entries == 0 or not is_miss(core, waiting(core, 0)) or not (saturated or is_stalled(core)):
        return 0
    hit = first_that_hits(core, np.int64(count))
    if hit < np.int64(count):
        own.overtook += 1
        return hit
    return miss_of(core, own.owner, np.int64(count)) if saturated else 0
