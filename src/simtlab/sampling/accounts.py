"""Everything that a launch counts, as one row of numbers: so that it can be subtracted, scaled and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import N_COLUMNS
from simtlab.machine.core.state import N_STALLS
from simtlab.machine.machine import TimedRun

ISSUED = int(Stall.ISSUED)


@dataclass(frozen=True)
class Layout:
    """Where each part stands in the row: cycles, counters, stalls by core and scheduler, counts by instruction, loads."""

    counters: tuple[str, ...]  # of the machine and of its policies
    cores: int
    schedulers: int
    instructions: int
    load_words: int

    @property
    def sizes(self) -> tuple[int, ...]:
        by_scheduler = self.cores * self.schedulers * N_STALLS
        return 1, len(self.counters), by_scheduler, self.instructions * N_COLUMNS, self.load_words

    def row(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Parts in this order as a row."""
        flat = [np.asarray(part).reshape(-1) for part in parts]
        assert tuple(map(len, flat)) == self.sizes
        return np.concatenate(flat).astype(np.float64)

    def parts(self, row: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        cycles, counters, stalls, table, loads = np.split(row, np.cumsum(self.sizes)[:-1])
        shape = self.cores, self.schedulers, N_STALLS
        return float(cycles[0]), counters, stalls.reshape(shape), table.reshape(self.instructions, N_COLUMNS), loads


def layout_of(run: TimedRun) -> Layout:
    cores, schedulers, _ = run.stalls_by_scheduler.shape
    words = run.loads.counted.view(np.int64).size
    return Layout(tuple(run.counters), cores, schedulers, len(run.counts_by_instruction), words)


def row_of(run: TimedRun) -> np.ndarray:
    """What a launch counted."""
    parts = [np.array([run.cycles]), np.array(list(run.counters.values())), run.stalls_by_scheduler, run.counts_by_instruction,
             run.loads.counted.view(np.int64)]  # fmt: skip
    return layout_of(run).row(parts)


def shared_out(total: int, weights: np.ndarray) -> np.ndarray:
    """A whole number in whole parts that are as the weights, together exactly it."""
    flat = np.maximum(np.asarray(weights, np.float64).reshape(-1), 0.0)
    if total <= 0 or not flat.size:
        return np.zeros(np.shape(weights), np.int64)
    exact = flat * (total / flat.sum()) if flat.sum() > 0 else np.full(flat.size, total / flat.size)
    whole = np.floor(exact).astype(np.int64)
    left = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole.reshape(np.shape(weights))
