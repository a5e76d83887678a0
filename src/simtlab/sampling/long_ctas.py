"""A launch of few CTAs, or of CTAs that run long: stretches of its time are measured, and between them its CTAs are fast-forwarded.

A window is so many cycles. When the rate is stable the warps are held until nothing is in flight, and go on functionally
(machine/fast_forward.py): those of a core's oldest CTA, of the next, and so on, by as many instructions as they would have executed
in that time at the rate that such CTAs have. Then the machine goes on. The windows in which it fills again count for nothing; what
it counted in them, and while warps were held, is put right by the rate, as if the machine had been at it all the while.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from simtlab.sampling.profile import added, are_alike, taken_from
from simtlab.sampling.progress import Apart, Progress, shares
from simtlab.sampling.sampler import IDLE_DRAM, Reading, Sampler
from simtlab.sampling.settings import Sampling
from simtlab.sampling.windows import LEAST_CYCLES, STEP, Gap, Window, agree, briefly, joined, stable_windows

if TYPE_CHECKING:
    from simtlab.sampling.machine import SampledMachine

MOST_WINDOWS = 24  # that are kept one by one: where more do not agree, two at a time become one
TOGETHER = 1, 2, 4  # windows as one: a rate may be stable over longer times only
RECENT = 6  # windows that a gap goes by: of those before it, where it follows another, and of those after it
SLOW_TURNOVER = 0.02  # of the L2's lines in a window: it takes so long that the rate follows it
HELD_LOOK = 64  # cycles between looks at whether nothing is in flight
EARLIEST = 100_000  # cycles of a launch that are simulated before the first gap: caches fill, and CTAs come apart, in that time
APART = 2  # waves of CTAs too, where they are more than one: each begins where another has ended, and so they come apart
TOO_EARLY = f"its first {EARLIEST:,} cycles always are, and where it waits for DRAM its first {APART} waves of CTAs"
SHORTEST = 4  # times as long as the fewest windows a gap is at first, and where it was cut short; then twice as long each time,
LONGEST = 0.2  # … up to this share of all cycles so far: the number of gaps grows with the logarithm of a launch
CHUNKS, QUARTER = 16, 4  # that it is run in; after so many its profile is compared, …
COMPARED = 64  # … and with so many instructions of a warp at first, for fewer may lie in one turn of a loop
END_CTAS = 0.25  # of a CTA's time, by which the end may come sooner or later where CTAs waited for others to end in gaps
EMPTIER = 0.9  # of the warps that were there: with fewer, the machine has another rate


class LongCtas(Sampler):
    """Its CTAs stay on the machine, and go on without it now and then."""

    def __init__(self, machine: SampledMachine, n_ctas: int, wave: int, settings: Sampling, instead_of: Sampler | None = None):
        super().__init__(machine, wave, settings)
        self.n_ctas = n_ctas
        self._apart = Apart()
        if instead_of is not None:
            self.began, self.issued_before = instead_of.began, instead_of.issued_before
        self._length = LEAST_CYCLES
        self.reason = TOO_EARLY
        self._times, self._turn = SHORTEST, COMPARED
        self._was_unlike = False  # the last gap ended as other instructions were executed
        self._progress: list[np.ndarray] = []  # of CTAs, in the last windows in which each core had as many
        self._residents = np.zeros(0)
        self._cta_error = 0.0  # cycles by which the end may come sooner or later, as CTAs began elsewhere, or at another time
        self._held: Reading | None = None  # where warps were held, which they are now
        self._stable: list[Window] = []  # that the next gap goes by
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._warm_up()
        self._edges: list[Reading] = []  # where each window began
        self._has_dropped = False  # windows, the earliest
        self.next_look = self.machine.cycle + LEAST_CYCLES  # by then the machine is full again

    def look(self) -> None:
        if self._held is not None:
            self.next_look = self.machine.cycle + HELD_LOOK
            if self.machine.hold():
                self._fast_forward(self._held)
            return
        before, now = self._last, self.machine.reading()
        self._last, self.next_look = now, self.machine.cycle + self._length
        if self.gap is None and self.n_ctas > self.wave:
            self._apart.note(self.machine.cycle, now.by_cta)
        if before is None:
            return
        window = self._window(before, now)
        self._is_settled = self._is_settled or self._settles(before, now, window)
        if self._is_settled and window.instructions:
            self._end_window(before, now, window)

    def _settles(self, before: Reading, now: Reading, window: Window) -> bool:
        return super()._settles(before, now, window) or now.own_lines - before.own_lines < SLOW_TURNOVER

    def _end_window(self, before: Reading, now: Reading, window: Window) -> None:
        if self.gap is not None and (self.machine.warps < EMPTIER * self._warps or len(self.gap.after) >= RECENT):
            self.gap.is_over = True
        if self.gap is not None and not self.gap.after:
            self.gap.filling = self._window(self._behind, before)
        self._edges.append(before)
        self._note(window)
        self._note_progress(before.by_cta, now.by_cta)
        self._stable = self._stable_now()
        self.reason = "" if now.row[0] - self.began >= EARLIEST and self._are_apart(now) else TOO_EARLY
        if self._stable and not self.reason and self._plan(now):
            self._settle_gap()
            self._held = now
            self.next_look = self.machine.cycle + HELD_LOOK
            self.machine.hold()
        elif len(self._since) >= MOST_WINDOWS:
            self._keep_fewer()

    def _are_apart(self, now: Reading) -> bool:
        """Whether CTAs share as much of what they load as later on; where the DRAM is hardly used that makes no difference."""
        return self.n_ctas <= self.wave or now.ended >= APART * self.wave or joined(self._since).dram_share < IDLE_DRAM

    def _keep_fewer(self) -> None:
        """Windows that agree are enough as they are, the last ones; else two at a time are one from now on."""
        if self._stable or self.reason:
            self._since, self._edges, self._has_dropped = self._since[1:], self._edges[1:], True
            return
        self._since = [joined(self._since[k : k + 2]) for k in range(0, MOST_WINDOWS, 2)]
        self._edges = self._edges[::2]
        self._length *= 2

    def _note_progress(self, before: Progress, now: Progress) -> None:
        if not np.array_equal(now.residents, self._residents):
            self._progress, self._residents = [], now.residents
        self._progress = [*self._progress[1 - MOST_WINDOWS :], now.since(before)]

    def _stable_now(self) -> list[Window]:
        """The windows that the next gap goes by. After a gap one is enough, as long as each of those before, and as they were."""
        error, fewest = self.settings.error, self.settings.windows
        for together in TOGETHER:
            first = len(self._since) % together
            groups = [self._since[k : k + together] for k in range(first, len(self._since), together)]
            count = len(stable_windows([briefly(group) for group in groups], fewest, error))
            if count and (count * together >= 2 * fewest or not self._is_another(groups[-count:])):
                self._begin = len(self._since) - count * together
                return [joined(group) for group in groups[-count:]]
        self._begin = 0
        if self.gap is None:
            return []
        before, now = self.gap.before, joined(self._since)
        both = [*before[1 - RECENT :], now]
        is_long = now.cycles >= before[-1].cycles
        return both if is_long and stable_windows(both, len(both), error) else []

    def _is_another(self, groups: Sequence[Sequence[Window]]) -> bool:
        """Whether the rate is clearly another than before the gap: the machine may still be on its way back, with warps that go on
        in step."""
        if self.gap is None:
            return False
        before, now = (float(np.mean([one.ipc for one in some])) for some in (self.gap.before, map(briefly, groups)))
        return abs(now - before) > STEP * self.settings.error * now

    def _settle_gap(self) -> None:
        """Windows agree from one on: those between the gap and it are its filling."""
        gap = self.gap
        if gap is not None and self._begin and not self._has_dropped and self.machine.warps >= EMPTIER * self._warps:
            gap.filling = self._window(self._behind, self._edges[self._begin])
            gap.after = self._since[self._begin :][:RECENT]

    def _plan(self, now: Reading) -> bool:
        """How far the next gap is to reach. False if too many CTAs are about to end, or those there are executed nothing."""
        self._learn_turn()
        first, gap = self._edges[0], self._next_gap()
        rate = (now.instructions - first.instructions) / (now.row[0] - first.row[0])
        self._chunk_cycles = gap / CHUNKS
        self._step = rate * self._chunk_cycles * shares(self._residents, self._progress)
        self._profile = taken_from(now.profile, first.profile)
        self._compared = max(QUARTER, ceil(self._turn * self.machine.warps / max(float(self._step.sum()), 1.0)))
        self._chunks = CHUNKS
        if self.machine.ended:
            left_out = int(self.totals().executed["executed"].sum()) if self.gap is not None else 0
            done = now.instructions - self.issued_before + left_out - int(now.by_cta.executed.sum())
            self._chunks = now.by_cta.parts_until_many_end(done / self.machine.ended, self._step, CHUNKS)
        return self._chunks > 0 and bool(self._step.any())

    def _learn_turn(self) -> None:
        """Other instructions ended the last gap, and yet the rate behind it is as it was: a turn of the warps' loop is longer than
        what was compared. Where the rate is another, they had come to something else."""
        if self._was_unlike and self.gap is not None:
            self._turn = 2 * self._turn if agree([*self.gap.before, *self._stable], self.settings.error) else COMPARED
        self._was_unlike = False

    def _fast_forward(self, held: Reading) -> None:
        """Nothing is in flight: warps go on functionally, as long as what they do, and how many there are, stays the same."""
        machine, executed = self.machine, list[np.ndarray]()
        warps = left = machine.warps
        if machine.begun < self.n_ctas:
            self._cta_error = END_CTAS * (self._so_far() + self._chunk_cycles * CHUNKS) * int(self._residents.sum()) / machine.begun
        self._apart.begin_gap(self._chunk_cycles * self._chunks)
        while len(executed) < self._chunks and left >= EMPTIER * warps and self._goes_on_alike(executed):
            rates = self._step * self._apart.rates(machine.progress(), self._chunk_cycles)
            counts, left = machine.fast_forward(rates * (self._step.sum() / rates.sum()))
            executed.append(counts)
        behind = self._behind = machine.reading()
        machine.let_go_on()
        self._warps = left
        is_whole = len(executed) == self._chunks and left >= EMPTIER * warps
        self._times = 2 * self._times if is_whole else SHORTEST
        self.end_error = self._chunk_cycles + self._cta_error
        self._add_gap(Gap(added(executed), self._stable, changes=not is_whole, held=self._window(held, behind)))
        self._held = None
        self._begin_anew()

    def _so_far(self) -> float:
        """Cycles of the launch, gaps included."""
        return self.machine.cycle - self.began + (float(self.totals().estimate[0]) if self.gap is not None else 0.0)

    def _next_gap(self) -> float:
        """How many cycles it is to take."""
        few = self.settings.windows * self._stable[-1].cycles
        return min(self._times * few, LONGEST * self._so_far())

    def _goes_on_alike(self, executed: list[np.ndarray]) -> bool:
        """A gap's last part does what the windows before it did, and in memory what its first part did."""
        if not executed or len(executed) % self._compared:
            return True
        first, last = added(executed[: self._compared]), added(executed[-self._compared :])
        similar = self.settings.similar
        self._was_unlike = not (are_alike(self._profile, last, similar) and are_alike(first, last, similar))
        return not self._was_unlike
