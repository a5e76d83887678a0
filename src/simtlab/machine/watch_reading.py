"""From the log of a watched core to its cycles and its requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simtlab.machine.core.kinds import OpState, Stall, Unit
from simtlab.machine.core.state import REGISTER_WORDS
from simtlab.machine.request import Kind, L2Answer
from simtlab.machine.watch import StackEntry, WatchedCollector, WatchedCycle, WatchedInstruction, WatchedRequest, WatchedWarp
from simtlab.machine.watch_log import NO_LINE, UNKNOWN, Entry, Wait
from simtlab.program.encode import NO_RECONVERGENCE

STAGES = {OpState.COLLECTING: "collect", OpState.EXECUTING: "execute", OpState.IN_LDST: "ldst", OpState.WAITING: "memory"}
CAUSES = [cause.name.lower() for cause in Stall]
UNITS = [unit.name.lower() for unit in Unit]
WAITS = ["" if wait == Wait.NOTHING else wait.name.lower().replace("_", " ") for wait in Wait]
KINDS = [kind.name.lower().replace("_", " ") for kind in Kind]
L2_ANSWERS = [answer.name.lower().replace("_", " ") for answer in L2Answer]
OF_NO_WARP = (Kind.INSTRUCTION, Kind.PREFETCH, Kind.WRITE_BACK)
ALL_BITS = (1 << 64) - 1
CYCLE, REQUEST = int(Entry.CYCLE), int(Entry.REQUEST)


def read(log: Sequence[np.ndarray], first: int, last: int) -> tuple[list[WatchedCycle], list[WatchedRequest]]:
    """The cycles from the first to the last one, those that were jumped over as the ones before them, and the requests."""
    core, requests = CoreSeen(), []
    seen: list[WatchedCycle] = []
    for words in log:
        is_first = True
        for kind, entry in entries(words.tolist()):
            if kind == REQUEST:
                requests.append(request_of(entry))
                continue
            if kind == CYCLE:
                seen += core.cycles_up_to(entry[0] - 1)
                if is_first:
                    core.forget()
                is_first = False
            core.take(kind, entry)
    seen += core.cycles_up_to(last)
    under_way = [one for one in requests if one.born <= last and (one.ended is None or one.ended > first)]
    return [cycle for cycle in seen if first <= cycle.cycle <= last], sorted(under_way, key=lambda one: one.born)


def entries(words: list[int]) -> Iterator[tuple[int, list[int]]]:
    at = 0
    while at < len(words):
        end = at + words[at + 1]
        yield words[at], words[at + 2 : end]
        at = end


class CoreSeen:
    """What the log says of a core, entry by entry."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[WatchedWarp, int]] = {}
        self._cycle: int | None = None  # that the entries are of
        self._takers = {
            Entry.CYCLE: self._begin, Entry.WARP: self._warp, Entry.WARP_LEFT: self._warp_left,
            Entry.INSTRUCTION: self._instruction, Entry.COLLECTOR: self._collector, Entry.QUEUE: self._in_queue,
            Entry.BANKS: self._bank, Entry.LINE: self._line,
        }  # fmt: skip
        self.forget()

    def forget(self) -> None:
        """A log begins, with everything that is there."""
        self._warps: dict[int, tuple[WatchedWarp, int]] = {}
        self._instructions: dict[int, WatchedInstruction] = {}
        self._lines: dict[int, int] = {}

    def take(self, kind: int, entry: list[int]) -> None:
        self._takers[Entry(kind)](entry)

    def cycles_up_to(self, last: int) -> Iterator[WatchedCycle]:
        """The cycle whose entries have been taken, and those after it, in which nothing changed."""
        if self._cycle is None:
            return
        state = (
            self._all_warps(), tuple(one for _, one in sorted(self._instructions.items())), tuple(self._collectors),
            self._queue, tuple(line for _, line in sorted(self._lines.items())),
        )  # fmt: skip
        yield WatchedCycle(self._cycle, self._causes, self._issued(), *state, tuple(self._read), tuple(self._written))
        for cycle in range(self._cycle + 1, last + 1):
            yield WatchedCycle(cycle, self._causes, (), *state, (), ())
        self._cycle = None

    def _all_warps(self) -> tuple[WatchedWarp, ...]:
        return tuple(self._warps[slot][0] for slot in sorted(self._warps))

    def _issued(self) -> tuple[tuple[int, int], ...]:
        """Of each warp that executed something in the cycle: its slot, and the pc of what it executed."""
        found: list[tuple[int, int]] = []
        for slot, before in self._before.items():
            now = self._warps.get(slot)
            if now is not before:
                found += [(slot, before[0].pc + k) for k in range(executed_since(before, now))]
        self._before = dict(sorted(self._warps.items()))
        return tuple(found)

    def _begin(self, entry: list[int]) -> None:
        self._cycle, causes, schedulers = entry
        self._causes = tuple(CAUSES[causes >> 8 * k & 0xFF] for k in range(schedulers))
        self._collectors: list[WatchedCollector] = []
        self._queue: tuple[int, ...] = ()
        self._read: list[tuple[int, int]] = []
        self._written: list[tuple[int, int]] = []

    def _warp(self, entry: list[int]) -> None:
        slot, cta, warp, kernel, head, buffered, fetched, executed, waits, pc, meet, mask, _ = entry[:13]
        pending, stack = entry[13 : 13 + REGISTER_WORDS], [pc, meet, mask, *entry[13 + REGISTER_WORDS :]]
        seen = WatchedWarp(
            slot, cta, warp, kernel, head, mask, stack_of(stack), buffered, None if fetched == UNKNOWN else fetched, WAITS[waits],
            tuple(64 * k + bit for k, word in enumerate(pending) for bit in members(word & ALL_BITS)),
        )  # fmt: skip
        self._warps[slot] = seen, executed

    def _warp_left(self, entry: list[int]) -> None:
        del self._warps[entry[0]]

    def _instruction(self, entry: list[int]) -> None:
        number, issued, slot, pc, state, unit, accesses, served, outstanding = entry
        if state == OpState.FREE:
            del self._instructions[number]
        else:
            self._instructions[number] = WatchedInstruction(
                number, issued, slot, pc, STAGES[OpState(state)], UNITS[unit], accesses, served, outstanding
            )

    def _collector(self, entry: list[int]) -> None:
        instruction, slot, pc, wanted, count, banks = entry
        read = tuple(not wanted >> k & 1 for k in range(count))
        self._collectors.append(WatchedCollector(instruction, slot, pc, tuple(banks >> 8 * k & 0xFF for k in range(count)), read))

    def _in_queue(self, entry: list[int]) -> None:
        self._queue = tuple(entry)

    def _bank(self, entry: list[int]) -> None:
        sub_core, read, written = entry
        self._read += [(sub_core, bank) for bank in members(read)]
        self._written += [(sub_core, bank) for bank in members(written)]

    def _line(self, entry: list[int]) -> None:
        number, address = entry
        if address == NO_LINE:
            self._lines.pop(number, None)
        else:
            self._lines[number] = address


def executed_since(before: tuple[WatchedWarp, int], now: tuple[WatchedWarp, int] | None) -> int:
    """How many instructions a warp has executed; if it has left, its last one, unless it only waited for its stores."""
    warp, count = before
    if now is not None and (now[0].cta, now[0].kernel) == (warp.cta, warp.kernel):
        return now[1] - count
    return warp.waits != "drain"


def stack_of(words: list[int]) -> tuple[StackEntry, ...]:
    entries = zip(words[::3], words[1::3], words[2::3], strict=True)
    return tuple(StackEntry(pc, None if meet == NO_RECONVERGENCE else meet, mask) for pc, meet, mask in entries)


def request_of(entry: list[int]) -> WatchedRequest:
    """A request; times from before it was born are of the one that had its record before."""
    address, kind, slot, answer, born, sent, arrived, to_dram, from_dram, answered, delivered, ended = entry
    was_asked = kind not in (Kind.WRITE, Kind.WRITE_BACK) and max(to_dram, answered) >= born

    def of_its_own(time: int) -> int | None:
        return time if time >= born else None

    return WatchedRequest(
        address, KINDS[kind], None if kind in OF_NO_WARP else slot, L2_ANSWERS[answer] if was_asked else "", born,
        of_its_own(sent), of_its_own(arrived), of_its_own(to_dram), of_its_own(from_dram), of_its_own(answered),
        of_its_own(delivered), of_its_own(ended),
    )  # fmt: skip


def members(mask: int) -> list[int]:
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found
