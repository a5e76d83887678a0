"""Run a sweep: hand out what is missing, store results as they come, try again what was lost with its worker."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.lab.experiment import key_of
from simtlab.lab.ingredients import Look
from simtlab.lab.meanings import meanings
from simtlab.lab.record import Failure
from simtlab.lab.store.results import Results
from simtlab.lab.store.store import Store
from simtlab.lab.sweep.interrupts import Interrupts
from simtlab.lab.sweep.plan import make_plan
from simtlab.lab.sweep.sweep import Experiments, Sweep
from simtlab.lab.sweep.task import Outcome, Task, Watch, Workers

MOST_TRIES = 3
LOOK_SECONDS = 0.25  # between looks at Ctrl-C
SAME_LOOK_SECONDS = 1.0  # files are looked at anew after so long; a worker notices if one was changed in between


@dataclass
class Summary:
    """How a sweep went."""

    done: int = 0
    stored_before: int = 0
    failures: list[Failure] = field(default_factory=list)
    retries: int = 0
    interrupted: bool = False
    wall_seconds: float = 0.0
    run_seconds: float = 0.0  # what the runs took, each on its own process


class SweepFailed(SimtlabError):
    """Some experiments of a sweep have failed; the others are stored."""

    def __init__(self, summary: Summary):
        self.summary = summary
        shown = "\n".join(f"  {f.workload} {f.size}, {f.machine}: {f.error}" for f in summary.failures[:10])
        more = f"\n  and {len(summary.failures) - 10} more" if len(summary.failures) > 10 else ""
        super().__init__(f"{len(summary.failures)} experiments failed:\n{shown}{more}")


class Loop:
    """One sweep on its way through its workers."""

    def __init__(self, sweep: Experiments, store: Store, workers: Workers, watch: Watch):
        self.store, self.workers, self.watch = store, workers, watch
        self.summary = Summary()
        self._coming = self._missing(sweep)
        self._next = next(self._coming, None)
        self._again: deque[Task] = deque()
        self._under_way = 0
        self._waiting_for = ""
        self._explained = False  # whether the store has this version's meanings of counters

    def run(self) -> Summary:
        begin = time.monotonic()
        try:
            with Interrupts() as interrupts:
                self._run(interrupts)
        finally:
            self.workers.stop()
            self.summary.wall_seconds = time.monotonic() - begin
        return self.summary

    def _run(self, interrupts: Interrupts) -> None:
        while interrupts.count < 2:
            if interrupts.count and not self.summary.interrupted:
                self.summary.interrupted = True
                if self._under_way:
                    self.watch.stopping(self._under_way)
            if not self.summary.interrupted:
                self._hand_out()
            if not self._under_way or (self.summary.interrupted and self._waiting_for):
                return  # or nothing of it can run
            outcome = self.workers.wait(LOOK_SECONDS)
            self._tell_what_is_missing()
            self.watch.tick(self._under_way)
            if outcome is not None:
                self._under_way -= 1
                if not interrupts.count:
                    self._hand_out()  # first of all: the worker goes on while we store
                self._take_in(outcome)

    def _tell_what_is_missing(self) -> None:
        missing = self.workers.waiting_for()
        if missing != self._waiting_for:
            self._waiting_for = missing
            self.watch.waiting(missing)

    def _missing(self, sweep: Experiments) -> Iterator[Task]:
        """What the store lacks at the moment it is asked for: another sweep may be at work on the same store."""
        look, until = Look(), time.monotonic() + SAME_LOOK_SECONDS
        for experiment in sweep.experiments():
            if time.monotonic() > until:
                look, until = Look(), time.monotonic() + SAME_LOOK_SECONDS
            ingredients = experiment.ingredients(look)
            key = key_of(ingredients)
            if self.store.has(key):
                self.summary.stored_before += 1
            else:
                yield Task(experiment, key, ingredients["workload"]["name"])

    def _hand_out(self) -> None:
        while self._under_way < self.workers.places:
            task = self._again.popleft() if self._again else self._next
            if task is None:
                return
            self._under_way += 1
            self.workers.start(task)
            self.watch.started(task)
            if task is self._next:
                self._next = next(self._coming, None)  # ready before it is needed

    def _take_in(self, outcome: Outcome) -> None:
        task, record = outcome.task, outcome.record
        if record is not None:
            self.store.add(record, {**({} if self._explained else meanings()), **record.own_counters})
            self._explained = True
            self.summary.done += 1
            self.summary.run_seconds += record.seconds
            self.watch.finished(record)
        elif outcome.lost and task.attempt < MOST_TRIES:
            self.summary.retries += 1
            self._again.append(replace(task, attempt=task.attempt + 1))
            self.watch.lost(task, outcome.lost)
        else:
            self._fail(outcome)

    def _fail(self, outcome: Outcome) -> None:
        task, experiment = outcome.task, outcome.task.experiment
        error = outcome.error or f"tried {task.attempt} times, each time lost: the last time {outcome.lost}"
        finished = datetime.now(UTC).isoformat(timespec="seconds")
        machine = str(experiment.machine)
        failure = Failure(task.key, task.workload, experiment.size, machine, error, task.attempt, outcome.host, finished)
        self.store.add_failure(failure)
        self.summary.failures.append(failure)
        self.watch.failed(failure)


def run_to_results(
    sweep: Sweep, store: str | PathLike | None, processes: int | None, dask: str | None, **options: Any
) -> Results:
    """Run a sweep from Python: what is missing is run, and its results are given."""
    from simtlab.lab.sweep.workers import open_workers

    with ExitStack() as stack:
        opened = stack.enter_context(Store(store))
        if make_plan(sweep, opened, begin=True).missing:
            workers = stack.enter_context(open_workers(processes, dask, **options))
            summary = Loop(sweep, opened, workers, Watch()).run()
            if summary.interrupted:
                raise KeyboardInterrupt
            if summary.failures:
                raise SweepFailed(summary)
    look = Look()
    return Results(store, keys=frozenset(key_of(experiment.ingredients(look)) for experiment in sweep.experiments()))
