"""A machine: a configured GPU that runs launches, one after another or side by side in streams, and what it counts."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from simtlab.errors import CycleLimit, Deadlock, Picklable, SimtlabError
from simtlab.execute.cta import look_for_cycles
from simtlab.execute.state import FaultCode, Outcome, WarpStatus
from simtlab.machine.build import Records, build
from simtlab.machine.clock import run as run_clock
from simtlab.machine.clock_levels import Levels
from simtlab.machine.config import MachineConfig
from simtlab.machine.core.core import close_accounts
from simtlab.machine.core.inflight import FAR_FUTURE
from simtlab.machine.core.instruction_buffer import advance
from simtlab.machine.core.kinds import Stall
from simtlab.machine.counters import Tally
from simtlab.machine.cta_sharing import Blocks, pairs_of
from simtlab.machine.energy import energy, energy_by_level, of_policy, seconds, seconds_by_level
from simtlab.machine.facts import Profile
from simtlab.machine.hooks import MECHANISMS
from simtlab.machine.intervals import SHORTEST, Intervals
from simtlab.machine.kernels import Launch, Loaded, Prepared, Programs, prepare, share
from simtlab.machine.load_figures import Sharing, sharing
from simtlab.machine.occupancy import Occupancy, occupancy
from simtlab.machine.saved_state import Tables
from simtlab.machine.state import MAX_KERNELS
from simtlab.machine.threads import most_threads, new_crew
from simtlab.machine.timed_run import TimedRun
from simtlab.machine.utilisation import utilisation
from simtlab.machine.wait_graph import wait_graph
from simtlab.machine.watch import Watch
from simtlab.policies.attach import attach
from simtlab.policies.choice import PolicyChoice
from simtlab.policies.counters import counted, explained
from simtlab.policies.together import choose_policies
from simtlab.policies.trouble import new_trouble, raise_if_any
from simtlab.program.program import Program

__all__ = ["Interrupted", "Launch", "Machine", "Occupancy", "TimedRun", "occupancy"]

STRETCH = 200_000  # cycles between looks at whether warps only repeat themselves
FEWEST_CYCLES = 256  # between looks at Ctrl-C; from here on as many as take the time below, whatever the machine
LOOK_SECONDS = 0.1, 0.3
STUCK_CYCLES = 2_000_000  # nothing has come any further for so long: something is wrong


class Interrupted(Picklable, KeyboardInterrupt):
    """Ctrl-C during a launch; `run` is what the machine counted until then, after the earlier launches' cycles."""

    left_behind = ("program",)

    def __init__(self, launch: Launch, run: TimedRun, earlier_cycles: int):
        self.program, self.run, self.earlier_cycles = launch.program, run, earlier_cycles
        super().__init__(f"kernel '{launch.program.readable_name}' was stopped after {run.cycles} cycles")


@dataclass(frozen=True)
class Before:
    """What had been counted when a run began."""

    cycle: int
    counters: np.ndarray
    stalls: np.ndarray  # by core, scheduler and cause


@dataclass(frozen=True)
class Progress:
    """What a run has done when somebody looks: stores to memory, CTAs finished, instructions of each warp that runs."""

    changes: int
    finished: int
    executed: list[int]  # none where stores or CTAs have changed
    since: int  # the cycle of the first look that found these stores and CTAs


NOTHING_SEEN = Progress(-1, -1, [], 0)


@dataclass(frozen=True)
class Paused:
    """A run in between, beside its tables."""

    before: Before
    seen: Progress


class Machine:
    """The records of a GPU and the launches that have run on it; its caches keep what they hold from one to the next."""

    max_cycles: int | None = None  # of launches that run together
    watch: Watch | None = None  # a core to look at, cycle by cycle
    on_pause: Callable[["Paused"], None] | None = None  # told every now and then, when a run can be saved (saved_state.py)
    stuck_cycles = STUCK_CYCLES
    samples = False  # whether it simulates in detail only in part (sampling/machine.py)

    def __init__(
        self,
        config: MachineConfig,
        choices: Mapping[str, PolicyChoice] | None = None,
        check_policies: bool = False,
        profile: Profile | None = None,
        threads: int = 1,
    ):
        self.config = config
        self.threads = most_threads(config, threads)
        self._others = ThreadPoolExecutor(max(1, self.threads - 1), "simtlab")  # which starts none before they are called
        self.policies = choose_policies(config, choices or {}, check_policies)
        self._programs = Programs(config, any(slot in MECHANISMS for slot in self.policies), profile)
        self._interval_cycles = SHORTEST
        self._part = FEWEST_CYCLES  # to run before the next look at Ctrl-C
        self.reset()

    def reset(self) -> None:
        """A machine at rest, its caches empty."""
        self.records: Records = build(self.config, self.threads)
        self._trouble = new_trouble(self.records)
        policies = enumerate(self.policies.items())
        self._own = {slot: attach(policy, self.records, self._trouble, number) for number, (slot, policy) in policies}
        self._plain = self.records.as_plain_arrays()
        self._tally = Tally(self.records)
        self._levels = Levels(self._tally, self._plain.gpu)
        self._intervals = Intervals(self._tally, self._interval_cycles)
        self._blocks = [Blocks(self._plain.gpu[t : t + 1]) for t in range(self.threads)]
        self._crew = new_crew(self.threads)
        self._memory: dict[str, np.ndarray] = {}  # of CTA slots
        self._unfinished = False

    def run(
        self,
        launches: Sequence[Launch],
        progress: Callable[[int, float], None] | None = None,
        restore: Callable[[Tables], "Paused"] | None = None,
    ) -> list[TimedRun]:
        """Run launches to their end, those of one stream one after another, streams side by side.

        `progress` is told the cycles so far and the share of CTAs that have ended, every now and then. Ctrl-C raises Interrupted,
        more than `max_cycles` CycleLimit, and `stuck_cycles` in which nothing comes any further Deadlock. After a launch that did
        not end, the next one finds the machine as new: what was under way never will be. `restore` brings a run of up to
        MAX_KERNELS launches to where it was when it was saved.
        """
        if self._unfinished:
            self.reset()
        done: list[TimedRun] = []
        for start in range(0, len(launches), MAX_KERNELS):
            done += self._run_some(launches[start : start + MAX_KERNELS], progress, restore)
        return done

    def _run_some(
        self, launches: Sequence[Launch], progress: Callable[[int, float], None] | None, restore: Callable | None
    ) -> list[TimedRun]:
        gpu = self.records.gpu[0]
        prepared = prepare(self.config, self.records, launches, self._programs, self._memory, self._threads_for(launches))
        self._prepared = prepared
        if self.watch is not None:
            self.watch.launch([launch.program for launch in launches])
        self._may_run_ahead = int(gpu.may_run_ahead)
        for slot, policy in self.policies.items():
            self._own[slot][...] = policy.at_launch(self._own[slot])
        if gpu.hooks.clocks_choose:
            self._levels.begin()
        share(self.records, prepared)
        before, seen = Before(int(gpu.cycle), self._tally.read(), self.records.cores["n_stall"].copy()), NOTHING_SEEN
        self._unfinished = True
        if restore is not None:
            before, seen = (paused := restore(self.tables())).before, paused.seen
        try:
            is_done = self._run_grids(launches, progress, before, seen)
        except KeyboardInterrupt:
            launch, so_far = self._under_way(launches, self._results(prepared, before))
            raise Interrupted(launch, so_far, before.cycle) from None
        if not is_done:
            if self.watch is not None:
                self.watch.end(self._plain.requests, self.cycle)
            launch, so_far = self._under_way(launches, self._results(prepared, before))
            message = f"kernel '{launch.program.readable_name}' is not done after {self.max_cycles} cycles"
            raise CycleLimit(f"{message}\n{wait_graph(self.records)}", launch.program, so_far)
        self._unfinished = False
        return self._results(prepared, before)

    def tables(self) -> Tables:
        """All that changes as the run under way goes on."""
        ledgers = {"intervals": self._intervals.ledger, "levels": self._levels.ledger}
        return Tables(self.records, self._own, ledgers, self._blocks, self._prepared)

    def load(self, program: Program) -> Loaded:
        """What the machine keeps of a program, which has its place in the order in which programs came."""
        return self._programs.load(program)

    def _threads_for(self, launches: Sequence[Launch]) -> int:
        """How many host threads run some launches: one where they, a policy or a watch need the cores one after another."""
        gpu = self.records.gpu[0]
        asks_host = any(self._programs.load(launch.program).calls_host for launch in launches)
        alone = asks_host or self.watch is not None or any(
            (gpu.shares_state, gpu.hooks.divergence_first, gpu.hooks.divergence_turn, gpu.hooks.preemption_choose)
        )
        self._running = 1 if alone else self.threads
        return self._running

    def _under_way(self, launches: Sequence[Launch], runs: list[TimedRun]) -> tuple[Launch, TimedRun]:
        """The first launch that is not done, and what it took so far."""
        kernel = self.records.gpu[0].kernel
        k = next((k for k in range(len(launches)) if kernel[k].finished_ctas < kernel[k].launch.n_ctas), len(launches) - 1)
        return launches[k], runs[k]

    def _run_grids(self, launches: Sequence[Launch], progress: Callable | None, before: Before, seen: Progress) -> bool:
        """Stretch after stretch until all is done; in between, what needs the host. False if the limit of cycles comes first."""
        cycle, first = self.cycle, before.cycle
        last = first + self.max_cycles if self.max_cycles is not None else int(FAR_FUTURE)
        while cycle < last:
            outcome, end = Outcome.SPENT, min(cycle + STRETCH, last)
            while outcome == Outcome.SPENT and cycle < end:
                outcome = self._run_part(cycle, min(cycle + self._part, end))
                cycle = self.cycle
                if progress is not None:
                    progress(cycle - first, self._share_done(launches))
                if self.on_pause is not None and outcome == Outcome.SPENT:
                    self.on_pause(Paused(before, seen))
            if outcome == Outcome.DONE:
                return True
            if outcome in (Outcome.SERVICE, Outcome.FAULT):
                self._help(launches, outcome)
            seen = self._look_for_progress(launches, seen)
        return False

    def _share_done(self, launches: Sequence[Launch]) -> float:
        """Of the CTAs of all launches, those that have ended."""
        kernels = self._plain.gpu["kernel"][0, : len(launches)]
        return float(kernels["finished_ctas"].sum() / max(1, kernels["launch"]["n_ctas"].sum()))

    def _run_part(self, cycle: int, until: int) -> Outcome:
        """A part of a stretch, in one go."""
        begin = perf_counter()
        outcome = self._run_clock(until) if self.watch is None else self._run_watched(self.watch, cycle, until)
        self._part = next_part(self._part, perf_counter() - begin)
        return outcome

    def _run_watched(self, watch: Watch, cycle: int, until: int) -> Outcome:
        """The same, with notes taken of a core in the window; there it stays with the others."""
        gpu = self._plain.gpu
        if not watch.is_looking(cycle):
            return self._run_clock(watch.next_stop(cycle, until))
        gpu["watch"], gpu["may_run_ahead"] = watch.address, 0
        try:
            return self._run_clock(until)
        finally:
            gpu["watch"], gpu["may_run_ahead"] = 0, self._may_run_ahead
            watch.take(self.cycle)

    def _run_clock(self, until: int) -> Outcome:
        plain, gpus = self._plain, self._plain.gpu[: self._running]
        gpus["outcome"], gpus["pause"], self._crew["stop"] = Outcome.SPENT, 0, 0
        given = (
            self._crew, gpus, plain.cores, plain.slices, plain.channels, plain.networks, plain.requests, self._intervals.ledger,
            self._tally.parts, self._levels.ledger, until,
        )  # fmt: skip
        others = [self._others.submit(run_clock, *given, thread) for thread in range(1, self._running)]
        outcome = run_clock(*given, 0)
        for other in others:
            other.result()
        for blocks in self._blocks:
            blocks.make_room()
        raise_if_any(self._trouble[0], self.policies)
        return Outcome(outcome)

    @property
    def cycle(self) -> int:
        """The core cycle the machine has come to."""
        return int(self._plain.gpu["cycle"][0])

    def _help(self, launches: Sequence[Launch], outcome: Outcome) -> None:
        """Do what a warp asks of the host, or say what it did wrong."""
        gpu = self.records.gpu[0]
        core = self.records.cores[int(gpu.where_core)]
        slot = core.slots[int(gpu.where_slot)]
        cta, kernel, launch = core.ctas[int(slot.cta)], gpu.kernel[int(slot.kernel)], launches[int(slot.kernel)]
        if outcome == Outcome.SERVICE:
            launch.serve(cta, kernel)
            if kernel.worker.fault == FaultCode.NONE:
                advance(core, int(gpu.where_slot))
                return
        launch.give_up(Outcome.FAULT, [cta], kernel.worker)

    def _resident(self, k: int) -> list[Any]:
        """The CTAs of a kernel that are in a core now."""
        found = []
        for core in self.records.cores:
            busy = [c for c in range(int(core.cta_slots)) if not int(core.free_ctas) >> c & 1]
            found += [core.ctas[c] for c in busy if core.cta_kernel[c] == k]
        return found

    def _look_for_progress(self, launches: Sequence[Launch], seen: Progress) -> Progress:
        """Stop a run that can never end: warps that all repeat themselves, or a machine in which nothing moves."""
        gpu, cycle, kernels = self.records.gpu[0], self.cycle, range(len(launches))
        changes = sum(int(gpu.kernel[k].worker.changes) for k in kernels)
        finished = sum(int(gpu.kernel[k].finished_ctas) for k in kernels)
        if (changes, finished) != (seen.changes, seen.finished):
            return Progress(changes, finished, [], cycle)
        resident = {k: self._resident(k) for k in kernels}
        executed = [count for ctas in resident.values() for cta in ctas for count in executed_by_running(cta)]
        looks = [look_for_cycles(cta, changes) for ctas in resident.values() for cta in ctas]
        if looks and all(looks) and all_went_on(executed, seen.executed):
            stuck = next(k for k in kernels if resident[k])
            launches[stuck].give_up(Outcome.STUCK, resident[stuck], gpu.kernel[stuck].worker)
        idle = cycle - (seen.since if all(looks) else int(gpu.last_progress))
        if idle > self.stuck_cycles:
            names = " and ".join(dict.fromkeys(f"'{launch.program.readable_name}'" for launch in launches))
            raise Deadlock(f"kernel {names}: nothing has come any further for {idle} cycles\n{wait_graph(self.records)}")
        return Progress(changes, finished, executed, seen.since)

    def _counted(self) -> np.ndarray:
        """All counters, up to and including this cycle."""
        close_accounts(self._plain.cores, self.cycle)
        return self._tally.read()

    @property
    def own_counters(self) -> dict[str, tuple[str, str]]:
        """What the policies count themselves: each counter's unit and meaning."""
        return {name: words for policy in self.policies.values() for name, words in explained(policy).items()}

    def intervals(self) -> dict[str, np.ndarray]:
        """What was counted in each interval since the machine was built: its last cycle, and a column for each counter."""
        close_accounts(self._plain.cores, self.cycle)
        ends, gains = self._intervals.table(self.cycle)
        return {"cycle": ends} | self._tally.named(gains)

    @property
    def interval_cycles(self) -> int:
        """How long intervals are: as long as was asked for before the first launch, doubled where there would be too many."""
        return int(self._intervals.ledger["length"][0])

    @interval_cycles.setter
    def interval_cycles(self, cycles: int) -> None:
        if not isinstance(cycles, int) or cycles < 1:
            raise SimtlabError(f"an interval is a whole number of core cycles, 1 or more, not {cycles!r}")
        if self.cycle > 0:
            raise SimtlabError(f"intervals are {self.interval_cycles} cycles long since the first launch: set it before that")
        self._interval_cycles = cycles
        self._intervals = Intervals(self._tally, cycles)

    def sharing(self) -> Sharing:
        """Which CTAs came to which blocks of global memory since the machine was built."""
        return sharing(*pairs_of(self._blocks))

    def _results(self, prepared: Prepared, before: Before) -> list[TimedRun]:
        """What was counted since `before`, up to and including this cycle."""
        gpu = self.records.gpu[0]
        counters = self._tally.named(self._counted() - before.counters)
        by_scheduler = (self.records.cores["n_stall"] - before.stalls)[:, : self.config.issue.schedulers]
        causes = {cause.name.lower(): counters.pop(f"stall_{cause.name.lower()}") for cause in Stall}
        spans = [self._span(k, alone=len(prepared.fits) == 1) for k in range(len(prepared.fits))]
        cycles = max(end for _, end in spans) - min(start for start, _ in spans) + 1
        levels = self._levels.by_level() if self.records.gpu[0].hooks.clocks_choose else None
        spent = self._energy(counters, cycles, levels), utilisation(self.config, counters, cycles)
        for slot, policy in self.policies.items():
            counters |= counted(policy, self._own[slot])  # from zero at each launch
        runs = []
        for k, (fits, counts, loads) in enumerate(zip(prepared.fits, prepared.counts, prepared.loads, strict=True)):
            kernel, (start, end) = gpu.kernel[k], spans[k]
            took = end - start + 1, int(gpu.cycle) - before.cycle
            issued = int(kernel.issued), int(kernel.issued_threads)
            time = seconds(self.config, took[0]) if levels is None else seconds_by_level(self.config, levels)
            runs.append(TimedRun(*took, *issued, causes, counters, fits, counts, *spent, by_scheduler, loads, start, time))
        return runs

    def _span(self, k: int, alone: bool) -> tuple[int, int]:
        """The first and the last cycle of a launch; one that runs alone also waits for its last write-backs."""
        gpu = self.records.gpu[0]
        kernel = gpu.kernel[k]
        end = int(gpu.cycle) if alone or kernel.end < 0 else int(kernel.end)
        return int(kernel.start) if kernel.start >= 0 else end + 1, end

    def _energy(self, counters: dict[str, int], cycles: int, levels: dict[int, Any] | None) -> dict[str, float]:
        policies = sum(of_policy(self.config, policy, self._own[slot], cycles) for slot, policy in self.policies.items())
        if levels is not None:
            return energy_by_level(self.config, levels, policies)
        return energy(self.config, counters, cycles, policies)


def all_went_on(now: list[int], before: list[int]) -> bool:
    """Whether every warp has executed something since an earlier look; one that has not waits for the machine."""
    return len(now) == len(before) and all(new > old for new, old in zip(now, before, strict=True))


def executed_by_running(cta: Any) -> list[int]:
    """Instructions that each warp of a CTA has executed, of those that wait at no barrier and have not ended."""
    warps = cta.warps[: int(cta.n_warps)]
    return [int(warp.executed) for warp in warps if warp.status == WarpStatus.RUNNING]


def next_part(cycles: int, seconds: float) -> int:
    """How many cycles to run before the next look at Ctrl-C, if so many took so long. What is counted does not depend on it."""
    if seconds < LOOK_SECONDS[0]:
        return min(2 * cycles, STRETCH)
    return max(cycles // 2, FEWEST_CYCLES) if seconds > LOOK_SECONDS[1] else cycles
