"""A launch whose warp instructions are known and partly timed: its cycles and counters, as if all of it had been timed.

What is added is a row of estimates (accounts.py). Three things of it are known and not estimated: warp instructions, the lanes
they ran in, and both by instruction. The others are made to agree: every scheduler cycle has one cause, and the causes of the
instructions add up to those of the schedulers that an instruction was the reason of.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simtlab.machine.config import MachineConfig
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.loads import load_t
from simtlab.machine.core.stall import Work
from simtlab.machine.core.state import N_STALLS
from simtlab.machine.energy import energy, seconds
from simtlab.machine.load_figures import Loads
from simtlab.machine.machine import TimedRun
from simtlab.machine.sampled import Sampled
from simtlab.machine.utilisation import utilisation
from simtlab.sampling.accounts import ISSUED, Layout, layout_of, shared_out

LOAD_FIELDS = load_t.names or ()


def extended(run: TimedRun, added: np.ndarray, executed: np.ndarray, config: MachineConfig, mark: Sampled) -> TimedRun:
    """A run with a row of estimates added; `executed` is what a functional run counted by instruction of the same part."""
    layout = layout_of(run)
    cycles, counters, stalls, table, loads = layout.parts(added)
    more, instructions, lanes = round(cycles), int(executed["executed"].sum()), int(executed["lanes"].sum())
    by_scheduler = whole_stalls(stalls, more, instructions if run.stalls["issued"] == run.instructions else None)
    values = np.rint(counters).astype(np.int64)
    exact = {"instructions": instructions, "thread_instructions": lanes}
    named = {name: run.counters[name] + exact.get(name, int(value)) for name, value in zip(layout.counters, values, strict=True)}
    total = run.cycles + more
    causes = dict(zip(run.stalls, (run.stalls_by_scheduler + by_scheduler).sum(axis=(0, 1)).tolist(), strict=True))
    policies = run.energy["policies"] * (total / run.cycles if run.cycles else 1.0)
    return replace(
        run, cycles=total, elapsed=run.elapsed + more, instructions=run.instructions + instructions,
        thread_instructions=run.thread_instructions + lanes, stalls=causes, counters=named,
        counts_by_instruction=run.counts_by_instruction + whole_table(layout, table, executed, by_scheduler.sum(axis=(0, 1))),
        energy=energy(config, named, total, policies), utilisation=utilisation(config, named, total),
        stalls_by_scheduler=run.stalls_by_scheduler + by_scheduler, loads=longer(run, table, loads, executed),
        seconds=seconds(config, total), sampled=mark,
    )  # fmt: skip


def whole_stalls(estimates: np.ndarray, cycles: int, issued: int | None) -> np.ndarray:
    """Scheduler cycles by core, scheduler and cause: those of each scheduler are together `cycles`, and where each instruction
    takes an issue slot of its own, those that issued are together `issued`."""
    found = np.zeros(estimates.shape, np.int64)
    found[..., ISSUED] = np.rint(estimates[..., ISSUED]) if issued is None else shared_out(issued, estimates[..., ISSUED])
    found[..., ISSUED] = np.minimum(found[..., ISSUED], cycles)
    others = [cause for cause in range(N_STALLS) if cause != ISSUED]
    for core, scheduler in np.ndindex(estimates.shape[:2]):
        left = cycles - int(found[core, scheduler, ISSUED])
        found[core, scheduler, others] = shared_out(left, estimates[core, scheduler, others])
    return found


def whole_table(layout: Layout, table: np.ndarray, executed: np.ndarray, causes: np.ndarray) -> np.ndarray:
    """Counts by instruction. Each execution of an instruction waited as long as those that were timed; what no instruction is the
    cause of (EMPTY, say) is no part of it."""
    found = np.zeros(table.shape, np.int64)
    scaled = table * oftener(table, executed)[:, None]
    for cause in range(N_STALLS):
        if cause != int(Stall.ISSUED) and scaled[:, cause].sum() > 0:
            found[:, cause] = shared_out(min(round(table[:, cause].sum()), int(causes[cause])), scaled[:, cause])
    for work in (Work.ACCESSES, Work.PASSES):
        found[:, work] = np.rint(scaled[:, work])
    found[:, ISSUED], found[:, Work.LANES] = executed["executed"], executed["lanes"]
    return found


def oftener(table: np.ndarray, executed: np.ndarray) -> np.ndarray:
    """Of each instruction, how much more often it was executed than estimated."""
    estimated = table[:, ISSUED]
    return np.divide(executed["executed"], estimated, out=np.ones(len(estimated)), where=estimated > 0)


def longer(run: TimedRun, table: np.ndarray, added: np.ndarray, executed: np.ndarray) -> Loads:
    """Loads with estimates added, of as many executions as there were. Those in which no lane takes part are no loads: what share
    of all, the part that was timed says."""
    pcs, counted = run.loads.pcs, run.loads.counted.copy()
    rows = added.reshape(len(counted), load_t.itemsize // 8)
    estimates = rows[:, LOAD_FIELDS.index("executed")]
    timed, issued = run.loads["executed"], run.counts_by_instruction[pcs, ISSUED]
    done = np.where(issued > 0, timed / np.maximum(issued, 1), estimates / np.maximum(table[pcs, ISSUED], 1))
    often = np.divide(executed["executed"][pcs] * done, estimates, out=np.ones(len(pcs)), where=estimates > 0)
    counted.view(np.int64)[:] += np.rint(rows * often[:, None]).astype(np.int64).reshape(counted.view(np.int64).shape)
    return Loads(run.loads.places, counted)
