"""Launches on a machine that samples: of those of one kernel that do the same a few are timed, the others run functionally."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from simtlab.sampling.clusters import size_of
from simtlab.sampling.functional import run_ctas

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Waiting
    from simtlab.machine.kernels import Launch
    from simtlab.machine.machine import TimedRun
    from simtlab.sampling.machine import SampledMachine


def run_sampled(
    machine: SampledMachine, gpu: Gpu, waiting: Sequence[Waiting], launches: Sequence[Launch], progress: Callable | None
) -> list[TimedRun]:
    """Run launches that wait: on the machine, or, where one is like others that were, without it."""
    if machine.why_in_full(launches):
        return machine.run(launches, progress)
    launch, ctas = launches[0], int(launches[0].record[0]["n_ctas"])
    kernel = (id(launch.program), waiting[0].run.block, waiting[0].run.shared_bytes)
    size = size_of(ctas, machine.config.core.cores, machine.wave_of(launch))
    if not machine.clusters.knows(kernel):  # often there is no other: then nothing is run twice
        runs = machine.run(launches, progress)
        machine.clusters.begin(kernel, size, runs[0], launch.program, machine.is_stale)
        machine.is_stale = False
        return runs
    before = machine.keep({one.start: gpu.memory.bytes(one.start, one.size) for one in gpu.memory if one.writable})
    executed = run_ctas(launch, 0, ctas, gpu.threads)
    cluster = machine.clusters.add(kernel, size, executed)
    if not cluster.is_due():
        machine.is_stale = True
        return [replace(machine.clusters.estimate(kernel, cluster, executed, machine.config), start=machine.cycle)]
    for start, contents in before.items():
        gpu.memory.bytes(start, len(contents))[:] = contents
    if int(launch.record[0]["strays"]):
        waiting[0].buffers[-1][:] = 0  # they are counted once more
    runs = machine.run(launches, progress)
    machine.clusters.note(kernel, cluster, runs[0], machine.is_stale)
    machine.is_stale = False
    return runs
