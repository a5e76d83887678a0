"""`simtlab sweep study.toml`: the plan, the progress, the failures."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, Stopped
from simtlab.cli.tables import show_facts
from simtlab.lab.sweep.task import Task, Watch

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.lab.record import Failure, Record
    from simtlab.lab.sweep.loop import Summary
    from simtlab.lab.sweep.plan import Plan
    from simtlab.lab.sweep.sweep import Experiments

LINE_SECONDS = 10.0  # between lines of progress where there is no terminal


@dataclass(frozen=True)
class Place:
    """Where results go, and where the experiments run."""

    store: Path | None = None
    processes: int | None = None
    dask: str | None = None
    patience_seconds: float | None = None

    def workers(self) -> Any:
        from simtlab.lab.sweep.workers import open_workers

        patience = {} if self.patience_seconds is None else {"patience_seconds": self.patience_seconds}
        return open_workers(self.processes, self.dask, **patience)


def sweep_file(file: Path, place: Place, only_plan: bool) -> Answer:
    """Run the sweep in a file."""
    from simtlab.lab.store.store import Store
    from simtlab.lab.sweep.plan import make_plan
    from simtlab.lab.sweep.study import read_study

    sweep = read_study(file)
    with Store(place.store) as store:
        if only_plan:
            return PlanAnswer(make_plan(sweep, store), place, store.path)
    answer = run_sweep(sweep, place)
    if answer.summary.interrupted:
        raise Stopped(answer)
    return answer


def run_sweep(sweep: Experiments, place: Place) -> SweepAnswer:
    """Run what is missing of a sweep, telling how it goes on stderr."""
    from simtlab.lab.store.store import Store
    from simtlab.lab.sweep.loop import Loop, Summary
    from simtlab.lab.sweep.plan import make_plan

    with Store(place.store) as store:
        plan = make_plan(sweep, store, begin=True)
        print(PlanAnswer(plan, place, store.path).sentence(), file=sys.stderr)
        if not plan.missing:
            return SweepAnswer(plan, Summary(stored_before=plan.stored), store.path)
        with place.workers() as workers, Progress(plan.missing) as watch:
            summary = Loop(sweep, store, workers, watch).run()
        return SweepAnswer(plan, summary, store.path)


@dataclass(frozen=True)
class PlanAnswer:
    """What a sweep would do."""

    plan: Plan
    place: Place
    store: Path

    def as_json(self) -> dict[str, Any]:
        return {"plan": {**vars(self.plan), "missing": self.plan.missing}, "store": str(self.store)}

    def sentence(self) -> str:
        plan = self.plan
        text = f"{plan.total:,} experiments: {plan.stored:,} stored, {plan.missing:,} to run"
        if not plan.missing:
            return text
        if plan.seconds is None:
            return f"{text}; no earlier results to say how long that takes"
        if self.place.dask:
            return f"{text}, about {words(plan.seconds)} of one process"
        from simtlab.lab.sweep.pool import usual_processes

        processes = min(self.place.processes or usual_processes(), plan.missing)
        more = f", and {plan.unknown:,} of unknown length" if plan.unknown else ""
        return f"{text}, about {words(plan.seconds / processes)} on {processes} process{'es' * (processes > 1)}{more}"

    def show(self, console: Console) -> None:
        console.print(self.sentence(), soft_wrap=True)


@dataclass(frozen=True)
class SweepAnswer:
    """How a sweep went."""

    plan: Plan
    summary: Summary
    store: Path

    @property
    def status(self) -> int:
        return 1 if self.summary.failures else 0

    def as_json(self) -> dict[str, Any]:
        failures = [vars(failure) for failure in self.summary.failures]
        plan = {**vars(self.plan), "missing": self.plan.missing}
        return {"plan": plan, "store": str(self.store), **vars(self.summary), "failures": failures}

    def show(self, console: Console) -> None:
        summary = self.summary
        parts = [f"{summary.done:,} run and stored", f"{summary.stored_before:,} stored before"]
        parts += [f"{len(summary.failures):,} failed"] if summary.failures else []
        parts += [f"{summary.retries:,} tried again"] if summary.retries else []
        parts += ["stopped by Ctrl-C"] if summary.interrupted else []
        show_facts(console, [("experiments", ", ".join(parts)), ("took", words(summary.wall_seconds)), ("store", str(self.store))])
        for failure in summary.failures:
            console.print(f"failed: {failure.workload} {failure.size}, {failure.machine}: {failure.error}", soft_wrap=True)


def words(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"


class Progress(Watch):
    """A bar with the time left on a terminal's stderr; elsewhere a line every now and then."""

    def __init__(self, total: int):
        from rich.console import Console

        self.total, self.done, self.begin, self.told = total, 0, time.monotonic(), time.monotonic()
        self.waits_for = ""
        self.console = Console(file=sys.stderr, highlight=False, markup=False)
        self.bar = self._bar() if self.console.is_terminal else None

    def _bar(self) -> Any:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                   TextColumn("left"), TimeRemainingColumn())  # fmt: skip
        bar = Bar(*columns, console=self.console, transient=True, redirect_stdout=False, redirect_stderr=False)
        self.row = bar.add_task("sweep", total=self.total)
        return bar

    def __enter__(self) -> Progress:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def finished(self, record: Record) -> None:
        self._advance()

    def failed(self, failure: Failure) -> None:
        self._say(f"failed: {failure.workload} {failure.size}, {failure.machine}: {failure.error}")
        self._advance()

    def lost(self, task: Task, why: str) -> None:
        self._say(f"lost: {task.experiment}: {why}; it is tried again")

    def stopping(self, under_way: int) -> None:
        self._say(f"finishing the {under_way} under way; Ctrl-C again stops now")

    def waiting(self, what: str) -> None:
        self.waits_for = what
        self._say(f"waiting for {what}; Ctrl-C stops" if what else "a worker is there: going on")
        if self.bar:
            self.bar.update(self.row, description="waiting" if what else "sweep")

    def tick(self, under_way: int) -> None:
        if self.bar is None and self.done < self.total and time.monotonic() - self.told > LINE_SECONDS:
            self.told = time.monotonic()
            still = f"still waiting for {self.waits_for}" if self.waits_for else ""
            self._say(", ".join(filter(None, [f"{self.done:,} of {self.total:,} done{self._left()}", still])))

    def _left(self) -> str:
        if not self.done or self.waits_for:
            return ""
        return f", about {words((time.monotonic() - self.begin) / self.done * (self.total - self.done))} left"

    def _say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def _advance(self) -> None:
        self.done += 1
        if self.bar:
            self.bar.advance(self.row)
