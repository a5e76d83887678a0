"""Windows of a launch's time that each hold at least one wave of CTAs, and the test whether its rate is stable.

A wave is as many CTAs as the whole machine holds. A window ends at the first look at which a wave of CTAs has ended since it began,
and it is at least `LEAST_CYCLES` long. The first window after the launch's start, and the first after every gap, is warm-up and
counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simtlab.sampling.statistics import half_width, half_widths

LEAST_CYCLES = 2000  # of a window
LOOKS = 16  # in a window, about
VARIATION = 1.5  # times the error, that a rate may vary from window to window
STEP = 4  # times the error, by which another rate is clearly another
FIRST_LOOK = 256  # cycles between looks while nobody knows how long a wave takes, and at least


@dataclass(frozen=True)
class Window:
    """What was counted in a stretch of detailed simulation."""

    counted: np.ndarray  # a row of accounts.py
    instructions: int
    dram_share: float  # of its cycles, in which the bus of a channel was busy
    waves: float = 1.0  # of CTAs that ended

    @property
    def cycles(self) -> float:
        return float(self.counted[0])

    @property
    def ipc(self) -> float:
        return self.instructions / self.cycles


@dataclass
class Gap:
    """A stretch of CTAs that was run functionally, between the windows before it and those after it."""

    ctas: int
    executed: np.ndarray  # by instruction, count_t
    before: list[Window]
    after: list[Window] = field(default_factory=list)

    @property
    def instructions(self) -> int:
        return int(self.executed["executed"].sum())

    def estimate(self) -> np.ndarray:
        """What it would have counted: warp instructions times the rates of the windows on both sides of it."""
        sides = [pooled(side) for side in (self.before, self.after) if side]
        return self.instructions * np.mean(sides, axis=0)


def pooled(windows: Sequence[Window]) -> np.ndarray:
    """What was counted for each warp instruction, in several windows together."""
    return np.sum([window.counted for window in windows], axis=0) / sum(window.instructions for window in windows)


def stable_windows(windows: Sequence[Window], fewest: int, error: float) -> list[Window]:
    """The last windows that agree, as many as do; none if the rate is not stable. There must be `fewest` or more of them, and two
    thirds of all or more; or twice `fewest` at a rate that is clearly another than before: the machine is in another state."""
    for count in range(len(windows), max(fewest, -(-2 * len(windows) // 3)) - 1, -1):
        if agree(windows[-count:], error):
            return list(windows[-count:])
    earlier, last = windows[: -2 * fewest], list(windows[-2 * fewest :])
    if len(earlier) >= fewest and agree(last, error):
        before, now = (float(np.mean([window.ipc for window in some])) for some in (earlier, last))
        return last if abs(now - before) > STEP * error * now else []
    return []


def agree(windows: Sequence[Window], error: float) -> bool:
    """Whether the 95% confidence interval of the mean of their IPC reaches no further than `error` times the mean to either side,
    that of their use of the DRAM bus no further than `error` of its peak, and their IPC varies from one to another by no more than
    `VARIATION` times `error`: a machine that does may be on its way to another state."""
    rates = np.array([window.ipc for window in windows])
    steady = half_width(rates) <= error * rates.mean() and rates.std(ddof=1) <= VARIATION * error * rates.mean()
    return bool(steady) and half_width([window.dram_share for window in windows]) <= error


def uncertainty(windows: Sequence[Window], gaps: Sequence[Gap]) -> np.ndarray:
    """Half the 95% confidence interval of everything that the gaps were estimated to have counted."""
    if not gaps:
        return np.zeros(len(windows[0].counted) if windows else 0)
    rates = np.array([window.counted / window.instructions for window in windows])
    return half_widths(rates) * sum(gap.instructions for gap in gaps)
