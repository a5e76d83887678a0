"""What a machine counted in each interval of time, in bounded room: where there are too many, two neighbours become one."""

import numpy as np

SHORTEST = 4096  # core cycles
MOST = 256  # intervals


class Intervals:
    """Counters as they stood at the end of each interval, from the machine's first cycle on, launch after launch."""

    def __init__(self) -> None:
        self.length = SHORTEST
        self._seen: list[tuple[int, np.ndarray]] = []

    @property
    def next_end(self) -> int:
        """The cycle at which the interval under way ends."""
        return (len(self._seen) + 1) * self.length

    def note(self, cycle: int, reading: np.ndarray) -> None:
        """An interval has ended with the counters at these values."""
        self._seen.append((cycle, reading))
        if len(self._seen) == 2 * MOST:
            self._seen = self._seen[1::2]
            self.length *= 2

    def table(self, cycle: int, reading: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cycle each interval ended, and a row for each with what the counters gained; up to now."""
        seen = [*self._seen, *([(cycle, reading)] if cycle % self.length else [])]
        ends = np.array([end for end, _ in seen], np.int64)
        values = np.array([values for _, values in seen], np.int64).reshape(len(seen), len(reading))
        return ends, np.diff(values, axis=0, prepend=np.zeros((1, len(reading)), np.int64))
