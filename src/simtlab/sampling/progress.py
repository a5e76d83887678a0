"""How fast the CTAs on the machine go on, beside one another: what differs by more than chance, differs in a gap too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simtlab.sampling.statistics import half_widths

NO_CTA = -1
LATE = 1 << 62
LONGER = 1.1  # times as long as others, a CTA is another kind
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
