"""A core watched cycle by cycle: what its warps, buffers, collectors, units, MSHRs and memory requests are after each cycle of a
window.

The machine notes what changes while it runs (`watch_log.py`); what is seen here is made of that afterwards, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.machine.record import new_records
from simtlab.machine.watch_log import FAR_FUTURE, UNKNOWN, WORDS, close, forget, watch_t
from simtlab.program.program import Program

MOST_CYCLES = 100_000


@dataclass(frozen=True, slots=True)
class StackEntry:
    """Lanes that wait at a pc for their turn, and where they meet the others; None: at the end of the function."""

    pc: int
    reconverge: int | None
    mask: int


@dataclass(frozen=True, slots=True)
class WatchedWarp:
    """A warp slot that holds a warp."""

    slot: int
    cta: int  # its number in the grid
    warp: int  # in the CTA
    kernel: int  # of the launches of the window
    pc: int  # of the next instruction to issue
    mask: int  # lanes that will take part
    stack: tuple[StackEntry, ...]  # from the top: the current entry first
    buffered: int  # instructions in its instruction buffer
    fetched: int | None  # the cycle in which they came there; None: one loop has no buffer
    waits: str  # for what; "fetch" if it has no instruction, empty if it could issue
    pending: tuple[int, ...]  # registers whose results are to come: the scoreboard's entries


@dataclass(frozen=True, slots=True)
class WatchedInstruction:
    """An instruction between issue and write-back."""

    number: int  # of its record, free again after write-back
    issued: int
    slot: int
    pc: int
    stage: str
    unit: str
    accesses: int
    served: int
    outstanding: int


@dataclass(frozen=True, slots=True)
class WatchedCollector:
    """A collector unit: the bank of each operand, and which have been read."""

    instruction: int  # the number of its record
    slot: int
    pc: int
    banks: tuple[int, ...]
    read: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class WatchedCycle:
    """A core after a cycle."""

    cycle: int
    causes: tuple[str, ...]  # of each scheduler: issued, or why not
    issued: tuple[tuple[int, int], ...]  # slot and pc
    warps: tuple[WatchedWarp, ...]
    instructions: tuple[WatchedInstruction, ...]
    collectors: tuple[WatchedCollector, ...]
    ldst: tuple[int, ...]  # instructions in the load/store unit's queue, oldest first, by number
    mshrs: tuple[int, ...]  # lines that have been missed and are in flight
    banks_read: tuple[tuple[int, int], ...]  # register banks that were read in the cycle: sub-core, bank
    banks_written: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class WatchedRequest:
    """A memory request of the core, and the cycles in which it went on; None: it had not by the end of the window, or never did."""

    address: int
    kind: str  # read, write, atomic, instruction, constant, texture, prefetch, write back
    slot: int | None  # the warp it is of
    l2: str  # what the L2 had for it: hit, hit reserved, miss; empty if it was not asked, or not yet
    born: int
    sent: int | None  # into the network
    arrived: int | None  # at its L2 slice
    to_dram: int | None
    from_dram: int | None  # back at the slice
    answered: int | None  # left the slice
    delivered: int | None  # at its core
    ended: int | None  # the core took the answer; of a write-back, the L2 has it

    def stages(self, end: int) -> Iterator[tuple[str, int, int]]:
        """Where it was from which cycle to which, up to a last one. With those of all its requests a machine's mean round trip
        (`run.timing.latency`) is counted; what is `reply_network` there is the network back and the fill."""
        begins = (
            ("inject", self.born), ("request network", self.sent), ("L2", self.arrived), ("DRAM", self.to_dram),
            ("L2", self.from_dram), ("reply network", self.answered), ("fill", self.delivered), ("", self.ended),
        )  # fmt: skip
        known = [(stage, cycle) for stage, cycle in begins if cycle is not None]
        for (stage, cycle), (_, following) in zip(known, [*known[1:], ("", end)], strict=True):
            if stage and cycle < following:
                yield stage, cycle, following


@dataclass
class Watch:
    """A window of core cycles, from `first` up to but not including `last`, in which one core is looked at. A machine's first cycle
    is 1, and a window from 0 on is as long as one from 1 on. With `from_issue` it begins with the first instruction that the core
    issues from there on, and is as long."""

    core: int = 0
    first: int = 0
    last: int = 2000
    from_issue: bool = False
    programs: list[Program] = field(default_factory=list, repr=False)  # of the launches of the window
    _log: list[np.ndarray] = field(default_factory=list, repr=False)
    _reached: int = field(default=0, repr=False)  # the last cycle that the machine came to in the window
    _read: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.last:
            raise SimtlabError(f"a window of cycles is from a lower to a higher one, not {self.first}:{self.last}")
        if self.last - self.first > MOST_CYCLES:
            raise SimtlabError(f"a window has at most {MOST_CYCLES:,} cycles, not {self.last - self.first:,}")
        if self.first == 0:
            self.first, self.last = 1, self.last + 1
        self._words = np.zeros(WORDS, np.int64)
        self._record = new_records(1, watch_t)
        record = self._record[0]
        record.core, record.words, record.length = self.core, self._words.ctypes.data, self.last - self.first
        record.last, record.waiting = FAR_FUTURE if self.from_issue else self.last, self.from_issue
        record.instructions = UNKNOWN
        forget(self._plain)

    @property
    def _plain(self) -> np.ndarray:
        return np.asarray(self._record)

    @property
    def cycles(self) -> list[WatchedCycle]:
        """The cycles of the window that the machine has come to."""
        return self._seen()[0]

    @property
    def requests(self) -> list[WatchedRequest]:
        """The memory requests of the core that were under way in the window, in the order in which they were made."""
        return self._seen()[1]

    def _seen(self) -> tuple[list[WatchedCycle], list[WatchedRequest]]:
        from simtlab.machine.watch_reading import read

        if self._read is None:
            began = not self._record[0].waiting
            self._read = read(self._log, self.first, min(self.last - 1, self._reached)) if began else ([], [])
        return self._read

    def launch(self, programs: Sequence[Program]) -> None:
        """Launches begin, which the window may be in."""
        if self._record[0].closed:
            return
        if not self._log:
            self.programs.clear()
        self._record[0].kernels = kernels = _place_of(programs, self.programs)
        self.programs[kernels:] = [*programs, *self.programs[kernels + len(programs) :]]

    def is_looking(self, cycle: int) -> bool:
        """Whether the machine must take notes in the cycle after this one: in the window, and in the one before it."""
        return cycle + 2 >= self.first and not self._record[0].closed

    def next_stop(self, cycle: int, end: int) -> int:
        """How far the machine may run from a cycle on before this changes."""
        if self._record[0].closed:
            return end
        return end if self.is_looking(cycle) else min(end, self.first - 2)

    @property
    def address(self) -> int:
        """Of its record, for the machine."""
        return self._record.ctypes.data

    def take(self, cycle: int) -> None:
        """Take what has been noted up to a cycle."""
        record = self._record[0]
        if record.lost:
            raise SimtlabError(f"{int(record.lost):,} requests of core {self.core} found no room in the log: choose another window")
        if record.waiting:
            return
        if self.from_issue:
            self.from_issue, self.last = False, int(record.last)
            self.first = self.last - int(record.length)
        self._log.append(self._words[: record.used].copy())
        self._reached, self._read = cycle, None
        forget(self._plain)

    def end(self, requests: np.ndarray, cycle: int) -> None:
        """The run ends before the window does."""
        close(self._plain, requests)
        self.take(cycle)


def _place_of(some: Sequence[Program], programs: Sequence[Program]) -> int:
    """Where some programs stand among others, one after another; after them all if they do not."""
    places = (k for k in range(len(programs)) if all(a is b for a, b in zip(some, programs[k:], strict=False)))
    return next(places, len(programs))
