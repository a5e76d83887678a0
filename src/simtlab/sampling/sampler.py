"""When a launch is looked at, when its rate is stable, and which CTAs are then left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simtlab.machine.machine import TimedRun
from simtlab.machine.sampled import Sampled
from simtlab.sampling.profile import added, are_alike
from simtlab.sampling.settings import Sampling
from simtlab.sampling.windows import FIRST_LOOK, LEAST_CYCLES, LOOKS, Gap, Window, stable_windows, uncertainty

if TYPE_CHECKING:
    from simtlab.sampling.machine import SampledMachine

SHORTEST_GAP = 2  # waves,
LEAST_GAIN = 0.2  # … and share of the launch: to leave out less gains little and may cost an error at its end
CHUNKS = 16  # that what is left out is run in, about: from one to the next its profile is compared
END_WAVES = 0.5  # by so many waves' time the end of a launch may be longer or shorter than behind the gap
STILL_FULL = 0.9  # of a wave that has not ended: fewer, and the machine is emptying
TURNED_OVER = 0.95  # of the L2's lines, from which on they all count as the launch's own
IDLE_DRAM = 0.3  # of its peak: used less, it is not the bound, even if each line that is fetched evicts a dirty one
NEVER = 1 << 62


@dataclass(frozen=True)
class Reading:
    """All that was counted at a look."""

    row: np.ndarray
    instructions: int
    dram_bus_cycles: int
    own_lines: float  # share of the L2's lines that were filled since the launch began, or since the last gap
    ended: int  # CTAs


class Sampler:
    """One launch under way."""

    def __init__(self, machine: SampledMachine, n_ctas: int, wave: int, settings: Sampling):
        self.machine, self.n_ctas, self.wave, self.settings = machine, n_ctas, wave, settings
        self.windows: list[Window] = []  # measured, of all the launch
        self.gaps: list[Gap] = []
        self.reason = ""
        self._period = FIRST_LOOK
        self.next_look = machine.cycle + FIRST_LOOK
        self._begin_anew(0)

    def _begin_anew(self, ended: int) -> None:
        """The launch begins, or goes on behind a gap when so many CTAs have ended: warm-up first."""
        self._since: list[Window] = []  # windows since then
        self._last: Reading | None = None  # where the window under way began; None in the warm-up wave
        self._is_settled = False
        self._from_ended, self._from_cycle = ended, self.machine.cycle
        self.machine.mark_l2()

    def look(self) -> None:
        """Note where the launch stands; at the end of a window, judge."""
        machine = self.machine
        length = machine.cycle - self._from_cycle
        self.next_look = machine.cycle + max(FIRST_LOOK, length // LOOKS, self._period)
        if self.n_ctas - machine.ended < STILL_FULL * self.wave:
            self._stop("its rate was not stable before its last CTAs began")
        elif machine.ended - self._from_ended >= self.wave and length >= LEAST_CYCLES:
            self._period = length // LOOKS
            self._end_window()

    def _stop(self, reason: str) -> None:
        """Look no more."""
        self.reason, self.next_look = reason, NEVER

    def _end_window(self) -> None:
        before, now = self._last, self.machine.reading()
        self._last, self._from_ended, self._from_cycle = now, now.ended, self.machine.cycle
        if before is None:
            return
        window = self._window(before, now)
        self._is_settled = self._is_settled or self._settles(before, now, window)
        if not self._is_settled:
            return
        self.windows.append(window)
        self._since.append(window)
        if self.gaps:
            self.gaps[-1].after.append(window)
        stable = self._stable()
        if stable:
            self._leave_out(stable)

    def _window(self, before: Reading, now: Reading) -> Window:
        row = now.row - before.row
        bus = (now.dram_bus_cycles - before.dram_bus_cycles) / (float(row[0]) * self.machine.dram_cycles_a_core_cycle)
        return Window(row, now.instructions - before.instructions, bus, (now.ended - before.ended) / self.wave)

    def _settles(self, before: Reading, now: Reading, window: Window) -> bool:
        """The L2 has been turned over, will not be, or makes no difference. What it evicts, and when, changes the rate."""
        if now.own_lines >= TURNED_OVER or window.dram_share < IDLE_DRAM:
            return True
        gained = (now.own_lines - before.own_lines) / max(now.ended - before.ended, 1)
        return now.own_lines + gained * (self.n_ctas - now.ended) < TURNED_OVER

    def _stable(self) -> list[Window]:
        """The windows that the next gap goes by. After a gap one is enough, if it is as those before the gap were."""
        error, fewest = self.settings.error, self.settings.windows
        alone = stable_windows(self._since, fewest, error)
        if alone or not self.gaps:
            return alone
        together = [*self.gaps[-1].before, *self._since]
        return list(self._since) if stable_windows(together, len(together), error) else []

    def _leave_out(self, stable: list[Window]) -> None:
        """Run whole waves of CTAs functionally, from so far behind those that have begun that the last, incomplete wave stays what
        it is. As long as they are alike, up to the end of the grid; else the machine goes on behind them."""
        machine, wave = self.machine, self.wave
        waiting = self.n_ctas - machine.begun
        first = machine.begun + waiting % wave
        waves = waiting // wave
        if waves < max(SHORTEST_GAP, LEAST_GAIN * self.n_ctas / wave):
            return
        step = max(1, round(waves / CHUNKS)) * wave
        executed: list[np.ndarray] = []
        end = first
        while end < self.n_ctas and (len(executed) < 2 or are_alike(executed[0], executed[-1], self.settings.similar)):
            ctas = min(step, self.n_ctas - end)
            executed.append(machine.run_functionally(end, ctas))
            end += ctas
        if end < self.n_ctas:
            if first > machine.begun:
                executed.append(machine.run_functionally(machine.begun, first - machine.begun))
            first = machine.begun
            machine.go_on_at(end)
        self.gaps.append(Gap(end - first, added(executed), stable))
        if end == self.n_ctas:
            machine.end_at(first)
            self._stop("")
        else:
            self._begin_anew(machine.ended)

    # The end ----------------------------------------------------------------------------------------------------------

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """What the gaps would have counted, and what they executed by instruction."""
        estimates = np.sum([gap.estimate() for gap in self.gaps], axis=0)
        return estimates, added([gap.executed for gap in self.gaps])

    def mark(self, run: TimedRun) -> Sampled:
        if not self.gaps:
            return Sampled(1.0, 0.0, windows=len(self.windows), reason=self.reason or "it ended before its rate was stable")
        left_out = sum(gap.instructions for gap in self.gaps)
        cycles = run.cycles + float(self.totals()[0][0])
        width = uncertainty(self.windows, self.gaps)
        width[0] += END_WAVES * sum(window.cycles for window in self.windows) / sum(window.waves for window in self.windows)
        errors = dict(zip(run.counters, width[1 : 1 + len(run.counters)].tolist(), strict=True))
        share = run.instructions / (run.instructions + left_out)
        return Sampled(share, float(width[0]) / cycles, {"cycles": float(width[0]), **errors}, len(self.windows), len(self.gaps))
