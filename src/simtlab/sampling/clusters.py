"""Launches of one kernel that do the same: a few of them are timed, the others are taken to have been as fast.

A launch belongs to a cluster if its block and shared memory are the same, its CTAs and warp instructions about as many, so that
they make about as many waves, and its functional profile is alike (profile.py). Of a kernel's first cluster the first, the second,
the eighth, the 32nd, … launch is timed: the second because the first may find cold caches, later ones so that a slow change is
seen. Of the others the second is timed if the first was stale: the launch before it was not timed, so that the L2 did not hold
what it left there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

from simtlab.execute.counting import no_counts
from simtlab.machine.config import MachineConfig
from simtlab.machine.load_figures import none_of
from simtlab.machine.machine import TimedRun
from simtlab.machine.sampled import Sampled
from simtlab.program.program import Program
from simtlab.sampling.accounts import ISSUED, layout_of, row_of
from simtlab.sampling.extrapolate import extended
from simtlab.sampling.profile import UNKNOWN, are_alike, differs_by
from simtlab.sampling.statistics import half_width

GROWTH = 4  # from the second that is timed to the next
FEW = 3  # timed launches from which on their spread has a confidence interval that says anything
LAST = 4  # timed launches whose mean rate counts
NEIGHBOURS = 6  # timed launches of a kernel that say how its cycles grow with its instructions
SIZES = 2.5  # times as much as profiles, the sizes of launches in a cluster may differ
KEPT = 8  # estimates of a cluster's launches
SPREAD = 0.02  # of their instructions, least, to say anything


@dataclass(frozen=True)
class Size:
    """Of a launch, in CTAs: how many there are, how many come to a core, and how often all cores are filled."""

    ctas: int
    of_a_core: int
    waves: int

    def is_like(self, other: Size, tolerance: float) -> bool:
        return all(differs_by(value, vars(other)[name]) <= tolerance for name, value in vars(self).items())


def size_of(ctas: int, cores: int, wave: int) -> Size:
    return Size(ctas, -(-ctas // cores), -(-ctas // wave))


@dataclass
class Cluster:
    """Launches that are alike."""

    size: Size
    profile: np.ndarray  # of its first launch, count_t
    is_first: bool  # of its kernel
    launches: int = 0
    timed: list[TimedRun] = field(default_factory=list)
    stale: list[bool] = field(default_factory=list)  # of each of them, whether the one before it was not timed
    estimated: dict[bytes, TimedRun] = field(default_factory=dict)  # launches that were not, by what they executed

    @property
    def good(self) -> list[TimedRun]:
        """Those to go by: neither stale nor the first of its kernel, if there are such."""
        fresh = [run for run, stale in zip(self.timed, self.stale, strict=True) if not stale]
        return (fresh[1:] if self.is_first else []) or fresh or self.timed

    @property
    def instructions(self) -> int:
        return int(self.profile["executed"].sum())

    def is_due(self) -> bool:
        """Whether the launch that has just come is to be timed."""
        if self.launches <= 2:
            return self.launches == 1 or self.is_first or all(self.stale)
        place = self.launches
        while place > 2 and place % GROWTH == 0:
            place //= GROWTH
        return place == 2

    @property
    def rates(self) -> list[float]:
        """Cycles of an instruction in the timed launches to go by."""
        return [run.cycles / run.instructions for run in self.good[-LAST:]]


@dataclass
class Kernel:
    """A kernel's clusters, and all its launches that were timed."""

    program: Program  # kept, so that no other takes the place that the kernel is known by
    clusters: list[Cluster]

    @property
    def timed(self) -> list[TimedRun]:
        return [run for cluster in self.clusters for run in cluster.good]

    def growth(self, instructions: int) -> float:
        """By which power of its instructions a launch's cycles grow, near so many: 1 where the machine is full, less where it is
        not. From the nearest timed launches, if they differ enough to say."""
        runs = sorted(self.timed, key=lambda run: abs(np.log(run.instructions / instructions)))[:NEIGHBOURS]
        x, y = (np.log([getattr(run, name) for run in runs]) for name in ("instructions", "cycles"))
        if len(runs) < FEW or np.ptp(x) < SPREAD:
            return 1.0
        return float(np.clip(np.polyfit(x, y, 1)[0], 0.0, 1.0))

    def error(self, cluster: Cluster) -> float:
        """Of a launch of a cluster that was not timed, as a share of its cycles."""
        own = max(run.sampled.error if run.sampled else 0.0 for run in cluster.timed[-LAST:])
        if len(cluster.rates) >= FEW:
            return own + half_width(cluster.rates) / float(np.mean(cluster.rates))
        rates = cluster.rates if len(cluster.rates) > 1 else [run.cycles / run.instructions for run in cluster.timed]
        if len(rates) > 1:
            return own + (max(rates) - min(rates)) / min(rates)
        return own + self._difference(cluster.good[0])

    def _difference(self, run: TimedRun) -> float:
        """By which share a launch's cycles differ from what the nearest other one would make one expect."""
        others = [one for one in self.timed if one is not run]
        others = others or [one for cluster in self.clusters for one in cluster.timed if one is not run]
        if not others:
            return 1.0
        other = min(others, key=lambda one: abs(np.log(one.instructions / run.instructions)))
        expected = other.cycles * (run.instructions / other.instructions) ** self.growth(run.instructions)
        return abs(expected - run.cycles) / run.cycles


class Clusters:
    """The clusters of all kernels that a machine has run."""

    def __init__(self, similar: float):
        self.similar = similar
        self._kernels: dict[Hashable, Kernel] = {}

    def knows(self, kernel: Hashable) -> bool:
        return kernel in self._kernels

    def begin(self, kernel: Hashable, size: Size, run: TimedRun, program: Program, is_stale: bool) -> None:
        """The first launch of a kernel, which was timed. What it executed is known from that, lines of memory apart."""
        profile = no_counts(len(run.counts_by_instruction))
        profile["executed"], profile["lanes"] = run.counts_by_instruction[:, ISSUED], run.work_by_instruction["lanes"]
        profile["lines"] = profile["cold"] = UNKNOWN
        self._kernels[kernel] = Kernel(program, [Cluster(size, profile, True, 1, [run], [is_stale])])

    def add(self, kernel: Hashable, size: Size, profile: np.ndarray) -> Cluster:
        """The cluster of a launch that has come: the nearest in instructions of those that it is like, or a new one."""
        known = self._kernels[kernel].clusters
        could = [one for one in known if self._is_like(one, size, profile)]
        if not could:
            could = [Cluster(size, profile, is_first=False)]
            known.append(could[0])
        count = int(profile["executed"].sum())
        found = min(could, key=lambda one: abs(one.instructions - count))
        found.launches += 1
        if found.profile["lines"].sum() < 0:
            found.profile = profile
        return found

    def _is_like(self, cluster: Cluster, size: Size, profile: np.ndarray) -> bool:
        tolerance = SIZES * self.similar
        near = differs_by(cluster.instructions, int(profile["executed"].sum())) <= tolerance
        return near and cluster.size.is_like(size, tolerance) and are_alike(cluster.profile, profile, self.similar, True)

    def note(self, kernel: Hashable, cluster: Cluster, run: TimedRun, is_stale: bool) -> None:
        """A launch of a cluster was timed: the others are estimated anew."""
        cluster.timed.append(run)
        cluster.stale.append(is_stale)
        for one in self._kernels[kernel].clusters:
            one.estimated.clear()

    def estimate(self, kernel: Hashable, cluster: Cluster, executed: np.ndarray, config: MachineConfig) -> TimedRun:
        """A launch of a cluster that was not timed, as it would have been. The last estimates are kept: often they are the same."""
        key = executed.tobytes()
        if key not in cluster.estimated:
            while len(cluster.estimated) >= KEPT:
                cluster.estimated.pop(next(iter(cluster.estimated)))
            cluster.estimated[key] = self._estimate(kernel, cluster, executed, config)
        return cluster.estimated[key]

    def _estimate(self, kernel: Hashable, cluster: Cluster, executed: np.ndarray, config: MachineConfig) -> TimedRun:
        """As the last one that was timed, with as many cycles as the timed ones took on average, more or fewer as it has more or
        fewer instructions."""
        model, own = cluster.good[-1], self._kernels[kernel]
        instructions = int(executed["executed"].sum())
        more = instructions / model.instructions
        row, layout = row_of(model) * more, layout_of(model)
        mean = float(np.mean(cluster.rates)) / (model.cycles / model.instructions)
        slower = mean * more ** (own.growth(instructions) - 1)
        counters = 1 + len(layout.counters)
        row[0] *= slower
        row[counters : counters + layout.sizes[2]] *= slower
        share, names = own.error(cluster), ("cycles", *layout.counters)
        errors = {name: share * float(value) for name, value in zip(names, row[:counters], strict=True)}
        mark = Sampled(0.0, share, errors, windows=len(cluster.timed), gaps=1)
        return extended(nothing_of(model), row, executed, config, mark)


def nothing_of(run: TimedRun) -> TimedRun:
    """The same launch before anything was counted."""
    return replace(
        run, cycles=0, elapsed=0, instructions=0, thread_instructions=0, stalls=dict.fromkeys(run.stalls, 0),
        counters=dict.fromkeys(run.counters, 0), counts_by_instruction=np.zeros_like(run.counts_by_instruction),
        stalls_by_scheduler=np.zeros_like(run.stalls_by_scheduler), loads=none_of(run.loads.places),
    )  # fmt: skip
