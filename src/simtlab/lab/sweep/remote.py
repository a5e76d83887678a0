"""What a Dask worker does with a task: unpack the experiment and run it in a process of its own beside the Dask worker.

The process takes the same care of hangs, crashes and memory as on one machine, and the Dask worker stays well.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Mapping
from typing import Any

from simtlab.lab.sources import simulator_digest
from simtlab.lab.sweep.payload import Payload, unpack_payload
from simtlab.lab.sweep.pool import Pool
from simtlab.lab.sweep.task import Outcome, Task

LOOK_SECONDS = 5.0

_idle: dict[float, list[Pool]] = {}  # processes kept from task to task, by their patience
_lock = threading.Lock()


def about_me() -> tuple[str, str]:
    """This worker's machine, and the digest of its simtlab."""
    return platform.node(), simulator_digest()


def keep(data: bytes) -> bytes:
    """A file's contents as a task of its own: Dask moves them to a worker once, and again if that worker dies."""
    return data


def run_payload(payload: Payload, key: str, files: Mapping[str, bytes], patience: float, digest: str) -> tuple[str, Any, str]:
    """("done", record, host), ("failed", error, host), ("lost", why, host) or ("foreign", digest, host)."""
    host, mine = about_me()
    if mine != digest:
        return "foreign", mine, host
    outcome = run_beside(unpack_payload(payload, files), key, patience)
    if outcome.record is not None:
        return "done", outcome.record, host
    return ("lost", outcome.lost, host) if outcome.lost else ("failed", outcome.error, host)


def run_beside(experiment: Any, key: str, patience: float) -> Outcome:
    """Run an experiment in an idle process, or in a new one."""
    with _lock:
        waiting = _idle.setdefault(patience, [])
        pool = waiting.pop() if waiting else Pool(1, patience)
    pool.start(Task(experiment, key, experiment.workload))
    outcome = None
    while outcome is None:
        outcome = pool.wait(LOOK_SECONDS)
    with _lock:
        waiting.append(pool)
    return outcome
