"""Advice on a launch: where its cycles went and why, in two or three sentences that name lines and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simtlab.report.profile import LaunchProfile
from simtlab.report.rules import core, grid, lanes, memory
from simtlab.report.rules.ledger import Ledger, put_blame
from simtlab.report.rules.words import Finding, percent

WORTH_SAYING = 0.05  # of scheduler cycles: less is within what another input or another seed changes
MOST = 3  # sentences

Rule = Callable[[Ledger], Finding | None]
# In this order they take cycles out of the ledger: first what would make other waits go away by itself. Those about the grid come
# before cycles are put down to the instructions that are to blame.
OF_GRID: list[Rule] = [grid.launch, grid.small_grid, grid.tail_effect]
RULES: list[Rule] = [
    lanes.divergence, lanes.part_filled_warps,
    memory.local_memory, memory.atomics, core.constants, memory.uncoalesced, memory.bank_conflicts, memory.bandwidth,
    memory.full_unit, memory.load_latency, core.barrier, core.fetch, core.special_functions, core.shared_latency,
    core.compute, core.pipes, core.arithmetic_latency, core.few_warps, core.held_back,
]  # fmt: skip


@dataclass(frozen=True)
class Advice:
    """A sentence about a launch."""

    rule: str
    sentence: str
    lines: tuple[tuple[str, int], ...]  # (file, line) named in it
    weight: float  # the share of scheduler cycles that it explains


def findings(profile: LaunchProfile) -> list[Finding]:
    """What every rule has to say, the most important first. No cycle is explained twice."""
    ledger = Ledger(profile)
    found = [finding for rule in OF_GRID if (finding := rule(ledger)) is not None]
    put_blame(ledger)
    found += [finding for rule in RULES if (finding := rule(ledger)) is not None] + core.simple(ledger)
    return sorted(found, key=lambda finding: -finding.cycles)


def advice(profile: LaunchProfile) -> list[Advice]:
    """The two or three sentences that matter, the most important first; where nothing stands out, one that says what limits."""
    if not profile.instructions:
        return []
    told: list[Advice] = []
    for finding in findings(profile)[:MOST]:
        weight = finding.cycles / profile.scheduler_cycles
        if weight >= WORTH_SAYING:
            told.append(Advice(finding.rule, after(told, finding, memory.resident(profile)), finding.lines, weight))
    return told or [nothing_stands_out(profile)]


def after(told: Sequence[Advice], finding: Finding, warps: str) -> str:
    """A sentence behind others: how many warps are resident is said once, and it tells if it is about what those have left."""
    sentence = finding.sentence
    if any(warps in earlier.sentence for earlier in told):
        sentence = sentence.replace(f"{warps} ", "")
    return f"Apart from that, {sentence[0].lower()}{sentence[1:]}" if told and finding.is_rest else sentence


def nothing_stands_out(profile: LaunchProfile) -> Advice:
    waits = {cause: count for cause, count in profile.stalls.items() if cause != "issued"}
    most = max(waits, key=lambda cause: waits[cause])
    issued, largest = profile.stalls["issued"] / profile.scheduler_cycles, waits[most] / profile.scheduler_cycles
    sentence = (
        f"Nothing stands out: a warp issues in {percent(issued)} of scheduler cycles, and the largest of the other causes is "
        f"{most} with {percent(largest)}. The kernel is limited by its instructions."
    )
    return Advice("none", sentence, (), issued)


def explain(profile: LaunchProfile) -> str:
    """The advice as plain text for a terminal, after a line of facts."""
    most = profile.machine.core.max_warps
    microseconds = profile.seconds * 1e6
    facts = (
        f"{profile.kernel}: {profile.cycles:,} cycles, {microseconds:,.1f} us, IPC {profile.ipc:.2f}, "
        f"{profile.resident_warps:.1f} of {most} warps resident ({percent(profile.resident_warps / most)} occupancy)"
    )
    facts += f"; {profile.sampled}" if profile.sampled is not None else ""
    return "\n".join([facts, *(f"{number}. {given.sentence}" for number, given in enumerate(advice(profile), 1))])
