"""Host threads that run one machine together. What is counted does not depend on how many there are.

Every thread has a record of the chip of its own, and a part of the chip: cores that stand side by side, memory channels with their
L2 slices. Cores touch nothing outside their part when they are ticked (what they store is committed later, see
`core/deferred_writes.py`), and neither do slices and channels, so that the threads tick their parts at the same time.
What their units want to send they offer, and what has come for them they take (`network/ports.py`). In between the first two
threads let packets enter the networks, and the first, which leads, says which core gets which CTA and keeps the books, while the
others wait. Where little is to be done it ticks all parts itself, one after another, for to call the others takes longer; and not
all of them are at work where that is slower (`thread_count.py`).

A line that one processor of the host has written takes long to come to another. So what the leading thread has to know of a part is
in one line, with which its thread also says that it is done; and what it tells all others is in the line by which it calls them.

What all threads count for the chip is added up whenever the run comes back to Python (`gather`).
"""

import ctypes

import numpy as np

from simtlab.compiled import UNCOMPILED, call_hook, compiled, fetch_add, load_acquire, pause, store_release
from simtlab.errors import SimtlabError
from simtlab.execute.state import Outcome, field_offset
from simtlab.machine.config import MachineConfig
from simtlab.machine.core.deferred_writes import take_over_fault
from simtlab.machine.limits import MAX_THREADS
from simtlab.machine.record import new_records, record_t
from simtlab.machine.request import has_few_left
from simtlab.machine.thread_count import begin, size_t

SPENT = int(Outcome.SPENT)
LINE = 8  # 64-bit words of a cache line of the host, so that each thread has one of its own
TURNS, YIELDS, SLEEP = 5000, 200, 20  # looks at whether another thread is done at once, after others; microseconds

crew_t = record_t(
    [
        ("address", "i8"),  # of this record
        ("yield_processor", "i8"),  # of the host's functions
        ("sleep", "i8"),
        ("together", "i8", (LINE,)),  # so many are at work; 0: the first alone
        ("stop", "i8"),  # there is no more to do
        ("least", "i8"),  # units that are due, from which on the others are called
        ("at_work", size_t),  # how many of them
        ("call", "i8", (LINE,)),  # the number of the last call, and beside it:
        ("come", "i8", (LINE,)),  # threads that have come so far in this call to each place (`wait_until_come`)
        ("done", "i8", (LINE * MAX_THREADS,)),  # … of the last one that each thread has followed, and beside it, of its part:
    ]
)
TODO, CYCLE, PLACES_CTAS, PLACED = 1, 2, 3, 4  # bits of clock.py: what is to be ticked; and of the first thread's record
TAKEN_OVER, MEMORY_DONE = 0, 1  # places where threads wait for each other
OFFERS_AT, CROSSES_AT = 5, 6  # cycles of the networks, or -1: in which cores and slices offer packets, and in which flits move
NEWS, UNITS, PACKETS = 1, 2, 3  # bits; units that had something to do; packets that are to enter the networks
BUSY, FULL, STOPPED, DISPATCHING, DEFERRED, ROOM, FEW_LEFT = 1, 2, 4, 8, 16, 32, 64
CALL, DONE, COME = (field_offset(crew_t, name) for name in ("call", "done", "come"))
LEAST_DUE = 12
WEIGHT = 24  # of all cores to a network: how much they take of a host's time when both are busy
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


def part_bounds(clusters: int, threads: int) -> list[int]:
    """The first cluster of each thread, and the end. The first two have a network each, and where there are more, fewer cores."""
    network = clusters / WEIGHT if threads > 2 else 0.0
    each = (clusters + 2 * network) / threads
    return [0, *(round(each * t - network * min(t, 2)) for t in range(1, threads)), clusters]


def deal_out(gpus: np.ndarray, cores: np.ndarray, slices: np.ndarray, channels: np.ndarray, threads: int) -> None:
    """Give each thread its part of a machine at rest, and a record of the chip like the first one's."""
    first = gpus[:1]
    per_cluster = int(first["cores_per_cluster"][0])
    bounds = [per_cluster * bound for bound in part_bounds(int(first["clusters"][0]), threads)]
    edges = [len(channels) * t // threads for t in range(threads + 1)]
    ports = port_bounds(first, bounds, per_cluster)
    for t in range(threads):
        if t > 0:
            copy_but(gpus[0], gpus[t], ("blocks", "coalescer"))
        row = gpus[t]
        row["thread"], row["first_core"], row["end_core"] = t, bounds[t], bounds[t + 1]
        row["first_channel"], row["end_channel"] = edges[t], edges[t + 1]
        its = channels["first_slice"], channels["slices"]
        row["first_slice"] = its[0][edges[t]] if edges[t] < len(channels) else len(slices)
        row["end_slice"] = its[0][edges[t + 1] - 1] + its[1][edges[t + 1] - 1] if edges[t + 1] > edges[t] else row["first_slice"]
        row["first_port"], row["end_port"] = ports[t], ports[t + 1]
        cores["thread"][bounds[t] : bounds[t + 1]] = t
        slices["thread"][int(row["first_slice"]) : int(row["end_slice"])] = t


def port_bounds(first: np.ndarray, bounds: list[int], per_cluster: int) -> list[int]:
    """The first cluster to which each thread hands the answers that come, and the end: its own, but that cores which share answers
    are all one thread's."""
    coalescer, clusters = first["coalescer"], bounds[-1] // per_cluster
    if not coalescer["groups"][0]:
        return [bound // per_cluster for bound in bounds]
    group = coalescer["group"][0, : bounds[-1]].reshape(clusters, per_cluster)
    begins = [0, *(k for k in range(1, clusters) if group[k - 1].max() < group[k].min()), clusters]
    threads, zones = len(bounds) - 1, len(begins) - 1
    return [begins[zones * t // threads] for t in range(threads)] + [clusters]


def copy_but(row: np.void, other: np.void, kept: tuple[str, ...]) -> None:
    """Make a record like another one, but for some fields, the largest of which only the first one's counts."""
    given, taken = (one.reshape(1).view(np.uint8) for one in (row, other))
    begin = 0
    for offset, size in sorted((field_offset(row.dtype, name), row.dtype[name].itemsize) for name in kept):
        taken[begin:offset] = given[begin:offset]
        begin = offset + size
    taken[begin:] = given[begin:]


@compiled
def call_others(crew):
    """Have so many threads, this one included, tick their parts. A call is its number and theirs, so that nobody can take the one
    of another call."""
    crew.come[TAKEN_OVER] = crew.come[MEMORY_DONE] = 0
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
def come(crew, place):
    """A thread that was called has come to a place where others wait for it."""
    fetch_add(crew.address + COME + 8 * place, np.int64(1))


@compiled
def wait_until_come(crew, place, together):
    """Until all that were called have come there."""
    turns = 0
    while load_acquire(crew.address + COME + 8 * place) < together:
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
def give_orders(crew, gpu, todo):
    """What all threads must know."""
    crew.call[TODO], crew.call[CYCLE] = todo, gpu.cycle
    crew.call[PLACES_CTAS], crew.call[PLACED] = gpu.places_ctas, gpu.placed
    crew.call[OFFERS_AT] = gpu.network.cycle - gpu.network_cycles + 1 if gpu.network_cycles > 0 else -1
    crew.call[CROSSES_AT] = gpu.crosses_at


@compiled
def take_orders(crew, gpu, before):
    """The same, for a part that is about to be ticked, or so many cycles before."""
    gpu.cycle, gpu.places_ctas = crew.call[CYCLE] - before, crew.call[PLACES_CTAS]


@compiled
def bring_news(crew, gpu, requests, parts):
    """A part has been ticked: what the first thread must know of it."""
    place = LINE * gpu.thread
    news = BUSY * (gpu.busy != 0) | FULL * (gpu.blocks.full != 0) | STOPPED * (gpu.outcome != SPENT)
    news |= DISPATCHING * (gpu.dispatching != 0) | DEFERRED * (gpu.deferred_count != 0) | ROOM * (gpu.any_room_changed != 0)
    if parts > 1:
        news |= FEW_LEFT * has_few_left(requests, gpu.thread)
    crew.done[place + NEWS], crew.done[place + UNITS] = news, gpu.units
    crew.done[place + PACKETS] = gpu.offered_requests + gpu.offered_answers
    gpu.units = 0


@compiled
def has_news(crew, part, bits):
    return crew.done[LINE * part + NEWS] & bits != 0


@compiled
def have_news(crew, parts, bits):
    """Whether any part has."""
    found = np.int64(0)
    for part in range(parts):
        found |= crew.done[LINE * part + NEWS]
    return found & bits != 0


@compiled
def add_up(crew, parts, word):
    """Units, or packets, of all parts."""
    found = np.int64(0)
    for part in range(parts):
        found += crew.done[LINE * part + word]
    return found


@compiled
def gather_flags(crew, gpus):
    """All cores have had their cycle: what the first thread must know of at once."""
    gpu = gpus[0]
    for part in range(1, len(gpus)):
        gpu.busy |= has_news(crew, part, BUSY)
        if not has_news(crew, part, FULL | STOPPED | DISPATCHING):
            continue
        other = gpus[part]
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
def gather_changes_of_room(crew, gpus):
    """Cores in which CTAs or warps have ended, or the throttle has spoken."""
    gpu = gpus[0]
    for part in range(1, len(gpus)):
        if not has_news(crew, part, ROOM):
            continue
        other = gpus[part]
        other.any_room_changed = 0
        for c in range(other.first_core, other.end_core):
            gpu.room_changed[c] |= other.room_changed[c]
            other.room_changed[c] = 0


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
            gpu.inject_turn[cluster], gpu.port_free[cluster] = other.inject_turn[cluster], other.port_free[cluster]
