"""One launch under way on a machine that samples: its windows and gaps, and what they come to in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simtlab.machine.machine import TimedRun
from simtlab.machine.sampled import Sampled
from simtlab.sampling.profile import added
from simtlab.sampling.progress import Progress
from simtlab.sampling.settings import Sampling
from simtlab.sampling.windows import Gap, Window

if TYPE_CHECKING:
    from simtlab.sampling.machine import SampledMachine

TURNED_OVER = 0.95  # of the L2's lines, from which on they all count as the launch's own
IDLE_DRAM = 0.3  # of its peak: used less, it is not the bound, even if each line that is fetched evicts a dirty one
NEVER = 1 << 62


@dataclass(frozen=True)
class Reading:
    """All that was counted at a look."""

    row: np.ndarray
    profile: np.ndarray  # what was executed by instruction, count_t
    by_cta: Progress
    instructions: int  # of warps
    dram_bus_cycles: int
    own_lines: float  # share of the L2's lines that were filled since the launch began, or since the last gap
    ended: int  # CTAs


@dataclass(frozen=True)
class Totals:
    """What gaps would have counted, what they executed by instruction, and half the confidence interval of the former."""

    estimate: np.ndarray
    executed: np.ndarray
    width: np.ndarray


class Sampler:
    """What many_ctas.py and long_ctas.py share."""

    next_look: int  # cycle

    def __init__(self, machine: SampledMachine, wave: int, settings: Sampling):
        self.machine, self.wave, self.settings = machine, wave, settings
        self.began, self.issued_before = machine.cycle, machine.issued
        self.instead: Sampler | None = None  # who is to look at this launch from now on
        self.gap: Gap | None = None  # the last one,
        self.gaps = 0  # … of so many
        self._earlier: list[Totals] = []  # what those before it come to together, if there are any
        self.reason = ""
        self.end_error = 0.0  # cycles by which the end of the launch may be longer or shorter than in full
        self.windows, self.cycles, self.waves = 0, 0.0, 0.0  # that count, and how long they are together

    def look(self) -> None:
        """Note where the launch stands; at the end of a window, judge."""
        raise NotImplementedError

    def _stop(self, reason: str) -> None:
        """Look no more."""
        self.reason, self.next_look = reason, NEVER

    def _warm_up(self) -> None:
        """The launch begins, or goes on behind a gap."""
        self._since: list[Window] = []  # windows since then that count
        self._last: Reading | None = None  # where the window under way began; None in the first, which does not count
        self._is_settled = False
        self.machine.mark_l2()

    def _window(self, before: Reading, now: Reading) -> Window:
        row = now.row - before.row
        bus = (now.dram_bus_cycles - before.dram_bus_cycles) / (float(row[0]) * self.machine.dram_cycles_a_core_cycle)
        return Window(row, now.instructions - before.instructions, bus, (now.ended - before.ended) / self.wave)

    def _settles(self, before: Reading, now: Reading, window: Window) -> bool:
        """The L2 has been turned over, or makes no difference. What it evicts, and when, changes the rate."""
        return now.own_lines >= TURNED_OVER or window.dram_share < IDLE_DRAM

    def _note(self, window: Window) -> None:
        """A window that counts."""
        self.windows, self.cycles, self.waves = self.windows + 1, self.cycles + window.cycles, self.waves + window.waves
        self._since.append(window)
        if self.gap is not None and not self.gap.is_over:
            self.gap.after.append(window)

    # The end ----------------------------------------------------------------------------------------------------------

    def _add_gap(self, gap: Gap) -> None:
        """What the one before it would have counted is known now."""
        if self.gap is not None:
            self._earlier = [self.totals()]
        self.gap, self.gaps = gap, self.gaps + 1

    def totals(self) -> Totals:
        """What the gaps come to together. They are taken to be wrong all in the same direction."""
        assert self.gap is not None
        parts = [*self._earlier, Totals(self.gap.estimate(), self.gap.executed, self.gap.uncertainty())]
        estimate, width = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("estimate", "width"))
        return Totals(estimate, added([part.executed for part in parts]), width)

    def mark(self, run: TimedRun) -> Sampled:
        if self.gap is None:
            return Sampled(1.0, 0.0, windows=self.windows, reason=self.reason or "it ended before its rate was stable")
        totals = self.totals()
        left_out = int(totals.executed["executed"].sum())
        cycles, width = run.cycles + float(totals.estimate[0]), totals.width.copy()
        width[0] += self.end_error
        errors = dict(zip(run.counters, width[1 : 1 + len(run.counters)].tolist(), strict=True))
        share = run.instructions / (run.instructions + left_out)
        return Sampled(share, float(width[0]) / cycles, {"cycles": float(width[0]), **errors}, self.windows, self.gaps)
