"""A machine that simulates a launch in detail until its rate is stable, then leaves CTAs out, and looks again further on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simtlab.execute.counting import no_counts
from simtlab.execute.state import Outcome
from simtlab.machine.core.stall import Work
from simtlab.machine.fast_forward import fast_forward, hold, let_go_on
from simtlab.machine.kernels import Launch, Prepared
from simtlab.machine.machine import Before, Machine, TimedRun
from simtlab.machine.memory.cache import LineState
from simtlab.machine.occupancy import occupancy
from simtlab.machine.sampled import Sampled
from simtlab.policies.counters import counted
from simtlab.program.program import Program
from simtlab.sampling.accounts import ISSUED, Layout
from simtlab.sampling.clusters import Clusters
from simtlab.sampling.extrapolate import extended
from simtlab.sampling.functional import run_ctas
from simtlab.sampling.long_ctas import LongCtas
from simtlab.sampling.many_ctas import ManyCtas
from simtlab.sampling.profile import UNKNOWN
from simtlab.sampling.progress import NO_CTA, Progress
from simtlab.sampling.refusals import why_launches_in_full, why_program_in_full
from simtlab.sampling.sampler import Reading, Sampler
from simtlab.sampling.settings import Sampling

FEWEST_WAVES = 10  # of CTAs, from which on some are left out: of fewer little is gained, and an end that is different weighs more


class SampledMachine(Machine):
    """A machine whose launches are sampled as the settings say; `functional_threads` of the host run what is left out
    of the detail."""

    samples = True

    def __init__(self, *given: Any, sampling: Sampling, functional_threads: int = 1):
        self.sampling, self.functional_threads = sampling, functional_threads
        self.clusters = Clusters(sampling.similar)
        self.is_stale = False  # the last launch was not timed: the L2 does not hold what it left there
        self._sampler: Sampler | None = None
        self._launch: Launch | None = None
        self._reason = ""
        self._known: dict[int, tuple[str, Program]] = {}
        self._kept: dict[int, np.ndarray] = {}
        super().__init__(*given)

    def _run_some(
        self, launches: Sequence[Launch], progress: Callable[[int, float], None] | None, restore: Callable | None
    ) -> list[TimedRun]:
        self._reason, self._sampler, self._launch = self.why_in_full(launches), None, launches[0]
        n_ctas, wave = int(launches[0].record[0].n_ctas), self.wave_of(launches[0])
        if not self._reason and n_ctas < FEWEST_WAVES * wave:
            self._sampler = LongCtas(self, n_ctas, wave, self.sampling)
        elif not self._reason:
            self._sampler = ManyCtas(self, n_ctas, wave, self.sampling)
        return super()._run_some(launches, progress, restore)

    def wave_of(self, launch: Launch) -> int:
        """CTAs of a launch that the machine holds at once."""
        row = launch.record[0]
        return self.config.core.cores * occupancy(self.config, launch.program, int(row.threads), int(row.shared_bytes)).ctas

    def why_in_full(self, launches: Sequence[Launch]) -> str:
        """Why launches are simulated in full; empty if a part of them can be run functionally."""
        reason = why_launches_in_full(self, launches)
        program = launches[0].program
        if not reason and id(program) not in self._known:
            self._known[id(program)] = why_program_in_full(program), program  # with it, so that no other takes its place
        return reason or self._known[id(program)][0]

    def _run_part(self, cycle: int, until: int) -> Outcome:
        if self._sampler is None:
            return super()._run_part(cycle, until)
        outcome = super()._run_part(cycle, min(until, self._sampler.next_look))
        if outcome == Outcome.SPENT and self.cycle >= self._sampler.next_look:
            self._sampler.look()
            self._sampler = self._sampler.instead or self._sampler
        return outcome

    def _results(self, prepared: Prepared, before: Before) -> list[TimedRun]:
        runs = super()._results(prepared, before)
        if self._sampler is None:
            for run in runs:
                run.sampled = Sampled(1.0, 0.0, reason=self._reason)
            return runs
        mark = self._sampler.mark(runs[0])
        if self._sampler.gap is None:
            runs[0].sampled = mark
            return runs
        totals = self._sampler.totals()
        return [extended(runs[0], totals.estimate, totals.executed, self.config, mark)]

    def keep(self, contents: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Copies of memory by address, in the same place each time: the host takes its time to give a new one."""
        same = {start: kept for start, kept in self._kept.items() if start in contents and len(contents[start]) == len(kept)}
        self._kept = {start: same.get(start, np.empty_like(one)) for start, one in contents.items()}
        for start, one in contents.items():
            np.copyto(self._kept[start], one)
        return self._kept

    # What the sampler looks at, and does ------------------------------------------------------------------------------

    @property
    def ended(self) -> int:
        """Its CTAs that have ended, left out ones too."""
        return int(self._plain.gpu["kernel"]["finished_ctas"][0, 0])

    @property
    def begun(self) -> int:
        return int(self._plain.gpu["kernel"]["launch"]["next_cta"][0, 0])

    def reading(self) -> Reading:
        """All that the kernel under way has counted."""
        counters = {name: count for name, count in self._tally.named(self._counted()).items() if not name.startswith("stall_")}
        for slot, policy in self.policies.items():
            counters |= counted(policy, self._own[slot])
        stalls = self.records.cores["n_stall"][:, : self.config.issue.schedulers]
        table, loads = self._prepared.counts[0].copy(), self._prepared.loads[0].counted.view(np.int64).copy()
        layout = Layout(tuple(counters), len(stalls), stalls.shape[1], len(table), len(loads))
        row = layout.row([np.array([self.cycle]), np.array(list(counters.values())), stalls, table, loads])
        profile = no_counts(len(table))
        profile["executed"], profile["lanes"] = table[:, ISSUED], table[:, Work.LANES]
        profile["lines"] = profile["cold"] = UNKNOWN
        return Reading(row, profile, self.progress(), self.issued, counters["dram_bus_cycles"], self.own_lines, self.ended)

    @property
    def issued(self) -> int:
        """Warp instructions since the machine was built."""
        return int(self.records.cores["instructions"].sum())

    def progress(self) -> Progress:
        """How far each CTA on the machine has come."""
        cores = np.asarray(self.records.cores)
        slots = int(cores["cta_slots"].max())
        free = cores["free_ctas"][:, None] >> np.arange(slots, dtype=np.uint64) & np.uint64(1)
        number = np.where(free, NO_CTA, cores["ctas"]["number"][:, :slots])
        warps = -(-int(self._launch.record[0]["threads"]) // 32) if self._launch is not None else 0
        executed = cores["ctas"]["warps"]["executed"][:, :slots, :warps].sum(axis=2)
        return Progress(number, cores["cta_age"][:, :slots].copy(), np.where(free, 0, executed))

    def mark_l2(self) -> None:
        """From here on, lines of the L2 that are filled count as new."""
        self._l2_marks = self._caches["clock"].copy()

    @property
    def own_lines(self) -> float:
        """The share of the L2's lines that were filled since the mark."""
        caches = self._caches
        lines = (caches["sets"].astype(np.int64) * caches["ways"])[0]
        filled, states = (caches["line"][name][:, :lines] for name in ("filled", "state"))
        return float(np.mean((filled > self._l2_marks[:, None]) & (states != LineState.INVALID)))

    @property
    def _caches(self) -> np.ndarray:
        return np.asarray(self.records.slices)["cache"]

    @property
    def dram_cycles_a_core_cycle(self) -> float:
        """Of all channels together."""
        clocks = self.config.clocks
        return self.config.dram.channels * clocks.dram_mhz / clocks.core_mhz

    def run_functionally(self, first: int, ctas: int) -> np.ndarray:
        """Run CTAs that have not begun to their end, without the machine. What they executed, by instruction."""
        assert self._launch is not None
        return run_ctas(self._launch, first, ctas, self.functional_threads)

    def go_on_at(self, cta: int) -> None:
        """The next CTA to begin is this one; those before it have been run."""
        kernel = self.records.gpu[0].kernel[0]
        kernel.finished_ctas += cta - kernel.launch.next_cta
        kernel.launch.next_cta = cta

    def end_at(self, cta: int) -> None:
        """The launch has no CTAs from this one on; they have been run."""
        self.records.gpu[0].kernel[0].launch.n_ctas = cta

    # The same of CTAs that are on the machine -------------------------------------------------------------------------

    def hold(self) -> bool:
        """No warp issues from here on. Whether nothing is in flight."""
        return bool(hold(self._plain.cores))

    def let_go_on(self) -> None:
        """Warps that were held issue again."""
        let_go_on(self._plain.gpu[: self._running], self._plain.cores)

    @property
    def warps(self) -> int:
        """That are on the machine."""
        return sum(int(occupied).bit_count() for occupied in self.records.cores["occupied"])

    def fast_forward(self, instructions: np.ndarray) -> tuple[np.ndarray, int]:
        """Held warps go on functionally, those of each core's oldest CTA, of the next, and so on, by about so many instructions.
        What they executed by instruction, and how many warps are left."""
        assert self._launch is not None
        counts, gpus = no_counts(len(self._launch.program.code)), self._plain.gpu[: self._running]
        warps = fast_forward(gpus, self._plain.cores, instructions.astype(np.int64), counts.ctypes.data)
        if gpus["outcome"][0] != Outcome.SPENT:
            self._help([self._launch], Outcome(gpus["outcome"][0]))
        return counts, int(warps)
