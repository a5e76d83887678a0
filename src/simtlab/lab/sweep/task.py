"""What the loop and its workers say to one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from simtlab.lab.experiment import Experiment
from simtlab.lab.record import Failure, Record


@dataclass(frozen=True)
class Task:
    """An experiment to run, and which try this is."""

    experiment: Experiment
    key: str
    workload: str  # its name
    attempt: int = 1


@dataclass(frozen=True)
class Outcome:
    """How a task ended: with a record, with an error of its own, or lost with its worker."""

    task: Task
    record: Record | None = None
    error: str = ""
    lost: str = ""  # why the worker is gone: a retry may help
    host: str = ""


class Workers(Protocol):
    """Where experiments run."""

    @property
    def places(self) -> int:
        """How many tasks can be under way at once; never none."""

    def start(self, task: Task) -> None:
        """Begin a task; called with fewer than `places` under way."""

    def wait(self, seconds: float) -> Outcome | None:
        """The next task that ended, or None after so many seconds."""

    def waiting_for(self) -> str:
        """What is missing for anything to run, in words; empty if nothing is."""

    def stop(self) -> None:
        """End everything now, tasks under way included."""


class Watch:
    """Told what happens in a sweep; each method may be overridden."""

    def started(self, task: Task) -> None:
        """A task has begun."""

    def finished(self, record: Record) -> None:
        """A result is stored."""

    def failed(self, failure: Failure) -> None:
        """An experiment has failed for good."""

    def lost(self, task: Task, why: str) -> None:
        """A worker is gone, and its task will be tried again."""

    def stopping(self, under_way: int) -> None:
        """Ctrl-C came; what is under way is finished first."""

    def waiting(self, what: str) -> None:
        """Nothing can run for want of something; told again when that changes, in the end with nothing."""

    def tick(self, under_way: int) -> None:
        """Some time has passed."""
