"""How many of a machine's host threads are at work: as many as make its cycles pass fastest, which is measured while it runs.

What pays depends on the host: how long a call takes from one processor to another, and what else they do. So now and then, for
some cycles, twice or half as many threads tick the parts of the chip; if that is faster by more than what is noise, it stays so.
What is counted does not depend on it.
"""

import ctypes

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.machine.record import record_t

MONOTONIC = 1  # the host's clock that never goes back
EPOCH = 128  # cycles that are timed together, or more if cores have run ahead or time was jumped over
SETTLING = 16  # cycles before them: threads that slept wake up, and fetch what another had
FEWEST_UNITS = 256  # that had something to do in an epoch, or it goes on
FASTER = 0.93  # of the time, from which on another number is taken
SOON, LATE = 2, 64  # epochs until another number is tried; each trial in vain doubles it

size_t = record_t(
    [
        ("clock", "i8"),  # address of the host's clock_gettime,
        ("time", "i8", (2,)),  # … what it has said,
        ("place", "i8"),  # … and where that is
        ("workers", "i8"),  # threads at work,
        ("most", "i8"),  # … of so many
        ("usual", "i8"),  # what they are when no other number is tried
        ("epoch", "i8"),  # cycles
        ("is_timed", "i8"),  # an epoch is under way, and no settling:
        ("since", "i8"),  # … from this cycle on,
        ("began", "i8"),  # … at so many nanoseconds,
        ("units", "i8"),  # … in which so many cores, slices and channels had something to do
        ("took", "i8"),  # picoseconds a unit, in the last epoch with the usual number
        ("more", "i8"),  # twice as many are tried next, not half
        ("wait", "i8"),  # epochs until another number is tried,
        ("patience", "i8"),  # … and how many it was the last time
    ]
)


def begin(size: np.ndarray, most: int) -> None:
    """Of a crew of so many threads."""
    size["clock"] = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value
    size["place"] = size["time"].ctypes.data
    size["workers"] = size["usual"] = min(2, most)
    size["most"], size["epoch"], size["more"] = most, EPOCH, 1
    size["wait"] = size["patience"] = SOON


@compiled
def nanoseconds(size):
    call_hook(size.clock, np.int64(MONOTONIC), size.place, np.uint64(0), np.int64(0))
    return size.time[0] * 1_000_000_000 + size.time[1]


@compiled
def count_cycle(size, cycle, units):
    """A cycle begins; so many units had something to do in what was ticked before it."""
    size.units += units
    gone = cycle - size.since
    if 0 <= gone < (size.epoch if size.is_timed else SETTLING) or size.units < FEWEST_UNITS:
        return
    now = nanoseconds(size)
    if size.is_timed:
        judge(size, 1000 * (now - size.began) // size.units)
    size.is_timed = 1 - size.is_timed
    size.since, size.began, size.units = cycle, now, 0


@compiled
def judge(size, took):
    """An epoch has ended, and took so long: keep the number of threads, or try another."""
    if size.workers != size.usual:
        if took < FASTER * size.took:
            size.usual, size.took, size.patience = size.workers, took, SOON
        else:
            size.more = 1 - size.more
            size.patience = min(2 * size.patience, LATE)
        size.workers, size.wait = size.usual, size.patience
        return
    size.took = took
    size.wait -= 1
    if size.wait <= 0:
        size.workers = min(2 * size.usual, size.most) if size.more else max(size.usual // 2, 1)
        if size.workers == size.usual:
            size.more, size.wait = 1 - size.more, 1
