"""A launch of many CTAs: when it is looked at, when its rate is stable, and which CTAs are then left out.

A wave is as many CTAs as the whole machine holds. A window ends at the first look at which a wave of CTAs has ended since it began,
and it is at least `LEAST_CYCLES` long. The first window after the launch's start, and the first after every gap, is warm-up and
counts for nothing. A launch of few waves each of which takes long is fast-forwarded instead (long_ctas.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simtlab.sampling.long_ctas import LongCtas
from simtlab.sampling.profile import added, are_alike
from simtlab.sampling.sampler import TURNED_OVER, Reading, Sampler
from simtlab.sampling.settings import Sampling
from simtlab.sampling.windows import LEAST_CYCLES, Gap, Window, stable_windows

if TYPE_CHECKING:
    from simtlab.sampling.machine import SampledMachine

LOOKS = 16  # in a window, about
FIRST_LOOK = 256  # cycles between looks while nobody knows how long a wave takes, and at least
SHORTEST_GAP = 2  # waves,
GROWTH = 2  # times as long as all before it a gap is at most: a machine may yet come to another state, as FFT's does
LEAST_GAIN = 0.2  # … and share of the launch: to leave out less gains little and may cost an error at its end
CHUNKS = 16  # that what is left out is run in, about: from one to the next its profile is compared
END_WAVES = 0.5  # by so many waves' time the end of a launch may be longer or shorter than behind the gap
LONG_WAVE = 400_000  # cycles without the end of a wave: of few such waves …
FEW_WAVES = 40  # … the first say little about the others: their CTAs come apart, and the L2 is not what it was
STILL_FULL = 0.9  # of a wave that has not ended: fewer, and the machine is emptying


class ManyCtas(Sampler):
    """Of its CTAs those that a stable rate says enough of are left out."""

    def __init__(self, machine: SampledMachine, n_ctas: int, wave: int, settings: Sampling):
        super().__init__(machine, wave, settings)
        self.n_ctas = n_ctas
        self._period = FIRST_LOOK
        self.next_look = machine.cycle + FIRST_LOOK
        self._begin_anew(0)

    def _begin_anew(self, ended: int) -> None:
        """The launch begins, or goes on behind a gap when so many CTAs have ended: warm-up first."""
        self._warm_up()
        self._from_ended, self._from_cycle = ended, self.machine.cycle

    def look(self) -> None:
        """Note where the launch stands; at the end of a window, judge."""
        machine = self.machine
        length = machine.cycle - self._from_cycle
        self.next_look = machine.cycle + max(FIRST_LOOK, length // LOOKS, self._period)
        if machine.ended < self.wave and machine.cycle - self.began >= LONG_WAVE and self.n_ctas < FEW_WAVES * self.wave:
            self.instead = LongCtas(machine, self.n_ctas, self.wave, self.settings, self)
        elif self.n_ctas - machine.ended < STILL_FULL * self.wave:
            self._stop("its rate was not stable before its last CTAs began")
        elif machine.ended - self._from_ended >= self.wave and length >= LEAST_CYCLES:
            self._period = length // LOOKS
            self._end_window()

    def _end_window(self) -> None:
        before, now = self._last, self.machine.reading()
        self._last, self._from_ended, self._from_cycle = now, now.ended, self.machine.cycle
        if before is None:
            return
        window = self._window(before, now)
        self._is_settled = self._is_settled or self._settles(before, now, window)
        if not self._is_settled:
            return
        self._note(window)
        stable = self._stable()
        if stable:
            self._leave_out(stable)

    def _settles(self, before: Reading, now: Reading, window: Window) -> bool:
        """The L2 has been turned over, will not be, or makes no difference. What it evicts, and when, changes the rate."""
        if super()._settles(before, now, window):
            return True
        gained = (now.own_lines - before.own_lines) / max(now.ended - before.ended, 1)
        return now.own_lines + gained * (self.n_ctas - now.ended) < TURNED_OVER

    def _stable(self) -> list[Window]:
        """The windows that the next gap goes by. After a gap one is enough, if it is as those before the gap were."""
        error, fewest = self.settings.error, self.settings.windows
        alone = stable_windows(self._since, fewest, error)
        if alone or self.gap is None:
            return alone
        together = [*self.gap.before, *self._since]
        return list(self._since) if stable_windows(together, len(together), error) else []

    def _leave_out(self, stable: list[Window]) -> None:
        """Run whole waves of CTAs functionally, from so far behind those that have begun that the last, incomplete wave stays what
        it is, up to the end of the grid. Where they are no longer alike, or their gap is long, the machine goes on behind them."""
        machine, wave = self.machine, self.wave
        waiting = self.n_ctas - machine.begun
        first = machine.begun + waiting % wave
        waves = waiting // wave
        if waves < max(SHORTEST_GAP, LEAST_GAIN * self.n_ctas / wave):
            return
        step = max(1, round(waves / CHUNKS)) * wave
        last = self._last_of_gap(first)
        executed: list[np.ndarray] = []
        end = first
        while end < last and (len(executed) < 2 or are_alike(executed[0], executed[-1], self.settings.similar)):
            ctas = min(step, last - end)
            executed.append(machine.run_functionally(end, ctas))
            end += ctas
        if end < self.n_ctas:
            if first > machine.begun:
                executed.append(machine.run_functionally(machine.begun, first - machine.begun))
            first = machine.begun
            machine.go_on_at(end)
        are_few = self.gap is not None and len(stable) < self.settings.windows
        self._add_gap(Gap(added(executed), stable, earlier=self.gap.before if self.gap and are_few else [], ctas=end - first))
        self.end_error = END_WAVES * self.cycles / self.waves
        if end == self.n_ctas:
            machine.end_at(first)
            self._stop("")
        else:
            self._begin_anew(machine.ended)

    def _last_of_gap(self, first: int) -> int:
        """Where a gap ends that begins at a CTA: the end of the grid, if what is left behind it would be shorter than it."""
        waves = GROWTH * (first // self.wave)
        last = first + waves * self.wave
        return last if self.n_ctas - last > last - first else self.n_ctas
