"""Host threads that run one machine together. What is counted does not depend on how many there are.

Every thread has a record of the chip of its own, and a part of the chip: cores that stand side by side, memory channels with their
L2 slices. Cores touch nothing outside their part when they are ticked (what they store is committed later, see
`core/deferred_writes.py`), and neither do slices and channels, so that the threads tick their parts at the same time.
In between the first thread, which leads, moves the networks' packets, dispatches CTAs and keeps the books, while the others
wait. Where little is to be done it ticks all parts itself, one after another, for to call the others takes longer; and not all of
them are at work where that is slower (`thread_count.py`).

What all threads count for the chip is added up whenever the run comes back to Python (`gather`).
"""

import ctypes

import numpy as np

from simtlab.compiled import UNCOMPILED, call_hook, compiled, load_acquire, pause, store_release
from simtlab.errors import SimtlabError
from simtlab.execute.state import Outcome, field_offset
from simtlab.machine.config import MachineConfig
from simtlab.machine.core.deferred_writes import take_over_fault
from simtlab.machine.limits import MAX_THREADS
from simtlab.machine.record import new_records, record_t
from simtlab.machine.thread_count import begin, size_t

SPENT = int(Outcome.SPENT)
LINE = 8  # 64-bit words of a cache line of the host, so that each thread has one of its own
TURNS, YIELDS, SLEEP = 1000, 200, 20  # looks at whether another thread is done at once, after others; microseconds
FAR_FUTURE = np.int64(1 << 62)

crew_t = record_t(
    [
        ("address", "i8"),  # of this record
        ("yield_processor", "i8"),  # of the host's functions
        ("sleep", "i8"),
        ("together", "i8", (LINE,)),  # so many are at work; 0: the first alone
        ("stop", "i8"),  # there is no more to do
        ("least", "i8"),  # units that are due, from which on the others are called
        ("at_work", size_t),  # how many of them
        ("call", "i8", (LINE,)),  # the number of the last call
        ("done", "i8", (LINE * MAX_THREADS,)),  # … of the last one that each thread has followed
    ]
)
CALL, DONE = field_offset(crew_t, "call"), field_offset(crew_t, "done")
LEAST_DUE = 12
CALLED = 128  # more than there are threads


def new_crew(threads: int) -> np.ndarray:
    crew = np.asarray(new_records(1, crew_t))
    begin(crew["at_work"][0], threads)
    library = ctypes.CDLL(None)
    crew["address"], crew["least"] = crew.ctypes.data, LEAST_DUE
    crew["yield_processor"] = ctypes.cast(library.sched_yield, ctypes.c_void_p).value
    crew["sleep"] = ctypes.cast(library.usleep, ctypes.c_void_p).value
    return crew


def most_threads(config: MachineConfig, wanted: int) -> int:
    """How many host threads can have a part of a machine each."""
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1:
        raise SimtlabError(f"threads is a whole number of host threads, 1 or more, not {wanted!r}")
    return 1 if UNCOMPILED else min(wanted, config.clusters, config.dram.channels, MAX_THREADS)


def deal_out(gpus: np.ndarray, cores: np.ndarray, slices: np.ndarray, channels: np.ndarray, threads: int) -> None:
    """Give each thread its part of a machine at rest, and a record of the chip like the first one's."""
    first = gpus[:1]
    per_cluster = int(first["cores_per_cluster"][0])
    bounds = [int(first["clusters"][0]) * t // threads * per_cluster for t in range(threads)] + [len(cores)]
    edges = [len(channels) * t // threads for t in range(threads + 1)]
    for t in range(threads):
        if t > 0:
            own = gpus[t]["blocks"].copy()
            gpus[t] = gpus[0]
            gpus[t]["blocks"] = own
        row = gpus[t]
        row["thread"], row["first_core"], row["end_core"] = t, bounds[t], bounds[t + 1]
        row["first_channel"], row["end_channel"] = edges[t], edges[t + 1]
        its = channels["first_slice"], channels["slices"]
        row["first_slice"] = its[0][edges[t]] if edges[t] < len(channels) else len(slices)
        row["end_slice"] = its[0][edges[t + 1] - 1] + its[1][edges[t + 1] - 1] if edges[t + 1] > edges[t] else row["first_slice"]
        cores["thread"][bounds[t] : bounds[t + 1]] = t
        slices["thread"][int(row["first_slice"]) : int(row["end_slice"])] = t


@compiled
def call_others(crew):
    """Have so many threads, this one included, tick their parts. A call is its number and theirs, so that nobody can take the one
    of another call."""
    store_release(crew.address + CALL, (crew.call[0] // CALLED + 1) * CALLED + crew.together[0])


@compiled
def wait_for_others(crew):
    """Until every thread that was called has ticked its part."""
    call = crew.call[0]
    for thread in range(1, crew.together[0]):
        turns = 0
        while load_acquire(crew.address + DONE + 8 * LINE * thread) != call:
            turns = wait_a_little(crew, turns)


@compiled
def wait_for_call(crew, thread):
    """Until the first thread calls this one. Gives the call."""
    turns, seen = 0, crew.done[LINE * thread]
    while True:
        call = load_acquire(crew.address + CALL)
        if call != seen and thread < call % CALLED:
            return call
        turns = wait_a_little(crew, turns)


@compiled
def report(crew, thread, call):
    """A thread has ticked its part."""
    store_release(crew.address + DONE + 8 * LINE * thread, call)


@compiled
def wait_a_little(crew, turns):
    """Look again at once, then after others had the processor, then after a sleep: a host may have more to do than this."""
    if turns < TURNS:
        pause()
    elif turns >= TURNS + YIELDS:
        call_hook(crew.sleep, np.int64(SLEEP), np.int64(0), np.uint64(0), np.int64(0))
    else:
        call_hook(crew.yield_processor, np.int64(0), np.int64(0), np.uint64(0), np.int64(0))
    return turns + 1


@compiled
def dismiss(crew, threads):
    """The run goes back to Python, in all threads."""
    crew.stop, crew.together[0] = 1, threads
    call_others(crew)
    wait_for_others(crew)
    crew.together[0] = 0


@compiled
def set_until(gpus, cycle):
    """Where this stretch of the run ends."""
    for thread in range(len(gpus)):
        gpus[thread].until = cycle


@compiled
def gather_flags(gpus):
    """All cores have had their cycle: what the first thread must know of at once."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        other = gpus[thread]
        gpu.busy |= other.busy
        if other.blocks.full:
            gpu.until = gpu.cycle
        if other.outcome != SPENT:
            gpu.outcome, gpu.where_core, gpu.where_slot = other.outcome, other.where_core, other.where_slot
            other.outcome = SPENT
            for k in range(gpu.kernels):
                take_over_fault(gpu.kernel[k].worker, other.kernel[k].worker)
        if other.dispatching:
            gpu.dispatching, other.dispatching = 1, 0
            for k in range(gpu.kernels):
                gpu.kernel[k].finished_ctas += other.kernel[k].finished_ctas
                gpu.kernel[k].last_cta_end = max(gpu.kernel[k].last_cta_end, other.kernel[k].last_cta_end)
                other.kernel[k].finished_ctas = 0


@compiled
def gather_changes_of_room(gpus):
    """Cores in which CTAs or warps have ended, or the throttle has spoken."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        other = gpus[thread]
        for c in range(other.first_core, other.end_core):
            gpu.room_changed[c] |= other.room_changed[c]
            other.room_changed[c] = 0


@compiled
def pass_on_wakes(gpus):
    """CTAs have moved into cores, which wake in the records of those who have them; more may follow in the next cycle."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        other = gpus[thread]
        for c in range(other.first_core, other.end_core):
            other.wake[c] = min(other.wake[c], gpu.wake[c])
            gpu.wake[c] = FAR_FUTURE
    for thread in range(len(gpus)):
        gpus[thread].places_ctas = gpu.dispatching


@compiled
def pass_on_clocks(gpus):
    """The clocks have changed."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        other = gpus[thread]
        other.core_khz, other.clocks_from = gpu.core_khz, gpu.clocks_from
        pass_on_clock(gpu.l2, other.l2)
        pass_on_clock(gpu.dram, other.dram)


@compiled
def pass_on_clock(clock, other):
    other.khz, other.from_cycle, other.from_progress = clock.khz, clock.from_cycle, clock.from_progress


@compiled
def gather(gpus):
    """The run goes back to Python: the first record has what all have counted, and how each part stands."""
    gpu = gpus[0]
    for thread in range(1, len(gpus)):
        other = gpus[thread]
        gpu.last_progress, gpu.ahead = max(gpu.last_progress, other.last_progress), max(gpu.ahead, other.ahead)
        for k in range(gpu.kernels):
            mine, its = gpu.kernel[k], other.kernel[k]
            mine.issued, mine.issued_threads = mine.issued + its.issued, mine.issued_threads + its.issued_threads
            mine.worker.changes, mine.worker.executed = (
                mine.worker.changes + its.worker.changes, mine.worker.executed + its.worker.executed
            )  # fmt: skip
            its.issued = its.issued_threads = its.worker.changes = its.worker.executed = 0
        for k in range(other.first_slice, other.end_slice):
            gpu.slice_wake[k], gpu.reply_ready[k] = other.slice_wake[k], other.reply_ready[k]
        for k in range(other.first_channel, other.end_channel):
            gpu.channel_wake[k] = other.channel_wake[k]
        for cluster in range(other.first_core // gpu.cores_per_cluster, -(-other.end_core // gpu.cores_per_cluster)):
            gpu.inject_turn[cluster] = other.inject_turn[cluster]
