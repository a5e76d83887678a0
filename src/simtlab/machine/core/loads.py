"""What global loads do to the memory system, load by load: accesses by outcome, and where the time to the result went.

A load's turnaround, from issue to its result, is cut where the L1 takes its first access and where it takes its last: before that
it waits for earlier warps, in between for its own earlier accesses, and afterwards for its data. The time that an empty machine
would take is what the fastest so far took: of the core's loads, to their first access; of its requests, from there on, by where
the data were (L1, L2, DRAM). What a load takes beyond that was lost in the network and the memory partitions.
"""

import numpy as np

from simtlab.compiled import compiled, reader_of
from simtlab.machine.core.state import MAX_ACCESSES
from simtlab.machine.core.timing import Memory
from simtlab.machine.cta_sharing import note
from simtlab.machine.request import L1Outcome, L2Answer, Level
from simtlab.program.encode import MAX_INSTRUCTIONS

GLOBAL = int(Memory.GLOBAL)
L1, L2, DRAM = (int(level) for level in Level)
HIT, HIT_RESERVED = int(L2Answer.HIT), int(L2Answer.HIT_RESERVED)
OUTCOMES, ANSWERS = len(L1Outcome), len(L2Answer)
FAIL_TAG = int(L1Outcome.FAIL_TAG)
LATE = np.int32((1 << 31) - 1)
FAR_FUTURE = np.int64(1 << 62)

# Executions of a load with so many accesses: how often, cycles, and cycles between its first and its last request at three places.
of_size_t = np.dtype([(name, "i8") for name in ("executed", "turnaround", "gap_l1d", "gap_to_l2", "gap_from_l2")])

# All executions of one load of a kernel, summed up; times are core cycles.
load_t = np.dtype(
    [
        ("executed", "i8"),  # by warps
        ("threads", "i8"),
        ("requests", "i8"),  # accesses to the L1
        ("outcome", "i8", (OUTCOMES,)),
        ("l2", "i8", (ANSWERS,)),
        ("turnaround", "i8"),
        ("unloaded", "i8"),  # its parts
        ("by_earlier", "i8"),
        ("by_itself", "i8"),
        ("memory", "i8"),
        ("of_size", of_size_t, (MAX_ACCESSES,)),
    ]
)
loads_at = reader_of(np.dtype([("row", load_t, (MAX_INSTRUCTIONS // 2,))]))


@compiled
def reset(core):
    core.fastest_wait = FAR_FUTURE
    for level in range(len(core.fastest_way)):
        core.fastest_way[level] = FAR_FUTURE


@compiled
def is_counted(gpu, op):
    """Whether an instruction is a load with an address in global memory, and such are counted."""
    return op.deterministic >= 0 and op.memory == GLOBAL and op.accesses > 0 and gpu.counts_loads


@compiled
def set_out(gpu, op, cta):
    """A load of a CTA is issued, its accesses known."""
    op.level, op.joined, op.missed = 0, 0, 0
    op.first_arrival, op.first_departure, op.last_arrival, op.last_departure = LATE, LATE, 0, 0
    for k in range(ANSWERS):
        op.l2[k] = 0
    for k in range(len(op.failed)):
        op.failed[k] = 0
    note(gpu, op, cta)


@compiled
def accepted(op, cycle):
    """The L1 takes the load's next access."""
    op.last_access = cycle - op.issued
    if op.served == 0:
        op.first_access = op.last_access


@compiled
def answer_came(core, op, request, is_own, cycle):
    """Data that the load waits for are there; the request was its own, or that of another which it merged with."""
    level = L2 if request.l2_answer == HIT else DRAM
    op.level = max(op.level, level)
    if is_own:
        if request.l2_answer != HIT_RESERVED:
            core.fastest_way[level] = min(core.fastest_way[level], cycle + 1 - request.born)  # the result is there a cycle later
        op.l2[request.l2_answer] += 1
        waited = request.born - op.issued
        arrival, departure = np.int32(waited + request.arrived), np.int32(waited + request.answered)
        op.first_arrival, op.last_arrival = min(op.first_arrival, arrival), max(op.last_arrival, arrival)
        op.first_departure, op.last_departure = min(op.first_departure, departure), max(op.last_departure, departure)


@compiled
def count_global_load(gpu, core, op, number):
    """A load has its result: add it to the others of its place in the program."""
    load = loads_at(gpu.kernel[core.slots[op.slot].kernel].loads).row[number]
    load.executed += 1
    load.threads += op.active
    load.requests += op.accesses
    load.outcome[0] += op.accesses - op.joined - op.missed
    load.outcome[1] += op.joined
    load.outcome[2] += op.missed
    for k in range(len(op.failed)):
        load.outcome[FAIL_TAG + k] += op.failed[k]
    for k in range(ANSWERS):
        load.l2[k] += op.l2[k]
    count_time(core, op, load, gpu.cycle - op.issued)
    count_size(op, load.of_size[op.accesses - 1], gpu.cycle - op.issued)


@compiled
def count_time(core, op, load, turnaround):
    """The parts of its turnaround, which add up to it."""
    way = turnaround - op.last_access
    core.fastest_wait = min(core.fastest_wait, np.int64(op.first_access))
    if op.level == L1:
        core.fastest_way[L1] = min(core.fastest_way[L1], way)
    needed = min(core.fastest_way[op.level], way)
    load.turnaround += turnaround
    load.unloaded += core.fastest_wait + needed
    load.by_earlier += op.first_access - core.fastest_wait
    load.by_itself += op.last_access - op.first_access
    load.memory += way - needed


@compiled
def count_size(op, of_size, turnaround):
    of_size.executed += 1
    of_size.turnaround += turnaround
    of_size.gap_l1d += op.last_access - op.first_access
    if op.last_departure > 0:
        of_size.gap_to_l2 += op.last_arrival - op.first_arrival
        of_size.gap_from_l2 += op.last_departure - op.first_departure
