"""Memory requests: what travels from a core to memory and back. Every one is answered exactly once, then freed.

All requests live in one pool; units hold their numbers. A request is a whole cache line, or sectors of one.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING
from simtlab.machine.record import new_records, record_t


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


request_t = record_t(
    [
        ("address", "i8"),  # of the line, or of the first byte wanted
        ("ready", "i8"),  # the cycle (of the unit that holds it) from which it may go on
        ("next", "i4"),  # the next request of a list it is on
        ("follower", "i4"),  # the next of its packet, see `network/sector_packet.py`
        ("bytes", "i4"),  # of data it moves
        ("dram_bytes", "i4"),  # … between the L2 and DRAM
        ("words", "u8"),  # that a write writes, from its address on
        ("token", "i4"),  # what the core does with the answer (its own number; negative: an MSHR entry, see `l1.token_of`)
        ("core", "i2"),  # who asks
        ("warp", "i2"),
        ("pc", "i4"),  # the instruction that asks, or -1
        ("deterministic", "i1"),  # … its class, of a global load
        ("priority", "i1"),  # in the queues of the L2, where a policy gives it one
        ("slice", "i2"),  # the L2 slice it goes to
        ("destination", "i2"),  # the port of the network it is being sent through
        ("flits", "i2"),  # how long it is there
        ("channel", "i2"),
        ("bank", "i2"),
        ("entry", "i2"),  # of the slice's MSHR
        ("home", "i2"),  # the port of the network that the answer goes to
        ("kind", "i1"),
        ("l2_answer", "i1"),
        ("column", "i4"),
        ("set", "i4"),  # of the L2 slice
        ("row", "i8"),
        ("born", "i8"),  # core cycles: created by the load/store unit
        ("sent", "i8"),  # entered the network
        ("arrived", "i8"),  # reached its L2 slice
        ("to_dram", "i8"),  # left the slice for DRAM, or 0
        ("from_dram", "i8"),  # was back there
        ("answered", "i8"),  # left the L2 slice
        ("delivered", "i8"),  # left the network, at its core
    ]
)

CAPACITY = 1 << 16
KEPT = 1 << 13  # that cores leave for the L2, whose dirty lines must be able to leave or nothing would move any more

# One record with all requests in it: compiled code passes its address around, where an array would cost reference counts.
requests_t = record_t(
    [
        ("free", "i8"),  # the first of the list of those that are
        ("used", "i8"),
        ("limit", "i8"),  # how many may be in use when a core wants one more
        ("peak", "i8"),
        ("born", "i8"),
        ("ended", "i8"),
        ("entry", request_t, (CAPACITY,)),
    ]
)


def new_requests() -> np.ndarray:
    """The pool of requests, all free, as an array of length one."""
    requests = new_records(1, requests_t)
    following = requests["entry"]["next"][0]
    following[:] = np.arange(1, CAPACITY + 1)
    following[-1] = NOTHING
    requests["limit"] = CAPACITY - KEPT
    return requests


@compiled
def create(requests):
    """A fresh request's number, or NOTHING if the pool is used up."""
    number = requests.free
    if number == NOTHING:
        return number
    request = requests.entry[number]
    requests.free = request.next
    requests.used += 1
    requests.born += 1
    requests.peak = max(requests.peak, requests.used)
    request.next = request.follower = NOTHING
    request.ready = 0
    request.to_dram, request.from_dram = 0, 0
    return number


@compiled
def end(requests, number):
    """Give a request back to the pool."""
    requests.entry[number].next = requests.free
    requests.free = number
    requests.used -= 1
    requests.ended += 1
