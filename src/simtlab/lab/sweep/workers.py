"""Where a sweep runs: this machine's processes, or a Dask cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from simtlab.lab.sweep.pool import PATIENCE_SECONDS, Pool


def open_workers(
    processes: int | None = None, dask: str | None = None, patience_seconds: float = PATIENCE_SECONDS, **options: Any
) -> AbstractContextManager[Any]:
    """Workers to enter: a pool of processes, or what `dask` names, tcp://host:8786 or slurm."""
    if dask is None:
        return Pool(processes, patience_seconds)
    from simtlab.lab.sweep.cluster import Cluster

    return Cluster(dask, processes, patience_seconds, **options)
