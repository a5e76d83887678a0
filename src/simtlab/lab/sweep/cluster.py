"""Experiments on a Dask Distributed cluster. Its workers need simtlab and nothing else: no shared disk, no files."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Any

from simtlab.lab.errors import ClusterError
from simtlab.lab.sources import simulator_digest
from simtlab.lab.sweep.payload import pack_payload
from simtlab.lab.sweep.pool import PATIENCE_SECONDS
from simtlab.lab.sweep.remote import about_me, keep, run_payload
from simtlab.lab.sweep.task import Outcome, Task

CONNECT_SECONDS = 10
COUNT_SECONDS = 5.0  # between counts of the cluster's workers
RESULT_SECONDS = 60  # to fetch a result; if its worker dies in between, Dask makes it again
TASKS_A_THREAD = 2  # one that runs and one that waits, so that no worker waits for us
SLURM_JOBS = 4  # where nobody says how many


class Cluster:
    """A cluster by its address, tcp://host:8786; `slurm` starts one through dask-jobqueue, as its configuration says."""

    def __init__(self, address: str, jobs: int | None = None, patience_seconds: float = PATIENCE_SECONDS):
        self.address, self.jobs, self.patience_seconds = address, jobs, patience_seconds
        self._ended: SimpleQueue[tuple[Task, Any]] = SimpleQueue()
        self._under_way: dict[str, Any] = {}
        self._files: dict[str, Any] = {}  # contents on the cluster, by digest
        self._session = uuid.uuid4().hex[:8]
        self._counted_threads, self._counted = 0, 0.0  # threads of the cluster, and when they were counted
        self._own: Any = None

    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ImportError:
            raise ClusterError("--dask needs Dask Distributed, which is not installed: pip install 'simtlab[dask]'") from None
        where = self._start_slurm() if self.address == "slurm" else self.address
        try:
            self.client = Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(f"there is no Dask scheduler at {self.address}: {error}") from None
        self._check_workers()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.client.close()
        if self._own is not None:
            self._own.close()

    def _start_slurm(self) -> Any:
        try:
            from dask_jobqueue import SLURMCluster

            self._own = SLURMCluster()
        except ImportError:
            raise ClusterError("--dask slurm needs dask-jobqueue, which is not installed: pip install 'simtlab[dask]'") from None
        except (ValueError, TypeError) as error:
            hint = "its file jobqueue.yaml says what a job is"
            raise ClusterError(f"dask-jobqueue cannot start a cluster: {error}; {hint}") from None
        self._own.scale(jobs=self.jobs or SLURM_JOBS)
        return self._own

    def _check_workers(self) -> None:
        """Every worker must have this simtlab, or its results would not be ours."""
        for worker, found in self.client.run(about_me, on_error="return").items():
            if isinstance(found, BaseException):
                raise ClusterError(f"the Dask worker {worker} cannot run simtlab: {type(found).__name__}: {found}")
            self._refuse_foreign(*found)

    def _refuse_foreign(self, host: str, digest: str) -> None:
        if digest != simulator_digest():
            raise ClusterError(f"the Dask worker on {host} has another simtlab (its sources' digest is {digest}, here it is "
                               f"{simulator_digest()}); install the same version there")  # fmt: skip

    # Tasks ------------------------------------------------------------------------------------------------------------

    @property
    def places(self) -> int:
        return max(1, TASKS_A_THREAD * self._threads())

    def waiting_for(self) -> str:
        if self._threads():
            return ""
        how = "dask-jobqueue's jobs have not begun" if self._own is not None else f"start some with `dask worker {self.address}`"
        return f"a worker: the Dask cluster at {self.address} has none yet ({how})"

    def _threads(self) -> int:
        """The threads of all workers, counted every now and then."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._counted = time.monotonic()
            try:
                self._counted_threads = sum(self.client.nthreads().values())
            except (OSError, TimeoutError):
                self._refuse_to_go_on()
        return self._counted_threads

    def start(self, task: Task) -> None:
        payload, sources = pack_payload(task.experiment)
        for digest, path in sources.items():
            if digest not in self._files:
                self._files[digest] = self.client.submit(keep, path.read_bytes(), key=f"simtlab-file-{digest}")
        files = {digest: self._files[digest] for digest in sources}
        name = f"simtlab-{task.key}-{task.attempt}-{self._session}"
        future = self.client.submit(
            run_payload, payload, task.key, files, self.patience_seconds, simulator_digest(), key=name, pure=False
        )
        self._under_way[name] = future
        future.add_done_callback(lambda ended: self._ended.put((task, ended)))

    def wait(self, seconds: float) -> Outcome | None:
        try:
            task, future = self._ended.get(timeout=seconds)
        except Empty:
            if self.client.status in ("closed", "closing"):
                self._refuse_to_go_on()
            return None
        self._under_way.pop(future.key, None)
        if not self._counted_threads:
            self._counted = 0.0  # somebody has run it: count anew
        try:
            return self._outcome(task, future)
        finally:
            future.release()

    def _outcome(self, task: Task, future: Any) -> Outcome:
        """How a task ended. A Dask worker that dies is replaced by Dask itself, as often as the cluster's settings say."""
        if future.status == "cancelled":  # all are, when the scheduler goes
            self._refuse_to_go_on()
        if future.status == "lost":
            return Outcome(task, lost="the Dask worker that had its result died")
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                return Outcome(task, error=f"every Dask worker that tried it died: {error}")
            return Outcome(task, error=f"{type(error).__name__}: {error}")
        try:
            kind, value, host = future.result(timeout=RESULT_SECONDS)
        except (OSError, TimeoutError, CancelledError) as error:
            return Outcome(task, lost=f"its result could not be fetched: {type(error).__name__}: {error}")
        if kind == "foreign":
            self._refuse_foreign(host, value)
        if kind == "done":
            return Outcome(task, record=value, host=host)
        return Outcome(task, lost=value, host=host) if kind == "lost" else Outcome(task, error=value, host=host)

    def _refuse_to_go_on(self) -> None:
        raise ClusterError(f"the Dask scheduler at {self.address} is gone; every result so far is stored, and running the sweep "
                           "again goes on from there")  # fmt: skip

    def stop(self) -> None:
        for future in self._under_way.values():
            future.cancel(reason="the sweep has stopped")
        self._under_way.clear()
        self._files.clear()
