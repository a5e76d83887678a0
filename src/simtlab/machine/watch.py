"""A core watched cycle by cycle: what its warps, buffers, collectors, units and MSHRs hold after each cycle of a window.

The machine is run a cycle at a time meanwhile, and its records are only read: what it counts stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.machine.build import Records
from simtlab.machine.core.state import OpState, Stall, Unit
from simtlab.program.encode import NO_RECONVERGENCE
from simtlab.program.program import Program

# Sets of warp slots of a core, and what their warps wait for; the first that a warp is in counts, as in `core/stall.py`.
WAITS = {
    "busy_warp": "wait", "wait": "wait", "short": "short scoreboard", "constant": "constant", "long": "long scoreboard",
    "resolving": "branch", "membar": "membar", "barrier": "barrier", "draining": "drain",
}  # fmt: skip
STAGES = {OpState.COLLECTING: "collect", OpState.EXECUTING: "execute", OpState.IN_LDST: "ldst", OpState.WAITING: "memory"}
MOST_CYCLES = 100_000


@dataclass(frozen=True)
class StackEntry:
    """Lanes that wait at a pc for their turn, and where they meet the others; None: at the end of the function."""

    pc: int
    reconverge: int | None
    mask: int


@dataclass(frozen=True)
class WatchedWarp:
    """A warp slot that holds a warp."""

    slot: int
    cta: int  # its number in the grid
    warp: int  # in the CTA
    kernel: int  # of the launches that run together
    pc: int  # of the next instruction to issue
    mask: int  # lanes that will take part
    stack: tuple[StackEntry, ...]  # from the top: the current entry first
    buffered: int  # instructions in its instruction buffer
    waits: str  # for what; "fetch" if it has no instruction, empty if it could issue
    pending: tuple[int, ...]  # registers whose results are to come: the scoreboard's entries


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class WatchedCollector:
    """A collector unit: the bank of each operand, and which have been read."""

    instruction: int  # the number of its record
    slot: int
    pc: int
    banks: tuple[int, ...]
    read: tuple[bool, ...]


@dataclass(frozen=True)
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


@dataclass
class Watch:
    """A window of core cycles, from `first` up to but not including `last`, in which one core is looked at. With `from_issue` it
    begins with the first instruction that the core issues from there on, and is as long."""

    core: int = 0
    first: int = 0
    last: int = 2000
    from_issue: bool = False
    cycles: list[WatchedCycle] = field(default_factory=list, repr=False)
    programs: list[Program] = field(default_factory=list, repr=False)  # of the launches that run together
    _before: dict[tuple[int, int, int], tuple[WatchedWarp, int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.last:
            raise SimtlabError(f"a window of cycles is from a lower to a higher one, not {self.first}:{self.last}")
        if self.last - self.first > MOST_CYCLES:
            raise SimtlabError(f"a window has at most {MOST_CYCLES:,} cycles, not {self.last - self.first:,}")

    def next_stop(self, cycle: int, end: int) -> int:
        """How far the machine may run from a cycle on before it is looked at."""
        if cycle + 1 < self.first:
            return min(end, self.first - 1)
        return min(end, cycle + 1) if cycle < self.last or self.from_issue else end

    def look(self, records: Records, cycle: int) -> None:
        """Note the core as it is after a cycle of the window; from the one before it on, to know what was issued."""
        if cycle < self.first - 1 or (cycle >= self.last and not self.from_issue):
            return
        core = records.cores[self.core]
        warps = tuple(_warps(core))
        now = {(w.slot, w.cta, w.kernel): (w, count) for w, count in zip(warps, _executed(core, warps), strict=True)}
        issued = [(warp.slot, warp.pc) for key, (warp, count) in self._before.items() if _went_on(warp, count, now.get(key))]
        self._before = now
        if self.from_issue and issued:
            self.first, self.last, self.from_issue = cycle, cycle + self.last - self.first, False
        if cycle >= self.first and not self.from_issue:
            causes = tuple(Stall(int(cause)).name.lower() for cause in core.cause[: int(core.schedulers)])
            self.cycles.append(WatchedCycle(cycle, causes, tuple(issued), warps, tuple(_instructions(core)),
                                            tuple(_collectors(core)), tuple(_queued(core)), tuple(_missed(core))))  # fmt: skip


def _went_on(warp: WatchedWarp, count: int, now: tuple[WatchedWarp, int] | None) -> bool:
    """Whether a warp has executed something since: it counts more, or it has issued its last instruction and left at once."""
    return now[1] > count if now is not None else warp.waits != "drain"


def _warps(core: Any) -> list[WatchedWarp]:
    found = []
    for slot in _members(int(core.occupied)):
        row = core.slots[slot]
        cta = core.ctas[int(row.cta)]
        warp = cta.warps[int(row.warp)]
        waits = next((what for name, what in WAITS.items() if int(core[name]) >> slot & 1), "")
        if not waits and not int(core.buffered) >> slot & 1:
            waits = "fetch"
        found.append(WatchedWarp(
            slot, int(cta.number), int(row.warp), int(row.kernel), int(row.head), int(warp.mask), _stack(warp),
            int(row.buffered), waits, tuple(_registers(row.pending)),
        ))  # fmt: skip
    return found


def _stack(warp: Any) -> tuple[StackEntry, ...]:
    entries = [(int(warp.pc), int(warp.reconverge), int(warp.mask))]
    entries += [(int(e.pc), int(e.reconverge), int(e.mask)) for e in warp.stack[: int(warp.depth)][::-1]]
    return tuple(StackEntry(pc, None if meet == NO_RECONVERGENCE else meet, mask) for pc, meet, mask in entries)


def _executed(core: Any, warps: Sequence[WatchedWarp]) -> list[int]:
    return [int(core.ctas[int(core.slots[w.slot].cta)].warps[w.warp].executed) for w in warps]


def _instructions(core: Any) -> list[WatchedInstruction]:
    found = []
    for number in np.flatnonzero(core.ops["state"]).tolist():
        op = core.ops[number]
        found.append(WatchedInstruction(
            number, int(op.issued), int(op.slot), int(op.pc), STAGES[OpState(int(op.state))], Unit(int(op.unit)).name.lower(),
            int(op.accesses), int(op.served), int(op.outstanding),
        ))  # fmt: skip
    return found


def _collectors(core: Any) -> list[WatchedCollector]:
    found = []
    for place in range(int(core.collecting)):
        unit = core.collector[int(core.in_order[place])]
        count, wanted, op = int(unit.count), int(unit.wanted), core.ops[int(unit.op)]
        banks, read = unit.banks[:count].tolist(), [not wanted >> k & 1 for k in range(count)]
        found.append(WatchedCollector(int(unit.op), int(unit.slot), int(op.pc), tuple(banks), tuple(read)))
    return found


def _queued(core: Any) -> list[int]:
    queue = core.ldst_queue
    head, count, limit = int(queue.head), int(queue.count), int(queue.limit)
    return [int(queue.items[(head + k) % limit]) for k in range(count)]


def _missed(core: Any) -> list[int]:
    mshr = core.mshr
    free = set(mshr.free_entry[int(mshr.used) : int(mshr.entries)].tolist())
    return [int(mshr.entry[number].address) for number in range(int(mshr.entries)) if number not in free]


def _registers(words: Any) -> list[int]:
    return [64 * k + bit for k, word in enumerate(words.tolist()) for bit in _members(word)]


def _members(mask: int) -> list[int]:
    return [number for number in range(64) if mask >> number & 1]
