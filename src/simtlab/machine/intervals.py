"""What a machine counted in each interval of time, in bounded room: where there are too many, two neighbours become one."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.counters import Tally, add_up
from simtlab.machine.record import new_records, record_t

SHORTEST = 4096  # core cycles
MOST = 256  # intervals


def ledger_t(counters: int) -> np.dtype:
    """All counters as they stood at the end of each interval."""
    return record_t([("length", "i8"), ("count", "i8"), ("cycle", "i8", (2 * MOST,)), ("reading", "i8", (2 * MOST, counters))])


@compiled
def next_end(ledger):
    """The cycle at which the interval under way ends."""
    return (ledger.count + 1) * ledger.length


@compiled
def note(ledger, parts, cycle):
    """An interval has ended."""
    add_up(parts, ledger.reading[ledger.count])
    ledger.cycle[ledger.count] = cycle
    ledger.count += 1
    if ledger.count == 2 * MOST:
        merge_neighbours(ledger)


@compiled
def merge_neighbours(ledger):
    """Half as many intervals of twice the length."""
    for k in range(MOST):
        ledger.cycle[k] = ledger.cycle[2 * k + 1]
        for counter in range(ledger.reading.shape[1]):
            ledger.reading[k, counter] = ledger.reading[2 * k + 1, counter]
    ledger.count = MOST
    ledger.length *= 2


class Intervals:
    """The intervals of a machine from its first cycle on, launch after launch."""

    def __init__(self, tally: Tally, length: int = SHORTEST) -> None:
        self._tally = tally
        self.ledger = np.asarray(new_records(1, ledger_t(len(tally.names))))
        self.ledger["length"] = length

    def table(self, cycle: int) -> tuple[np.ndarray, np.ndarray]:
        """The cycle each interval ended, and a row for each with what the counters gained; up to this cycle."""
        length, count = (int(self.ledger[field][0]) for field in ("length", "count"))
        ends, readings = self.ledger["cycle"][0, :count], self.ledger["reading"][0, :count]
        if cycle % length:
            ends, readings = np.append(ends, cycle), np.vstack([readings, self._tally.read()])
        return ends, np.diff(readings, axis=0, prepend=np.zeros((1, readings.shape[1]), np.int64))
