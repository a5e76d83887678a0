"""A ledger of scheduler cycles: by cause, and by the instruction that is to blame. Rules take cycles out of it, so that no cycle is
explained twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.access import OFF_CHIP, is_special, is_store

NOWHERE = -1  # in place of an instruction: the cycles of none
QUEUE = "queue"  # the load/store unit takes no more: lg_throttle and mio_throttle, but those of the special function unit
SPECIAL = "special"  # the special function unit: results, and room
REJECTIONS = ("l1_fail_tag", "l1_fail_mshr", "l1_fail_network")


class Ledger:
    """The scheduler cycles of a launch that no rule has explained yet."""

    def __init__(self, profile: LaunchProfile) -> None:
        self.profile = profile
        self.total = max(1, profile.scheduler_cycles)
        self.cycles: dict[tuple[str, int], float] = defaultdict(float)
        for row in profile.rows:
            for cause, count in row.stalls.items():
                self.cycles[cause, row.pc] += count
            if profile.instructions:
                self.cycles["issued", row.pc] += profile.stalls["issued"] * row.issued / profile.instructions
        for cause, count in profile.stalls.items():
            self.cycles[cause, NOWHERE] += max(0.0, count - self.left([cause]))

    def left(self, causes: Iterable[str]) -> float:
        wanted = set(causes)
        return sum(count for (cause, _), count in self.cycles.items() if cause in wanted)

    def take(self, causes: Iterable[str], part: Callable[[InstructionProfile], float]) -> dict[int, float]:
        """Take a part, from 0 to 1, of each instruction's cycles of these causes; gives what was taken, by pc."""
        taken: dict[int, float] = defaultdict(float)
        wanted = set(causes)
        for (cause, pc), count in list(self.cycles.items()):
            share = part(self.profile.rows[pc]) if cause in wanted and pc != NOWHERE and count else 0.0
            if share > 0:
                taken[pc] += share * count
                self.cycles[cause, pc] -= share * count
        return dict(taken)

    def take_all(self, causes: Iterable[str]) -> float:
        """Take all cycles of these causes, wherever they are."""
        causes = tuple(causes)
        amount = self.left(causes)
        for key in [key for key in self.cycles if key[0] in causes]:
            del self.cycles[key]
        return amount

    def take_share(self, cause: str, amount: float) -> None:
        """Take so many cycles of a cause, from its instructions evenly."""
        there = self.left([cause])
        for key in [key for key in self.cycles if key[0] == cause and there]:
            self.cycles[key] *= max(0.0, 1 - amount / there)

    def move(self, key: tuple[str, int], cause: str, weights: Mapping[int, float]) -> None:
        """Put the cycles of a cause and an instruction down to others, in proportion."""
        amount, together = self.cycles.pop(key, 0.0), sum(weights.values())
        for pc, weight in weights.items():
            self.cycles[cause, pc] += amount * weight / together


def unit_hold(profile: LaunchProfile) -> float:
    """The share of core cycles in which the load/store unit worked, or held an access that the L1 rejected."""
    held = profile.counters["busy_ldst"] + sum(profile.counters[name] for name in REJECTIONS)
    together = profile.machine.core.cores * profile.cycles
    return min(1.0, held / together) if together else 0.0


def hold_by_row(profile: LaunchProfile) -> dict[int, float]:
    """For how many cycles each memory instruction holds the load/store unit: an access or a pass takes one, and rejected tries are
    put down to the accesses that went on to the L2."""
    beyond = {row.pc: row.accesses - row.l1_hits for row in profile.rows if row.memory in OFF_CHIP}
    rejected, together = sum(profile.counters[name] for name in REJECTIONS), sum(beyond.values())
    held = {row.pc: row.accesses + row.passes for row in profile.rows if row.accesses + row.passes and row.memory != "constant"}
    return {pc: count + (rejected * beyond.get(pc, 0) / together if together else 0) for pc, count in held.items()}


def blamed(profile: LaunchProfile) -> Ledger:
    """The ledger of a launch, with cycles put down to the instruction that is to blame: not to the one that waits for a result,
    but to the load that it waits for; not to the one that finds the load/store unit full, but to those that fill it."""
    ledger = Ledger(profile)
    holders = hold_by_row(profile)
    put_down_held_back(ledger)
    for cause, pc in list(ledger.cycles):
        row = profile.rows[pc] if pc != NOWHERE else None
        if cause in ("lg_throttle", "mio_throttle"):
            special = cause == "mio_throttle" and row is not None and (is_special(row) or not holders)
            ledger.move((cause, pc), *((SPECIAL, {pc: 1.0}) if special else (QUEUE, holders or {pc: 1.0})))
        elif cause == "long_scoreboard" and row is not None:
            ledger.move((cause, pc), cause, loads_of(profile, row, False) or {pc: 1.0})
        elif cause == "short_scoreboard" and row is not None:
            loads = loads_of(profile, row, True)
            ledger.move((cause, pc), cause if loads else SPECIAL, loads or {pc: 1.0})
        elif cause == "drain":
            stores = {row.pc: float(row.accesses) for row in profile.rows if is_store(row) and row.accesses}
            ledger.move((cause, pc), cause, stores or {pc: 1.0})
    return ledger


def loads_of(profile: LaunchProfile, row: InstructionProfile, shared: bool) -> dict[int, float]:
    """The loads whose results an instruction reads, from shared memory or from others, with their shares of the blame: by how much
    they have to fetch."""
    loads = [profile.rows[pc] for pc in row.waits_on]
    found = [load for load in loads if (load.memory == "shared") == shared and load.memory != "constant" and load.issued]
    return {load.pc: (load.passes if shared else load.accesses - load.l1_hits) + 1.0 for load in found}


def put_down_held_back(ledger: Ledger) -> None:
    """A warp was ready, but the scheduling policy kept to others, and those could not issue. What those waited for is not counted.
    It is taken to be the load/store unit for the share of time in which that was held, and for the rest what is waited for in the
    other cycles."""
    others = {key: count for key, count in ledger.cycles.items() if key[0] not in ("issued", "empty", "held_back") and count}
    together = sum(others.values())
    holders = hold_by_row(ledger.profile)
    if not together and not holders:
        return
    amount = ledger.take_all(["held_back"])
    queued = amount * unit_hold(ledger.profile) if holders else 0.0
    if not together:
        queued = amount
    for pc, count in holders.items():
        ledger.cycles[QUEUE, pc] += queued * count / sum(holders.values())
    for key, count in others.items():
        ledger.cycles[key] += (amount - queued) * count / together
