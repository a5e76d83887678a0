"""A core watched cycle by cycle: what its warps, buffers, collectors, units and MSHRs hold after each cycle of a window.

The machine is run a cycle at a time meanwhile, and its records are only read: what it counts stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.machine.core.state import OpState, Stall, Unit
from simtlab.program.encode import NO_RECONVERGENCE
from simtlab.program.program import Program

# Sets of warp slots of a core, and what their warps wait for; the first that a warp is in counts, as in `core/stall.py`.
WAITS = {
    "busy_warp": "wait", "wait": "wait", "short": "short scoreboard", "constant": "constant", "long": "long scoreboard",
    "resolving": "branch", "membar": "membar", "barrier": "barrier", "draining": "drain",
}  # fmt: skip
STAGES = {OpState.COLLECTING: "collect", OpState.EXECUTING: "execute", OpState.IN_LDST: "ldst", OpState.WAITING: "memory"}
CAUSES = [cause.name.lower() for cause in Stall]
UNITS = [unit.name.lower() for unit in Unit]
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
    banks_read: tuple[tuple[int, int], ...]  # register banks that were read in the cycle: sub-core, bank
    banks_written: tuple[tuple[int, int], ...]


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
    _seen: dict[tuple, WatchedWarp] = field(default_factory=dict, repr=False)

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

    def look(self, cores: np.ndarray, cycle: int) -> None:
        """Note the core as it is after a cycle of the window; from the one before it on, to know what was issued."""
        if cycle < self.first - 1 or (cycle >= self.last and not self.from_issue):
            return
        core = cores[self.core]
        warps, executed = self._warps(core)
        now = {(w.slot, w.cta, w.kernel): (w, count) for w, count in zip(warps, executed, strict=True)}
        issued = [(warp.slot, warp.pc) for key, (warp, count) in self._before.items() if _went_on(warp, count, now.get(key))]
        self._before = now
        if self.from_issue and issued:
            self.first, self.last, self.from_issue = cycle, cycle + self.last - self.first, False
        if cycle >= self.first and not self.from_issue:
            self.cycles.append(WatchedCycle(
                cycle, tuple(CAUSES[cause] for cause in core["cause"][: core["schedulers"]].tolist()), tuple(issued), tuple(warps),
                tuple(_instructions(core)), tuple(_collectors(core)), tuple(_queued(core["ldst_queue"])),
                tuple(_missed(core["mshr"])), _banks(core["bank_read"], cycle), _banks(core["bank_written"], cycle),
            ))  # fmt: skip

    def _warps(self, core: Any) -> tuple[list[WatchedWarp], list[int]]:
        """The warps of a core, and how many instructions each has executed. One that is as it was before is the same object."""
        slots = _members(int(core["occupied"]))
        rows, place = core["slots"], core["ctas"]["warps"]
        cta, warp = rows["cta"][slots], rows["warp"][slots]
        of_slot = (rows["kernel"], rows["head"], rows["buffered"])
        of_warp = (place["pc"], place["reconverge"], place["mask"], place["depth"], place["executed"])
        columns = [core["ctas"]["number"][cta], warp, *(column[slots] for column in of_slot)]
        columns += [column[cta, warp] for column in of_warp]
        pending, waits = rows["pending"][slots], _waits(core)
        found, executed = [], []
        for k, (slot, values) in enumerate(zip(slots, zip(*(column.tolist() for column in columns), strict=True), strict=True)):
            number, w, kernel, head, buffered, pc, meet, mask, depth, count = values
            stack = place["stack"][cta[k], w, :depth] if depth else None
            key = (slot, *values[:-1], waits.get(slot, ""), pending[k].tobytes(), b"" if stack is None else stack.tobytes())
            if key not in self._seen:
                entries = [(pc, meet, mask), *(() if stack is None else stack[::-1][["pc", "reconverge", "mask"]].tolist())]
                self._seen[key] = WatchedWarp(
                    slot, number, w, kernel, head, mask,
                    tuple(StackEntry(at, None if to == NO_RECONVERGENCE else to, lanes) for at, to, lanes in entries),
                    buffered, waits.get(slot, ""), tuple(_registers(pending[k])),
                )  # fmt: skip
            found.append(self._seen[key])
            executed.append(count)
        return found, executed


def _waits(core: Any) -> dict[int, str]:
    """What the warps of a core wait for, by slot; the first set that a warp is in counts."""
    found: dict[int, str] = {}
    for name, what in WAITS.items():
        for slot in _members(int(core[name])):
            found.setdefault(slot, what)
    for slot in _members(int(core["occupied"]) & ~int(core["buffered"])):
        found.setdefault(slot, "fetch")
    return found


def _went_on(warp: WatchedWarp, count: int, now: tuple[WatchedWarp, int] | None) -> bool:
    """Whether a warp has executed something since: it counts more, or it has issued its last instruction and left at once."""
    return now[1] > count if now is not None else warp.waits != "drain"


def _instructions(core: Any) -> list[WatchedInstruction]:
    numbers = np.flatnonzero(core["ops"]["state"])
    ops = core["ops"][numbers][["issued", "slot", "pc", "state", "unit", "accesses", "served", "outstanding"]].tolist()
    return [
        WatchedInstruction(number, issued, slot, pc, STAGES[state], UNITS[unit], accesses, served, outstanding)
        for number, (issued, slot, pc, state, unit, accesses, served, outstanding) in zip(numbers.tolist(), ops, strict=True)
    ]


def _collectors(core: Any) -> list[WatchedCollector]:
    found = []
    for unit in core["collector"][core["in_order"][: core["collecting"]]]:
        op, slot, wanted, count = int(unit["op"]), int(unit["slot"]), int(unit["wanted"]), int(unit["count"])
        read = tuple(not wanted >> k & 1 for k in range(count))
        found.append(WatchedCollector(op, slot, int(core["ops"]["pc"][op]), tuple(unit["banks"][:count].tolist()), read))
    return found


def _banks(last_used: Any, cycle: int) -> tuple[tuple[int, int], ...]:
    return tuple(zip(*(places.tolist() for places in np.nonzero(last_used == cycle)), strict=True))


def _queued(queue: Any) -> list[int]:
    head, count, limit = int(queue["head"]), int(queue["count"]), int(queue["limit"])
    return [int(queue["items"][(head + k) % limit]) for k in range(count)]


def _missed(mshr: Any) -> list[int]:
    used, entries = int(mshr["used"]), int(mshr["entries"])
    if used == 0:
        return []
    taken = np.ones(entries, bool)
    taken[mshr["free_entry"][used:entries]] = False
    return mshr["entry"]["address"][:entries][taken].tolist()


def _registers(words: Any) -> list[int]:
    return [64 * k + bit for k, word in enumerate(words.tolist()) for bit in _members(word)]


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
