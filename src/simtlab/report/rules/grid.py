"""Rules about a launch and its grid: what it costs to begin, too few CTAs for the cores, CTAs that run last on a machine that is
almost empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simtlab.report.profile import LaunchProfile
from simtlab.report.rules.ledger import Ledger
from simtlab.report.rules.words import Finding, percent

FEWEST_INTERVALS = 8  # fewer do not tell where a tail begins
HALF = 0.5  # of the CTAs that were resident at most: fewer until the end are a tail


@dataclass(frozen=True)
class Tail:
    """The time at the end of a launch in which less than half as many CTAs are resident as before."""

    cycles: int
    lost: float  # scheduler cycles, beyond those that its instructions would have taken at the pace of the time before
    by_cause: dict[str, float]


def waves(profile: LaunchProfile) -> float:
    """How often the grid fills the machine."""
    return profile.ctas / (profile.machine.core.cores * profile.ctas_per_core)


def launch(ledger: Ledger) -> Finding | None:
    """What a launch takes before its first CTA runs."""
    profile, machine = ledger.profile, ledger.profile.machine
    cycles = min(machine.core.launch_cycles * profile.launches, profile.cycles)
    lost = min(float(cycles * machine.core.cores * machine.issue.schedulers), ledger.left(["empty"]))
    if not lost:
        return None
    ledger.take_share("empty", lost)
    ledger.idle = max(0.0, ledger.idle - lost)
    each = f"{profile.launches:,} launches take" if profile.launches > 1 else "The launch itself takes"
    sentence = (
        f"{each} {cycles:,} of {profile.cycles:,} cycles before the first CTA runs. Give each launch more work, or let one kernel "
        "do that of several."
    )
    return Finding("launch", sentence, (), lost)


def small_grid(ledger: Ledger) -> Finding | None:
    """Fewer CTAs than cores: some cores have nothing to do from beginning to end."""
    profile = ledger.profile
    cores = profile.machine.core.cores
    if profile.ctas >= cores:
        return None
    cycles = min(ledger.idle, ledger.left(["empty"]))
    ledger.take_share("empty", cycles)
    ledger.idle = 0.0
    sentence = (
        f"{cores - profile.ctas} of {cores} cores never get a CTA: the grid has {profile.ctas} of {profile.threads} threads. Cores "
        f"without one are {percent(cycles / ledger.total)} of scheduler cycles. Divide the work into more CTAs."
    )
    return Finding("small-grid", sentence, (), cycles)


def tail_effect(ledger: Ledger) -> Finding | None:
    """The last CTAs fill only a part of the machine."""
    profile = ledger.profile
    tail = tail_of(profile)
    if tail is None or profile.ctas <= profile.machine.core.cores:
        return None
    for cause, cycles in tail.by_cause.items():
        ledger.take_share(cause, cycles)
    ledger.idle = max(0.0, ledger.idle - tail.by_cause["empty"])
    slots = profile.machine.core.cores * profile.ctas_per_core
    last = profile.ctas % slots
    head = f"For the last {percent(tail.cycles / profile.cycles)} of its time the kernel has less than half of its CTAs left to run"
    if waves(profile) > 1 and last:
        why = f": {profile.ctas} CTAs are {waves(profile):.2f} waves of {slots}, and the last wave has {last}"
        what = "Choose a grid of whole waves, smaller CTAs, or CTAs that take several pieces of work each."
    else:
        why = ": its CTAs take different times"
        what = "Give CTAs equal work, or start those with the most of it first."
    loss = f"that loses {percent(tail.lost / ledger.total)} of scheduler cycles"
    return Finding("tail", f"{head}{why}; {loss}. {what}", (), tail.lost)


def tail_of(profile: LaunchProfile) -> Tail | None:
    """From the intervals of a single launch: the time after the last one in which half of the CTAs were resident."""
    ends = profile.intervals.get("cycle", np.zeros(0))
    if profile.launches > 1 or len(ends) < FEWEST_INTERVALS:
        return None
    resident = profile.intervals["resident_cta_cycles"] / np.maximum(np.diff(ends, prepend=0), 1)
    first = int(np.flatnonzero(resident >= HALF * resident.max())[-1]) + 1
    stalls = {cause: profile.intervals[f"stall_{cause}"] for cause in profile.stalls}
    issued, all_cycles = stalls["issued"], sum(stalls.values(), np.zeros(len(ends)))
    if first >= len(ends) or not issued[:first].sum():
        return None
    pace = issued[:first].sum() / all_cycles[:first].sum()
    waited = {cause: float(counts[first:].sum()) for cause, counts in stalls.items() if cause != "issued"}
    lost = min(max(0.0, float(all_cycles[first:].sum() - issued[first:].sum() / pace)), sum(waited.values()))
    together = sum(waited.values())
    if not lost:
        return None
    cycles = int(ends[-1] - ends[first - 1])
    return Tail(cycles, lost, {cause: lost * count / together for cause, count in waited.items()})
