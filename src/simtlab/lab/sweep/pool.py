"""Experiments on this machine's processes, one a core. A process that dies, hangs or runs out of memory is replaced."""

from __future__ import annotations

import os
import platform
import time
from queue import Empty, SimpleQueue
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.lab.errors import SourcesChanged
from simtlab.lab.sources import simulator_digest
from simtlab.lab.sweep.process import WorkerProcess
from simtlab.lab.sweep.task import Outcome, Task

PATIENCE_SECONDS = 1800.0  # without a sign of life; making and checking a large input gives none
START_SECONDS = 1200.0  # until a process is ready: it may have to compile the machine, or wait for another that does
RUNS_A_PROCESS = 500  # then a fresh one: compiled code is never unloaded, and code of a workload may leak
MOST_FALSE_STARTS = 3  # processes in a row that die before they are ready: then something is wrong with all of them


def usual_processes() -> int:
    """One a core that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Pool:
    """Worker processes, started when they are needed."""

    def __init__(self, processes: int | None = None, patience_seconds: float = PATIENCE_SECONDS):
        self.processes = usual_processes() if processes is None else processes
        if self.processes < 1:
            raise SimtlabError(f"processes is {processes}; at least one is needed")
        self.patience_seconds = patience_seconds
        self._events: SimpleQueue[tuple[WorkerProcess, Any]] = SimpleQueue()
        self._busy: dict[WorkerProcess, Task] = {}
        self._idle: list[WorkerProcess] = []
        self._false_starts = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def places(self) -> int:
        return self.processes

    def waiting_for(self) -> str:
        return ""  # processes are started as they are needed

    def start(self, task: Task) -> None:
        worker = self._idle.pop() if self._idle else WorkerProcess(lambda worker, message: self._events.put((worker, message)))
        self._busy[worker] = task
        worker.give(task.experiment, task.key)

    def wait(self, seconds: float) -> Outcome | None:
        until = time.monotonic() + seconds
        while True:
            self._end_silent_workers()
            try:
                worker, message = self._events.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                return None
            outcome = self._heard(worker, message)
            if outcome is not None:
                return outcome

    def stop(self) -> None:
        for worker in [*self._busy, *self._idle]:
            worker.leave()  # idle or not: a worker keeps nothing that matters
        self._busy.clear()
        self._idle.clear()

    def _end_silent_workers(self) -> None:
        for worker in self._busy:
            limit = self.patience_seconds if worker.ready else max(self.patience_seconds, START_SECONDS)
            if worker.silent_for() > limit:
                worker.end(f"it showed no sign of life for {limit:g} seconds")

    def _heard(self, worker: WorkerProcess, message: Any) -> Outcome | None:
        """What a worker's message means for its task, if anything."""
        if message is None:
            lost = self._lost(worker, worker.obituary())
            worker.leave()
            return lost
        kind, value = message
        if kind == "ready":
            worker.ready, self._false_starts = True, 0
            if value != simulator_digest():
                raise SourcesChanged("simtlab's own sources were changed while the sweep ran; run it again")
        if kind == "memory":
            worker.end()
            return self._lost(worker, "its process ran out of memory")
        if kind not in ("done", "failed") or worker not in self._busy:
            return None
        task = self._busy.pop(worker)
        worker.runs += 1
        if worker.runs < RUNS_A_PROCESS:
            self._idle.append(worker)
        else:
            worker.leave()
        host = platform.node()
        return Outcome(task, record=value, host=host) if kind == "done" else Outcome(task, error=value, host=host)

    def _lost(self, worker: WorkerProcess, why: str) -> Outcome | None:
        if worker in self._idle:
            self._idle.remove(worker)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts >= MOST_FALSE_STARTS:
                raise SimtlabError(f"worker processes cannot start: {why}{worker.last_words()}")
        task = self._busy.pop(worker, None)
        return Outcome(task, lost=why, host=platform.node()) if task else None
