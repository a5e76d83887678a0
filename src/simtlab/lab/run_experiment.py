"""Run an experiment: run the workload on the machine, check its results, make the record."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.lab.errors import SourcesChanged
from simtlab.lab.experiment import Beside, Experiment, key_of
from simtlab.lab.machines import NO_PROFILE, Host, MachineChoice
from simtlab.lab.record import Record, pack
from simtlab.lab.tables import TimedProgram, all_tables, totals
from simtlab.workloads.beside import RunBeside, run_beside

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.workloads.frame import Workload, WorkloadRun

MOST_CYCLES = 1_000_000_000  # of a launch: one that spins for ever is given up
Progress = Callable[[int], None]  # told the cycles so far, every now and then


def host() -> Host:
    return Host(threads=1, max_cycles=MOST_CYCLES)


def run_experiment(experiment: Experiment, progress: Progress | None = None) -> Record:
    """The experiment's record; its errors are the workload's and the machine's own."""
    begin = time.perf_counter()
    ingredients = experiment.ingredients()
    program = experiment.program()
    gpu = experiment.machine.build(host(), earlier_runs(experiment, progress))
    if progress is not None:
        report(gpu, progress)
    run = run_program(experiment, program, gpu)
    if experiment.ingredients() != ingredients:
        raise SourcesChanged(f"{experiment}: its sources were changed while it ran; run it again")
    record = record_of(ingredients, experiment.machine, run, gpu, program.folder)
    if isinstance(run, RunBeside):
        record = with_beside(record, experiment.beside, run)
    return replace(record, seconds=time.perf_counter() - begin)


def run_program(experiment: Experiment, program: Workload, gpu: Gpu) -> WorkloadRun | RunBeside:
    """The program alone, or with the one beside it."""
    if experiment.beside is None or experiment.other is None:
        return program.run(gpu)
    return run_beside(program, experiment.other.program(), gpu, experiment.beside.priority, experiment.beside.delay_cycles)


def with_beside(record: Record, beside: Beside | None, run: RunBeside) -> Record:
    """The record with what the program beside was, and how long it took."""
    chosen = beside.values() if beside else {}
    counters = {**record.counters, "beside_cycles": run.other_cycles}
    return replace(record, inputs={**record.inputs, "beside": chosen}, counters=counters)


def earlier_runs(experiment: Experiment, progress: Progress | None) -> Sequence[Run]:
    """The launches that its machine's profile is of, run now; none if it has no profile."""
    if experiment.machine.profile == NO_PROFILE:
        return ()
    gpu = experiment.machine.without_mechanisms().build(host())
    if progress is not None:
        report(gpu, progress)
    return experiment.program().run(gpu).launches


def record_of(
    ingredients: Mapping[str, Any], machine: MachineChoice, run: TimedProgram, gpu: Gpu, folder: Path, seconds: float = 0.0
) -> Record:
    """The record of a program that has run. Source files in `folder` are named without it."""
    from simtlab import __version__

    assert gpu.machine is not None, "experiments are timed"
    profile = {"profile": machine.profile} if machine.profile != NO_PROFILE else {}
    return Record(
        key=key_of(ingredients),
        workload=ingredients["workload"]["name"],
        size=ingredients["workload"]["size"],
        gpu=ingredients["machine"]["name"],
        inputs={**{name: ingredients["workload"][name] for name in ("parameters", "seed", "files", "sources")}, **profile,
                **({"sample": str(machine.sample)} if machine.sample else {})},
        changes=dict(machine.changes),
        policies={slot: {name: values[name] for name in ("name", "label", "parameters", "sources")}
                  for slot, values in ingredients["policies"].items()},
        machine=dict(ingredients["machine"]),
        counters=totals(run.launches),
        occupancy=occupancies(run),
        launches=len(run.launches),
        tables={name: pack(table) for name, table in all_tables(run, gpu, folder).items()},
        sources=ingredients["simtlab"],
        version=__version__,
        seconds=seconds,
        host=platform.node(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        own_counters=gpu.machine.own_counters,
    )  # fmt: skip


def occupancies(run: TimedProgram) -> list[dict[str, Any]]:
    """Kernels, the CTAs of each that fit in a core, what stops the next one, its registers, its L1 and shared memory; each once."""
    from simtlab.host.module import plain_name

    names = ("kernel", "ctas", "limited_by", "registers", "registers_from", "l1_bytes", "shared_bytes")
    timed = ((run.program_of(launch), launch.timing.occupancy) for launch in run.launches if launch.timing)
    rows = ((plain_name(program.name), fits.ctas, fits.limited_by, program.registers, program.registers_from, fits.l1_bytes,
             fits.shared_bytes) for program, fits in timed)  # fmt: skip
    return [dict(zip(names, row, strict=True)) for row in dict.fromkeys(rows)]


def report(gpu: Gpu, progress: Progress) -> None:
    """Let somebody know the cycles so far, all launches together."""
    earlier = 0

    @contextmanager
    def watch(kernel: str) -> Iterator[Callable[[int, float], None]]:
        nonlocal earlier
        latest = 0

        def tell(cycles: int, _: float) -> None:
            nonlocal latest
            latest = cycles
            progress(earlier + cycles)

        yield tell
        earlier += latest

    gpu.watch = watch

