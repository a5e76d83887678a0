"""Miss status holding registers: an entry for each line (or sector) in flight, and who waits for it.

BOOK 4.1.1 calls it the pending request table.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_MSHRS, MAX_WAITERS
from simtlab.machine.record import record_t

MAX_BUCKETS = 1024
NO_ENTRY = -1
NOBODY = -1

entry_t = np.dtype(
    [
        ("address", "i8"),
        ("asked", "i8"),  # when the prefetch was predicted
        ("way", "i4"),
        ("waiting", "i2"),
        ("first", "i2"),
        ("last", "i2"),
        ("warp", "i2"),  # for whom, of a prefetch
        ("next", "i2"),  # the next entry of its bucket
        ("prefetch", "i1"),  # a prefetch asked for it and no demand has merged with it since
    ],
    align=True,
)
waiter_t = np.dtype([("token", "i4"), ("next", "i2")], align=True)
mshr_t = record_t(
    [
        ("entries", "i8"),
        ("merges", "i8"),
        ("used", "i8"),
        ("newest", "i8"),  # the entry allocated last
        ("free_waiter", "i8"),
        ("mask", "i8"),  # buckets in use, less one
        ("bucket", "i2", (MAX_BUCKETS,)),  # hash table: the first entry of each bucket, or NO_ENTRY
        ("entry", entry_t, (MAX_MSHRS,)),
        ("waiter", waiter_t, (MAX_WAITERS,)),
        ("free_entry", "i2", (MAX_MSHRS,)),
    ]
)


@compiled
def reset(mshr):
    mshr.used = 0
    mshr.mask = 15
    while mshr.mask < 3 * mshr.entries and mshr.mask < MAX_BUCKETS - 1:
        mshr.mask = 2 * mshr.mask + 1
    for k in range(MAX_BUCKETS):
        mshr.bucket[k] = NO_ENTRY
    for k in range(MAX_MSHRS):
        mshr.free_entry[k] = k
    for k in range(MAX_WAITERS):
        mshr.waiter[k].next = k + 1
    mshr.waiter[MAX_WAITERS - 1].next = NOBODY
    mshr.free_waiter = 0


@compiled
def home(mshr, address):
    return ((address >> 5) * 0x9E3779B1 >> 7) & mshr.mask


@compiled
def find(mshr, address):
    """The entry for a line, or NO_ENTRY."""
    number = np.int64(mshr.bucket[home(mshr, address)])
    while number != NO_ENTRY and mshr.entry[number].address != address:
        number = np.int64(mshr.entry[number].next)
    return number


@compiled
def is_full(mshr):
    return mshr.used >= mshr.entries


@compiled
def can_merge(mshr, number):
    return mshr.entry[number].waiting < mshr.merges and mshr.free_waiter != NOBODY


@compiled
def allocate(mshr, address, way):
    """A new entry for a line; there must be room."""
    number = np.int64(mshr.free_entry[mshr.used])
    mshr.used += 1
    mshr.newest = number
    entry = mshr.entry[number]
    entry.address, entry.way, entry.waiting, entry.prefetch = address, way, 0, 0
    entry.first, entry.last = NOBODY, NOBODY
    bucket = home(mshr, address)
    entry.next = mshr.bucket[bucket]
    mshr.bucket[bucket] = number
    return number


@compiled
def merge(mshr, number, token):
    """Let somebody wait for an entry's line."""
    w = mshr.free_waiter
    waiter = mshr.waiter[w]
    mshr.free_waiter = waiter.next
    waiter.token, waiter.next = token, NOBODY
    entry = mshr.entry[number]
    if entry.first == NOBODY:
        entry.first = w
    else:
        mshr.waiter[entry.last].next = w
    entry.last = w
    entry.waiting += 1


@compiled
def take_waiter(mshr, number):
    """The token of the first who waits, taken off the entry; NOBODY if there is none."""
    entry = mshr.entry[number]
    w = entry.first
    if w == NOBODY:
        return NOBODY
    waiter = mshr.waiter[w]
    entry.first = waiter.next
    entry.waiting -= 1
    waiter.next = mshr.free_waiter
    mshr.free_waiter = w
    return waiter.token


@compiled
def release(mshr, number):
    """The line is there and everybody served: free the entry."""
    entry = mshr.entry[number]
    bucket = home(mshr, entry.address)
    if mshr.bucket[bucket] == number:
        mshr.bucket[bucket] = entry.next
    else:
        before = np.int64(mshr.bucket[bucket])
        while mshr.entry[before].next != number:
            before = np.int64(mshr.entry[before].next)
        mshr.entry[before].next = entry.next
    mshr.used -= 1
    mshr.free_entry[mshr.used] = number
