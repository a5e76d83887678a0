"""Windows of a launch's time, the test whether its rate is stable, and what a gap between them would have counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simtlab.sampling.statistics import half_width, half_widths

LEAST_CYCLES = 2000  # of a window
VARIATION = 1.5  # times the error, that a rate may vary from window to window
STEP = 4  # times the error, by which another rate is clearly another


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
    """What was run functionally in one go, between the windows before it and those after it."""

    executed: np.ndarray  # by instruction, count_t
    before: list[Window]
    after: list[Window] = field(default_factory=list)
    earlier: list[Window] = field(default_factory=list)  # those before the last gap that its own agreed with, where they are few
    ctas: int = 0  # that were left out as a whole
    changes: bool = False  # it ends where something else begins: windows after it say nothing of it
    is_over: bool = False  # nor do any further ones
    held: Window | None = None  # from the last window before it to the gap, as warps were held,
    filling: Window | None = None  # … and from the gap to the first window after it

    @property
    def instructions(self) -> int:
        return int(self.executed["executed"].sum())

    def estimate(self) -> np.ndarray:
        """What it would have counted: warp instructions times the rates of the windows on both sides of it. What was counted on the
        way from the one to the other is put right as well."""
        before = pooled(self.before)
        after = pooled(self.after) if self.after else before
        found = self.instructions * (before if self.changes else (before + after) / 2)
        for part, rate in ((self.held, before), (self.filling if self.after else None, after)):
            if part is not None:
                found += part.instructions * rate - part.counted
        return np.maximum(found, 0.0)

    def uncertainty(self) -> np.ndarray:
        """Half the 95% confidence interval of that, by how much the windows differ."""
        windows = [*self.earlier, *self.before, *(self.after if not self.changes else ())]
        left_out = self.instructions + sum(part.instructions for part in (self.held, self.filling) if part is not None)
        return half_widths(np.array([window.counted / window.instructions for window in windows])) * left_out


def pooled(windows: Sequence[Window]) -> np.ndarray:
    """What was counted for each warp instruction, in several windows together."""
    return np.sum([window.counted for window in windows], axis=0) / sum(window.instructions for window in windows)


def joined(windows: Sequence[Window]) -> Window:
    """Windows one after another as one."""
    return _as_one(windows, np.sum([window.counted for window in windows], axis=0))


def briefly(windows: Sequence[Window]) -> Window:
    """The same, with its cycles and nothing else counted: enough to look at its rate."""
    return _as_one(windows, np.array([sum(window.cycles for window in windows)]))


def _as_one(windows: Sequence[Window], counted: np.ndarray) -> Window:
    busy = sum(window.dram_share * window.cycles for window in windows)
    instructions, waves = sum(window.instructions for window in windows), sum(window.waves for window in windows)
    return Window(counted, instructions, busy / float(counted[0]), waves)


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
