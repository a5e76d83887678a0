"""`simtlab run BFS` and `simtlab list workloads`.

`python -m simtlab.cli.workloads [--size SIZE] [NAME ...]` measures the workloads again for that list.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput, Stopped
from simtlab.cli.plan import Options, make_plan
from simtlab.cli.source import build_program, check_source, has_nvcc, is_whole_program
from simtlab.cli.tables import show_facts, show_table
from simtlab.cli.timing import Timing
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.workloads.frame import WorkloadRun
    from simtlab.workloads.measured import KernelShape

PROGRAM_SUFFIXES = (".cu", ".ptx", ".toml")
LISTED_MACHINES = ("caps-gtx480", "dyncta-30core", "loads-c2050")  # the papers' own; the page shows how CTAs fit in their cores


@dataclass(frozen=True)
class WorkloadOptions:
    """The options of `simtlab run` that only a workload has."""

    size: str | None
    input: Sequence[str]


def run_program_or_workload(
    file: Path, program: Options, of_workload: WorkloadOptions, machine: MachineChoice, seed: int, host: Host, as_json: bool = False
) -> Answer:
    """Run what is named: a workload, or a program file as the options say. As JSON, what a whole program prints goes to stderr."""
    if is_workload(file):
        refuse(program, "cannot be used with a workload, which says this itself")
        return run_workload(file, of_workload, machine, seed, host)
    refuse(of_workload, "is for workloads; `simtlab list workloads` shows them")
    if asks_for_the_program(file, program):
        return run_whole_program(file, program, machine, host, as_json)
    from simtlab.cli.run import run_plan

    return run_plan(make_plan(file, program, seed, machine), host)


def asks_for_the_program(file: Path, options: Options) -> bool:
    """Whether a file with host code is to be run as a whole: nothing is said of a launch, and there is an nvcc for it."""
    named = [options.kernel, options.grid, options.block, options.shared, *options.arg, *options.out]
    return os.path.isfile(file) and is_whole_program(file) and not any(named) and has_nvcc()


def run_whole_program(file: Path, options: Options, machine: MachineChoice, host: Host, as_json: bool) -> Answer:
    """Compile it with nvcc and run it as `simtlab exec` does."""
    from simtlab.cli.applications import execute

    check_source(file, options.include)
    with tempfile.TemporaryDirectory(prefix="simtlab-") as folder:
        program = Path(folder) / file.stem
        build_program(file, options.option, list(map(str, options.include)), [], program)
        return execute([str(program)], machine, host, as_json)


def is_workload(file: Path) -> bool:
    """Whether what is to be run is a workload's name or folder, and no program file."""
    if file.suffix in PROGRAM_SUFFIXES:
        return False
    return os.path.isdir(file) or (not file.suffix and not os.path.isfile(file))


def refuse(options: Options | WorkloadOptions, why: str) -> None:
    """None of these options may be given."""
    for name, value in vars(options).items():
        if value not in (None, []):
            raise BadInput(f"--{name} {why}")


def run_workload(name: Path, options: WorkloadOptions, machine: MachineChoice, seed: int, host: Host) -> WorkloadAnswer:
    """Run a workload and check it."""
    from simtlab.workloads.frame import workload

    chosen = workload(name, options.size or "small", seed=seed, files=input_files(options))
    from simtlab.cli.progress import make_ready, show_cycles

    gpu = machine.build(host)
    gpu.watch = show_cycles
    make_ready(timed=gpu.machine is not None)
    begin = time.perf_counter()
    try:
        run = chosen.run(gpu)
    except KeyboardInterrupt as interrupt:
        from simtlab.cli.run import as_interrupted

        stop = as_interrupted(interrupt)
        assert gpu.machine is not None
        timing = Timing(machine, gpu.machine, [(stop.program, stop.run)])
        raise Stopped(StoppedWorkload(chosen.name, chosen.size, stop.earlier_cycles, timing)) from None
    seconds = time.perf_counter() - begin
    if gpu.machine is None:
        return WorkloadAnswer(run, None, seconds)
    launches = [(run.module[launch.kernel].program, launch.timing) for launch in run.launches if launch.timing]
    return WorkloadAnswer(run, Timing(machine, gpu.machine, launches), seconds)


def input_files(options: WorkloadOptions) -> dict[str, str]:
    """A workload's own inputs by name."""
    return dict(map(_named_file, options.input))


def _named_file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise BadInput(f"bad --input '{text}': it must be an input's name and a file, for example --input graph=road.gr")
    return name, path


@dataclass(frozen=True)
class WorkloadAnswer:
    """What a workload's launches did; its results were right, or there would be no answer."""

    run: WorkloadRun
    timing: Timing | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        from simtlab.workloads.measured import shapes

        run, timing = self.run, self.timing
        launches = [
            {"kernel": launch.kernel, "grid": launch.grid, "block": launch.block, "instructions": launch.instructions,
             **({"cycles": launch.cycles, "ipc": launch.ipc} if timing else {})}
            for launch in run.launches
        ]  # fmt: skip
        totals: dict[str, Any] = {"instructions": run.instructions, "seconds": self.seconds, "checked": run.checked}
        timed = {"cycles": run.cycles, "timing": timing.as_json()} if timing else {}
        gpu = timing.choice.gpu if timing else None
        kernels = [
            {"kernel": kernel.name, "registers": kernel.registers, "registers_from": kernel.registers_from,
             "own_registers": kernel.own_registers, "shared_bytes": kernel.shared_bytes}
            for kernel in shapes(run)
        ]  # fmt: skip
        named = {"workload": run.name, "size": run.size, "gpu": gpu}
        return {**named, **totals, **timed, "kernels": kernels, "launches": launches}

    def show(self, console: Console) -> None:
        run = self.run
        facts = [
            ("workload", f"{run.name}, size {run.size}"),
            ("launches", f"{len(run.launches)}"),
            ("warp instructions", f"{run.instructions:,}"),
        ]
        facts += [
            ("seconds", f"{self.seconds:.3g}, compiling and checking included"),
            ("results", f"as the reference has them: {', '.join(run.outputs)}"),
        ]
        show_facts(console, facts)
        console.print()
        self._show_kernels(console)
        if self.timing:
            console.print()
            self.timing.show(console)

    def _show_kernels(self, console: Console) -> None:
        from simtlab.workloads.measured import shapes
        from simtlab.workloads.page import ctas

        rows = [
            [kernel.name, *map(str, (kernel.launches, ctas(kernel), kernel.threads, kernel.registers, kernel.own_registers,
                                     kernel.shared_bytes)), f"{kernel.instructions:,}"]
            for kernel in shapes(self.run)
        ]  # fmt: skip
        header = ["kernel", "launches", "CTAs", "threads", "registers", "own", "shared bytes", "warp instructions"]
        show_table(console, header, rows, right=range(1, 8))
        whose = " or ".join(dict.fromkeys(kernel.registers_from for kernel in shapes(self.run)))
        console.print(f"registers: by {whose}; own: as simtlab allocates them", soft_wrap=True)


@dataclass(frozen=True)
class StoppedWorkload:
    """A timed workload that Ctrl-C stopped: what the launch under way had come to."""

    name: str
    size: str
    earlier_cycles: int  # of the launches that had ended
    timing: Timing

    def as_json(self) -> dict[str, Any]:
        kernel = self.timing.runs[0][0].name
        return {"workload": self.name, "size": self.size, "interrupted": True, "earlier_cycles": self.earlier_cycles,
                "kernel": kernel, "timing": self.timing.as_json()}  # fmt: skip

    def show(self, console: Console) -> None:
        from simtlab.host.module import plain_name

        kernel = plain_name(self.timing.runs[0][0].name)
        console.print(f"stopped by Ctrl-C in a launch of {kernel}, {self.earlier_cycles:,} cycles after the workload's start; "
                      "this launch until then:", soft_wrap=True)  # fmt: skip
        self.timing.show(console)


# The list -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkloadList:
    """All workloads of the package, a row for each size."""

    rows: Sequence[Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        return {"workloads": list(self.rows)}

    def show(self, console: Console) -> None:
        header = ["name", "suite", "papers", "category", "DYNCTA", "size", "launches", "warp instructions", "global loads"]
        show_table(console, header, [_cells(row) for row in self.rows], right=(6, 7, 8))


def _cells(row: Mapping[str, Any]) -> list[str]:
    words = [row["name"], row["suite"], " ".join(row["papers"]), row["category"], row["dyncta_type"] or "", row["size"]]
    if row["launches"] is None:
        return [*words, "", "", ""]
    from simtlab.workloads.page import percent

    return [*words, str(row["launches"]), f"{row['instructions']:,}", percent(row["global_load_share"])]


def list_workloads() -> WorkloadList:
    """Every workload at every size, with the numbers kept in the package."""
    from simtlab.workloads.loading import find, load, workloads
    from simtlab.workloads.measured import stored

    rows = []
    for name in workloads():
        definition = load(find(name))
        for size in definition.SIZES:
            kept = stored().get(name, {}).get(size)
            rows.append(
                {
                    "name": name, "aliases": list(definition.ALIASES), "suite": definition.SUITE,
                    "papers": list(definition.PAPERS), "category": definition.CATEGORY,
                    "dyncta_type": definition.DYNCTA_TYPE or None, "size": size,
                    "launches": kept.launches if kept else None,
                    "instructions": kept.instructions if kept else None,
                    "global_load_share": kept.load_share if kept else None,
                    "checked": kept.checked if kept else None,
                }
            )  # fmt: skip
    return WorkloadList(rows)


# Measure again --------------------------------------------------------------------------------------------------------


def resident_ctas(kernel: KernelShape) -> dict[str, tuple[int, str]]:
    """How many CTAs of a kernel fit in a core of each of the papers' machines, and what stops the next one."""
    from simtlab.machine.config.load import load
    from simtlab.machine.machine import occupancy

    program: Any = kernel  # it has the name and the registers, which is all that is asked for
    found = {}
    for machine in LISTED_MACHINES:
        fits = occupancy(load(machine), program, kernel.threads, kernel.shared_bytes)
        found[machine] = fits.ctas, fits.limited_by
    return found


def main() -> None:
    """Measure the workloads named, or all of them, and keep the numbers in the package."""
    from simtlab.workloads.loading import SIZES, workloads
    from simtlab.workloads.measured import measure_again

    parser = argparse.ArgumentParser(prog="python -m simtlab.cli.workloads", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", choices=SIZES, help="this size alone")
    parser.add_argument("--unchecked", action="store_true", help="do not compare the results with the references")
    given = parser.parse_args()
    sizes = [given.size] if given.size else SIZES
    measure_again(given.names or workloads(), sizes, check_result=not given.unchecked)


if __name__ == "__main__":
    main()
