"""CTAs of a timed launch that are run functionally, while others of it are on the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from simtlab.execute.grid import GridRun
from simtlab.execute.state import Outcome, field_offset, launch_t
from simtlab.machine.kernels import Launch


def run_ctas(launch: Launch, first: int, ctas: int, threads: int) -> np.ndarray:
    """Run some CTAs in a row to their end; what they executed by instruction, of count_t. What goes wrong is raised as the
    machine raises it."""
    record = launch.record.copy()
    record["next_cta_address"] = record.ctypes.data + field_offset(launch_t, "next_cta")
    record["next_cta"], record["n_ctas"] = first, first + ctas
    part = GridRun(launch.program, record, _no_service, counts=True)
    part.run(threads)
    for slot, worker in part.faults:
        launch.give_up(Outcome.FAULT, [slot.cta], worker.record[0])
    if part.stuck:
        launch.give_up(Outcome.STUCK, [slot.cta for slot in part.stuck], part.workers[0].record[0])
    return part.counts


def _no_service(slot: Any, worker: Any) -> None:
    raise AssertionError("programs that call the host are simulated in full")
