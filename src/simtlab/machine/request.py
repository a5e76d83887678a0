"""Memory requests: what travels from a core to memory and back. Every one is answered exactly once, then freed.

All requests live in one table, of which each host thread has a part; units hold their numbers. A request is a whole cache line, or
sectors of one.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_THREADS
from simtlab.machine.record import new_records, record_in_order, record_t


class Kind(IntEnum):
    READ = 0  # global or local data for an L1D
    WRITE = 1
    ATOMIC = 2
    INSTRUCTION = 3
    CONSTANT = 4
    TEXTURE = 5
    PREFETCH = 6
    WRITE_BACK = 7  # a dirty line leaving a cache; nobody waits for an answer


class L1Outcome(IntEnum):
    """What a cycle of the L1 came to for the access of a load, as LOADS (Fig. 3) has it. The failures are in `Failure`'s order."""

    HIT = 0
    HIT_RESERVED = 1  # merged with a pending miss
    MISS = 2
    FAIL_TAG = 3
    FAIL_MSHR = 4
    FAIL_NETWORK = 5


class Level(IntEnum):
    """How far a load's data came from."""

    L1 = 0
    L2 = 1
    DRAM = 2


class L2Answer(IntEnum):
    """What the L2 had for a read."""

    HIT = 0
    HIT_RESERVED = 1  # the line was in flight from DRAM
    MISS = 2


# Two cache lines of the host. What the networks and the L2 look at is in the first, what the core and DRAM do in the second. The
# later times are core cycles since it was born.
request_t = record_in_order(
    [
        ("address", "i8"),  # of the line, or of the first byte wanted
        ("ready", "i8"),  # the cycle (of the unit that holds it) from which it may go on
        ("born", "i8"),  # the core cycle in which the load/store unit created it
        ("sent", "i4"),  # entered the network
        ("arrived", "i4"),  # reached its L2 slice
        ("answered", "i4"),  # left the L2 slice
        ("set", "i4"),  # of the L2 slice
        ("next", "i4"),  # the next request of a list it is on
        ("follower", "i4"),  # the next of its packet, see `network/sector_packet.py`
        ("slice", "i2"),  # the L2 slice it goes to
        ("destination", "i2"),  # the port of the network it is being sent through
        ("flits", "i2"),  # how long it is there
        ("home", "i2"),  # the port of the network that the answer goes to
        ("core", "i2"),  # who asks
        ("entry", "i2"),  # of the slice's MSHR
        ("bytes", "i2"),  # of data it moves
        ("kind", "i1"),
        ("l2_answer", "i1"),
        ("words", "u8"),  # that a write writes, from its address on
        ("head", "i4"),  # the first request of its packet, even after this has come apart
        ("mate", "i4"),  # … and the next
        ("sharers", "i4"),  # the first of those that wait for its answer, see `network/request_coalescer.py`
        ("token", "i4"),  # what the core does with the answer (its own number; negative: an MSHR entry, see `l1.token_of`)
        ("pc", "i4"),  # the instruction that asks, or -1
        ("row", "i4"),  # of DRAM: its lower 31 bits, which no two rows of a memory have in common
        ("column", "i4"),
        ("to_dram", "i4"),  # left the slice for DRAM, or 0
        ("from_dram", "i4"),  # was back there
        ("delivered", "i4"),  # left the network, at its core
        ("dram_bytes", "i2"),  # that it moves between the L2 and DRAM
        ("shared", "i2"),  # packets that wait for the packet it is the first of
        ("sectors", "i2"),  # of its line, that its packet asks for
        ("warp", "i2"),
        ("channel", "i2"),
        ("bank", "i2"),
        ("deterministic", "i1"),  # the class of a global load
        ("priority", "i1"),  # in the queues of the L2, where a policy gives it one
        ("mask", "i1"),  # network cycles that its bytes' mask keeps the core's port
    ]
)

CAPACITY = 1 << 18  # memory of the host that is never touched costs nothing
MOST_OUTSTANDING = 120 << 10  # of all cores together, each its share: the L2, whose dirty lines must be able to leave, has the rest
NOT_YET = -1  # a time that has not come
FEW = 1024  # so many left, a thread is given some of another's

# What is free for one host thread: a list of requests that have ended, and a range that was never used.
pool_t = record_t(
    [("free", "i8"), ("fresh", "i8"), ("left", "i8"), ("born", "i8"), ("ended", "i8")]
)

# One record with all requests in it: compiled code passes its address around, where an array would cost reference counts.
requests_t = record_t(
    [
        ("limit", "i8"),  # answers that a core may wait for when it wants to send one request more
        ("pool", pool_t, (MAX_THREADS,)),
        ("entry", request_t, (CAPACITY,)),
    ]
)


def new_requests(cores: int = 1) -> np.ndarray:
    """All requests, free, as an array of length one; for so many cores."""
    requests = new_records(1, requests_t)
    requests["limit"] = MOST_OUTSTANDING // cores
    share_out(requests, 1)
    return requests


def share_out(requests: np.ndarray, threads: int) -> None:
    """Give every host thread its part of the requests, all of which must be free."""
    pools, part = requests["pool"][0], CAPACITY // threads
    for number in range(threads):
        pool = pools[number]
        pool["free"], pool["fresh"] = NOTHING, number * part
        pool["left"], pool["born"], pool["ended"] = part, 0, 0


@compiled
def take_free(requests, pool):
    """One that has ended, or else one that was never used."""
    number = pool.free
    if number == NOTHING:
        number = pool.fresh
        pool.fresh += 1
    else:
        pool.free = requests.entry[number].next
    pool.left -= 1
    return number


@compiled
def create(requests, thread):
    """A fresh request's number."""
    pool = requests.pool[thread]
    number = take_free(requests, pool)
    pool.born += 1
    request = requests.entry[number]
    request.next = request.follower = NOTHING
    request.ready = 0
    request.sent = request.arrived = request.answered = request.delivered = NOT_YET
    request.to_dram, request.from_dram = 0, 0
    return number


@compiled
def end(requests, thread, number):
    """Give a request back."""
    pool = requests.pool[thread]
    requests.entry[number].next = pool.free
    pool.free = number
    pool.left += 1
    pool.ended += 1


@compiled
def in_use(requests, threads):
    """How many requests are under way."""
    found = np.int64(0)
    for thread in range(threads):
        found += requests.pool[thread].born - requests.pool[thread].ended
    return found


@compiled
def has_few_left(requests, thread):
    return requests.pool[thread].left < FEW


@compiled
def balance(requests, threads):
    """A request may end in another thread than it was born in: a thread that has few left gets half of what another has most of."""
    for thread in range(threads):
        if has_few_left(requests, thread):
            richest = 0
            for other in range(threads):
                if requests.pool[other].left > requests.pool[richest].left:
                    richest = other
            give(requests, requests.pool[richest], requests.pool[thread], requests.pool[richest].left // 2)


@compiled
def give(requests, giver, taker, count):
    for _ in range(count):
        number = take_free(requests, giver)
        requests.entry[number].next = taker.free
        taker.free = number
    taker.left += count
