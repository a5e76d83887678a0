"""Clocks that a policy sets while a kernel runs: the cores' and the memory's (networks, L2, DRAM), each low, as usual, or high.

What is counted is kept apart by level, for energy: a level's voltage goes with its frequency, what is switched costs the square
of it, and leakage flows in proportion to it.
"""

from typing import Any

import numpy as np

from simtlab.compiled import call_hook, compiled, seldom
from simtlab.machine.counters import Tally, add_up
from simtlab.machine.record import new_records, record_t
from simtlab.machine.state import AS_USUAL, N_LEVELS, USUAL

MEMORY = ("network", "l2", "dram")


def levels_t(counters: int) -> np.dtype:
    """The counters as they stood when the clocks were last looked at, and what they gained at each level."""
    return record_t(
        [
            ("seen", "i8"),  # up to which cycle
            ("reading", "i8", (counters,)),
            ("now", "i8", (counters,)),
            ("cycles", "i8", (N_LEVELS,)),
            ("gained", "i8", (N_LEVELS, counters)),
        ]
    )


def new_levels(tally: Tally) -> np.ndarray:
    return np.asarray(new_records(1, levels_t(len(tally.names))))


@compiled
def clocks(core, memory):
    """The answer of a policy that wants these levels: LOW, USUAL or HIGH each."""
    return 3 * core + memory


@seldom
@compiled
def ask_for_clocks(gpu, levels, parts):
    """The policy says how fast cores and memory go on."""
    settle(gpu, levels, parts)
    gpu.next_clocks = gpu.cycle + gpu.clock_period
    level = call_hook(gpu.hooks.clocks_choose, gpu.address, gpu.own_clocks, np.uint64(gpu.clock_level), gpu.cycle)
    if level != gpu.clock_level:
        set_level(gpu, level)


@compiled
def settle(gpu, levels, parts):
    """What was counted since the last look was counted at the level that the clocks have."""
    add_up(parts, levels.now)
    for k in range(levels.now.size):
        levels.gained[gpu.clock_level, k] += levels.now[k] - levels.reading[k]
        levels.reading[k] = levels.now[k]
    levels.cycles[gpu.clock_level] += gpu.cycle - levels.seen
    levels.seen = gpu.cycle


@compiled
def set_level(gpu, level):
    """All clocks go on from where they are."""
    gpu.clock_level, gpu.clocks_from = level, gpu.cycle
    gpu.core_khz = at_level(gpu, gpu.core_nominal_khz, level // 3)
    change(gpu, gpu.network, level % 3)
    change(gpu, gpu.l2, level % 3)
    change(gpu, gpu.dram, level % 3)


@compiled
def change(gpu, clock, level):
    clock.from_cycle, clock.from_progress = clock.cycle, clock.progress
    clock.khz = at_level(gpu, clock.nominal_khz, level)


@compiled
def at_level(gpu, khz, level):
    return khz * (100 + (level - USUAL) * gpu.clock_step) // 100


@compiled
def begin(gpu, levels, parts):
    """A launch begins, at the usual clocks."""
    if gpu.clock_level != AS_USUAL:
        set_level(gpu, AS_USUAL)
    settle(gpu, levels, parts)
    for level in range(N_LEVELS):
        levels.cycles[level] = 0
        for k in range(levels.now.size):
            levels.gained[level, k] = 0


class Levels:
    """What a run counted at each level, and how long it was there."""

    def __init__(self, tally: Tally, gpu: np.ndarray) -> None:
        self._tally, self._gpu = tally, gpu
        self.ledger = new_levels(tally)

    def begin(self) -> None:
        begin_run(self._gpu, self.ledger, self._tally.parts)

    def by_level(self) -> dict[int, tuple[int, dict[str, Any]]]:
        """For each level that the clocks had: cycles, and the counters by name, up to now."""
        settle_run(self._gpu, self.ledger, self._tally.parts)
        row = self.ledger[0]
        return {k: (int(row["cycles"][k]), self._tally.named(row["gained"][k])) for k in range(N_LEVELS) if row["cycles"][k]}


@compiled
def begin_run(gpus, ledgers, parts):
    begin(gpus[0], ledgers[0], parts)


@compiled
def settle_run(gpus, ledgers, parts):
    settle(gpus[0], ledgers[0], parts)


def speed(level: int, step: int) -> tuple[float, float]:
    """Cores' and memory's frequency at a level, as a share of the usual one."""
    return 1 + (level // 3 - USUAL) * step / 100, 1 + (level % 3 - USUAL) * step / 100
