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
FAR = (*OFF_CHIP, "texture")  # memories that loads wait long for
REJECTIONS = ("l1_fail_tag", "l1_fail_mshr", "l1_fail_network")


class Ledger:
    """The scheduler cycles of a launch that no rule has explained yet."""

    def __init__(self, profile: LaunchProfile) -> None:
        self.profile = profile
        self.total = max(1, profile.scheduler_cycles)
        core_cycles = profile.machine.core.cores * profile.cycles - profile.counters["core_used_cycles"]
        self.idle = float(max(0, core_cycles) * profile.machine.issue.schedulers)  # of `empty`, on cores that have no CTA
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

    def is_rest(self, cycles: float, *causes: str) -> bool:
        """Whether so many cycles are clearly fewer than the launch has of these causes: other rules have taken some."""
        return cycles < 0.9 * sum(self.profile.stalls[cause] for cause in causes)

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

    def put_down(self, moves: Mapping[tuple[str, int], tuple[str, Mapping[int, float]]]) -> None:
        """Put the cycles of a cause and an instruction down to a cause and other instructions, in proportion; all at once."""
        amounts = {key: self.cycles.pop(key, 0.0) for key in moves}
        for key, (cause, weights) in moves.items():
            together = sum(weights.values())
            for pc, weight in weights.items():
                self.cycles[cause, pc] += amounts[key] * weight / together


def unit_hold(profile: LaunchProfile) -> float:
    """The share of core cycles in which the load/store unit worked, or held an access that the L1 rejected."""
    held = profile.counters["busy_ldst"] + sum(profile.counters[name] for name in REJECTIONS)
    together = profile.machine.core.cores * profile.cycles
    return min(1.0, held / together) if together else 0.0


def hold_by_row(profile: LaunchProfile) -> dict[int, float]:
    """For how many cycles each memory instruction holds the load/store unit: an access or a pass takes one, and rejected tries are
    put down to the accesses that went on to the L2."""
    counters = profile.counters
    constants = max(1, sum(row.accesses for row in profile.rows if row.memory == "constant"))
    held, beyond = {}, {}
    for row in profile.rows:
        missed = row.accesses * counters["l1c_misses"] / constants if row.memory == "constant" else row.accesses - row.l1_hits
        if row.accesses + row.passes:
            held[row.pc] = float(row.accesses + row.passes)
            beyond[row.pc] = missed
    loads = {pc: missed for pc, missed in beyond.items() if profile.rows[pc].is_load}
    for names, blamed in ((("l1_fail_network",), beyond), (("l1_fail_tag", "l1_fail_mshr"), loads)):  # a store needs no MSHR
        rejected, together = sum(counters[name] for name in names), sum(blamed.values())
        for pc, missed in blamed.items():
            held[pc] += rejected * missed / together if together else 0.0
    return held


def put_blame(ledger: Ledger) -> None:
    """Put cycles down to the instruction that is to blame: not to the one that waits for a result, but to the load that it waits
    for; not to the one that finds the load/store unit full, but to those that fill it."""
    profile = ledger.profile
    holders, functions = hold_by_row(profile), {row.pc: float(row.issued) for row in profile.rows if is_special(row) and row.issued}
    sfu_is_fuller = profile.utilisation.get("sfu", 0.0) > unit_hold(profile)
    put_down_held_back(ledger, holders, functions)
    stores = {row.pc: float(row.accesses) for row in profile.rows if is_store(row) and row.accesses}
    moves: dict[tuple[str, int], tuple[str, Mapping[int, float]]] = {}
    for cause, pc in ledger.cycles:
        row, here = profile.rows[pc] if pc != NOWHERE else None, {pc: 1.0}
        if cause in ("lg_throttle", "mio_throttle"):
            special = cause == "mio_throttle" and row is not None and (is_special(row) or not holders)
            behind_special = cause == "mio_throttle" and row is not None and not row.memory and functions and sfu_is_fuller
            moves[cause, pc] = (SPECIAL, here) if special else (SPECIAL, functions) if behind_special else (QUEUE, holders or here)
        elif cause == "long_scoreboard" and row is not None:
            moves[cause, pc] = cause, loads_of(profile, row, FAR) or here
        elif cause == "imc_miss" and row is not None:
            moves[cause, pc] = cause, loads_of(profile, row, ("constant",)) or here
        elif cause == "short_scoreboard" and row is not None:
            loads = loads_of(profile, row, ("shared", "generic"))
            moves[cause, pc] = (cause, loads) if loads else (SPECIAL, here)
        elif cause == "drain":
            moves[cause, pc] = cause, stores or here
    ledger.put_down(moves)


def loads_of(profile: LaunchProfile, row: InstructionProfile, memories: tuple[str, ...]) -> dict[int, float]:
    """The loads from such memories that an instruction waits for, with their shares of the blame: by how much they fetch. It reads
    their results, or writes the register that one of them is still to write."""
    found = [load for load in (profile.rows[pc] for pc in row.waits_on) if load.memory in memories and load.issued]
    if not found:
        loads = [load for load in profile.rows if load.is_load and load.memory in memories and load.issued and load.pc != row.pc]
        found = [load for load in loads if row.writes & load.writes]
    return {load.pc: load.passes + load.accesses - load.l1_hits + 1.0 for load in found}


def put_down_held_back(ledger: Ledger, holders: Mapping[int, float], functions: Mapping[int, float]) -> None:
    """A warp was ready, but the scheduling policy kept to others, and those could not issue. What they waited for is not counted.
    For the share of time in which the load/store unit was held, it is taken to be that unit; of the rest, for the share of time in
    which the special function units were busy, those. What remains stays with the policy."""
    profile = ledger.profile
    for cause, weights, share in (
        (QUEUE, holders, unit_hold(profile)), (SPECIAL, functions, min(1.0, profile.utilisation.get("sfu", 0.0))),
    ):  # fmt: skip
        amount, together = share * ledger.left(["held_back"]), sum(weights.values())
        if amount and together:
            ledger.take_share("held_back", amount)
            for pc, weight in weights.items():
                ledger.cycles[cause, pc] += amount * weight / together
