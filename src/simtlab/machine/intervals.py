"""What a machine counted in each interval of time, in bounded room: where there are too many, two neighbours become one."""

from typing import Any

import numpy as np

SHORTEST = 4096  # core cycles
MOST = 256  # intervals


class Intervals:
    """Counters as they stood at the end of each interval, from the machine's first cycle on, launch after launch."""

    def __init__(self) -> None:
        self.length = SHORTEST
        self._seen: list[tuple[int, dict[str, int]]] = []

    @property
    def next_end(self) -> int:
        """The cycle at which the interval under way ends."""
        return (len(self._seen) + 1) * self.length

    def note(self, cycle: int, counters: dict[str, int]) -> None:
        """An interval has ended with the counters at these values."""
        self._seen.append((cycle, counters))
        if len(self._seen) == 2 * MOST:
            self._seen = self._seen[1::2]
            self.length *= 2

    def table(self, cycle: int, counters: dict[str, int]) -> dict[str, Any]:
        """A column for the cycle each interval ended, and one for each counter with what it gained; up to now."""
        seen = [*self._seen, *([(cycle, counters)] if cycle % self.length else [])]
        ends = np.array([end for end, _ in seen], np.int64)
        columns: dict[str, Any] = {"cycle": ends}
        for name in counters:
            columns[name] = np.diff(np.array([values[name] for _, values in seen], np.int64), prepend=0)
        return columns
