"""How fast the CTAs on the machine go on, beside one another: what differs by more than chance, differs in a gap too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simtlab.sampling.statistics import half_widths

NO_CTA = -1
LATE = 1 << 62
LONGER = 1.1  # times as long as others, a CTA is another kind
MOST_SEEN = 128  # looks at how far each CTA has come, that are kept
STRETCHES = 2  # of time, at least, that say how CTAs come apart,
FEWEST = 16  # … and CTAs in each
WIDEST, SLOWEST = 0.5, 0.1  # rates beside others'
MANY = 0.25  # of the CTAs: so many that end at once are to do so on the machine, one by one


@dataclass(frozen=True)
class Progress:
    """Of each CTA slot of each core: its CTA, or NO_CTA, its age, and the warp instructions that it has executed."""

    number: np.ndarray
    age: np.ndarray
    executed: np.ndarray

    @property
    def residents(self) -> np.ndarray:
        """CTAs of each core."""
        return (self.number != NO_CTA).sum(axis=1)

    def by_age(self, values: np.ndarray) -> np.ndarray:
        """What is known of each slot's CTA: of each core's oldest first, then of the next, and so on."""
        order = np.argsort(np.where(self.number == NO_CTA, LATE, self.age), axis=1, kind="stable")
        return np.take_along_axis(values, order, axis=1)

    def since(self, earlier: Progress) -> np.ndarray:
        """What each core's oldest CTA has executed since then, the next, and so on."""
        before = np.where(self.number == earlier.number, earlier.executed, 0)
        return self.by_age(self.executed - before).astype(np.float64)

    def parts_until_many_end(self, length: float, step: np.ndarray, parts: int) -> int:
        """How often the CTAs can go on by a step each before many of them end in one, if they are so long. Of those that are much
        longer than that nobody knows when."""
        there, executed = (self.by_age(one) for one in (self.number != NO_CTA, self.executed))
        there &= executed <= LONGER * length
        steps = np.clip((length - executed[there]) / np.maximum(step[there], 1e-9), 0, parts).astype(np.int64)
        many = np.flatnonzero(np.bincount(steps, minlength=parts + 1)[:parts] > MANY * self.residents.sum())
        return int(many[0]) if len(many) else parts


def shares(residents: np.ndarray, windows: Sequence[np.ndarray]) -> np.ndarray:
    """Of each core's oldest CTA, of the next, and so on, what share it executes of all. By what windows say of cores with as many
    CTAs, of CTAs of that age, and of that core; a difference of the latter two that their 95% confidence interval contains is none:
    between two barriers, say, CTAs overtake one another for a while."""
    found = np.zeros(windows[0].shape)
    for count in np.unique(residents[residents > 0]):
        same = residents == count
        done = np.array([window[same, :count] for window in windows])
        relative = done / np.maximum(done.mean(axis=(1, 2), keepdims=True), 1e-9)
        by_age, by_core = beyond_chance(relative.mean(axis=1)), beyond_chance(relative.mean(axis=2))
        found[np.ix_(same, np.arange(count))] = done.mean() * np.outer(1 + by_core, 1 + by_age)
    return found / max(found.sum(), 1e-9)


def beyond_chance(relative: np.ndarray) -> np.ndarray:
    """By how much the mean of each column differs from 1 at least; 0 where it need not."""
    if len(relative) < 2:
        return np.zeros(relative.shape[1])
    off = relative.mean(axis=0) - 1
    return np.sign(off) * np.maximum(np.abs(off) - half_widths(relative), 0.0)


class Apart:
    """How CTAs that run side by side come apart. One goes on faster than another for a while, by what the caches and the DRAM have
    for it; how much further it comes in so long is measured, and in a gap CTAs are given random rates that differ as much."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, Progress]] = []  # the cycle, and how far each CTA had come; evenly spaced
        self._every, self._looks = 1, 0  # of so many looks one is kept
        self._random = np.random.default_rng(0)  # the same in every run
        self._known: list[tuple[float, float]] = []  # how long some stretches are, and by how much CTAs' rates differ in them
        self._stretch, self._spread, self._gone = 0.0, 0.0, 0.0
        self._rates: dict[int, float] = {}  # of CTAs, in this stretch

    def note(self, cycle: int, progress: Progress) -> None:
        if self._looks % self._every == 0:
            self._seen.append((cycle, progress))
        self._looks += 1
        if len(self._seen) > MOST_SEEN:
            self._seen, self._every = self._seen[::2], 2 * self._every

    def begin_gap(self, cycles: float) -> None:
        """Rates stay the same over stretches that are as long as the gap, or as what was measured."""
        self._known = self._known or self._measured()
        self._gone, self._rates = 0.0, {}
        short = [one for one in self._known if one[0] <= cycles] or self._known[:1] or [(cycles, 0.0)]
        self._stretch, self._spread = short[-1]

    def _measured(self) -> list[tuple[float, float]]:
        found = []
        for lag in (1 << k for k in range((len(self._seen) // STRETCHES).bit_length())):
            ends = range(0, len(self._seen) - lag, lag)
            variances = [one for one in (spread(self._seen[k][1], self._seen[k + lag][1]) for k in ends) if one is not None]
            if len(variances) >= STRETCHES:
                length = lag * (self._seen[-1][0] - self._seen[0][0]) / (len(self._seen) - 1)
                found.append((length, min(float(np.sqrt(np.mean(variances))), WIDEST)))
        return found

    def rates(self, progress: Progress, cycles: float) -> np.ndarray:
        """Of each core's oldest CTA, of the next, and so on, for the next so many cycles, beside that of others like it."""
        if self._gone >= self._stretch:
            self._gone, self._rates = 0.0, {}
        self._gone += cycles
        numbers = progress.by_age(progress.number)
        for number in np.sort(numbers[numbers != NO_CTA]).tolist():
            if number not in self._rates:
                self._rates[number] = max(1.0 + self._spread * float(self._random.standard_normal()), SLOWEST)
        return np.vectorize(lambda number: self._rates.get(number, 1.0), otypes=[float])(numbers)


def spread(earlier: Progress, later: Progress) -> float | None:
    """The variance of what CTAs have executed in a stretch of time, beside the mean of those of the same age; None if few ran all
    the while."""
    same = later.by_age((later.number == earlier.number) & (later.number != NO_CTA))
    done = later.by_age(later.executed - earlier.executed)
    if same.sum() < FEWEST or not done[same].sum():
        return None
    means = np.where(same, done, 0).sum(axis=0) / np.maximum(same.sum(axis=0), 1)
    relative = (done / np.maximum(means, 1e-9) - 1)[same & (means > 0)]
    return float((relative**2).mean())
