"""Launches on a machine: the functional launch's services and faults, on a machine's CTAs."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.execute.state import Outcome, window_t
from simtlab.host.faults import explain_deadlock, explain_fault
from simtlab.host.sampled import run_sampled
from simtlab.machine.machine import Launch, Machine
from simtlab.sampling.machine import SampledMachine

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Waiting


class ResidentCta:
    """A CTA in a core, as services and faults look at one."""

    def __init__(self, cta: Any, launch: Any):
        self.cta = cta
        warps = int(cta.n_warps)
        self.local = _bytes_at(int(cta.local), 32 * warps * int(launch.local_bytes))
        self.shared = _bytes_at(int(cta.shared_window.host), int(launch.shared_bytes))


class MachineWorker:
    """The machine's one worker."""

    def __init__(self, record: Any, instructions: int):
        self.record = [record]
        self.windows = _bytes_at(int(record.windows), instructions * window_t.itemsize)


class Trouble:
    """What a machine's run gives to those who explain faults."""

    def __init__(self, cta: ResidentCta, worker: MachineWorker):
        self.faults = [(cta, worker)]


def run_waiting(machine: Machine, gpu: Gpu, waiting: Sequence[Waiting]) -> None:
    """Run prepared launches on the machine, streams side by side, and fill in their results."""
    name = waiting[0].program.name if len(waiting) == 1 else f"{len(waiting)} launches"
    try:
        with gpu.watch(name) as progress:
            launches = [as_launch(machine, gpu, one, waiting) for one in waiting]
            if isinstance(machine, SampledMachine):
                timings = run_sampled(machine, gpu, waiting, launches, progress)
            elif gpu.saving is not None:
                timings = gpu.saving.run(machine, gpu, waiting, launches, progress)
            else:
                timings = machine.run(launches, progress)
    finally:
        for one in waiting:
            one.end(gpu)
    for one, timing in zip(waiting, timings, strict=True):
        one.run.timing, one.run.instructions = timing, timing.instructions


def as_launch(machine: Machine, gpu: Gpu, waiting: Waiting, together: Sequence[Waiting]) -> Launch:
    """A prepared launch as the machine takes it, with those that run beside it or after it."""
    program, services, record = waiting.program, waiting.services, waiting.record
    gpu.memory.show_to(record[0])  # now: there may be other allocations than when it came in line

    def serve(cta: Any, kernel: Any) -> None:
        seen = gpu.memory.table()
        services.serve(ResidentCta(cta, record[0]), MachineWorker(kernel.worker, len(program.code)))  # type: ignore[arg-type]
        if gpu.memory.table() is not seen:
            show_to_all(machine, gpu, together)

    def give_up(outcome: Outcome, ctas: list[Any], worker: Any) -> None:
        resident = [ResidentCta(cta, record[0]) for cta in ctas]
        if outcome == Outcome.FAULT:
            trouble: Any = Trouble(resident[0], MachineWorker(worker, len(program.code)))
            raise explain_fault(gpu, program, trouble, services)
        raise explain_deadlock(program, resident)  # type: ignore[arg-type]

    stream = waiting.stream
    if stream is None:
        return Launch(program, record, serve, give_up)
    return Launch(program, record, serve, give_up, stream.number, stream.priority, stream.delay_cycles)


def show_to_all(machine: Machine, gpu: Gpu, launches: Sequence[Waiting]) -> None:
    """Let all launches see the allocations there are now: those that wait, and the machine's copies of those that run."""
    for one in launches:
        gpu.memory.show_to(one.record[0])
    records = machine.records.gpu[0]
    for kernel in records.kernel[: int(records.kernels)]:
        gpu.memory.show_to(kernel.launch)
        MachineWorker(kernel.worker, int(kernel.instructions)).windows[:] = 0  # they may show what has been freed


def _bytes_at(address: int, size: int) -> np.ndarray:
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, np.uint8) if size else np.zeros(0, np.uint8)
