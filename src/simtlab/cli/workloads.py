"""`simtlab run BFS` and `simtlab list workloads`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.plan import Options, make_plan
from simtlab.cli.tables import show_facts, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.workloads.frame import WorkloadRun

PROGRAM_SUFFIXES = (".cu", ".ptx", ".toml")


@dataclass(frozen=True)
class WorkloadOptions:
    """The options of `simtlab run` that only a workload has."""

    size: str | None
    input: Sequence[str]
    gpu: str | None


def run_program_or_workload(file: Path, program: Options, of_workload: WorkloadOptions, seed: int, threads: int | None) -> Answer:
    """Run what is named: a workload, or a program file as the options say."""
    if is_workload(file):
        refuse(program, "cannot be used with a workload, which says this itself")
        return run_workload(file, of_workload, seed, threads)
    refuse(of_workload, "is for workloads; `simtlab list workloads` shows them")
    from simtlab.cli.run import carry_out

    return carry_out(make_plan(file, program, seed), threads)


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


def run_workload(name: Path, options: WorkloadOptions, seed: int, threads: int | None) -> WorkloadAnswer:
    """Run a workload and check it."""
    from simtlab.workloads.frame import workload

    chosen = workload(name, options.size or "small", seed=seed, files=dict(map(_named_file, options.input)))
    from simtlab.cli.run import make_ready
    from simtlab.host.gpu import Gpu

    gpu = Gpu(options.gpu, threads=threads)
    make_ready()
    begin = time.perf_counter()
    run = chosen.run(gpu)
    return WorkloadAnswer(run, options.gpu, time.perf_counter() - begin)


def _named_file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise BadInput(f"bad --input '{text}': it must be an input's name and a file, for example --input graph=road.gr")
    return name, path


@dataclass(frozen=True)
class WorkloadAnswer:
    """What a workload's launches did; its results were right, or there would be no answer."""

    run: WorkloadRun
    machine: str | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        run = self.run
        launches = [
            {"kernel": launch.kernel, "grid": launch.grid, "block": launch.block, "instructions": launch.instructions,
             **({"cycles": launch.cycles} if self.machine else {})}
            for launch in run.launches
        ]  # fmt: skip
        totals: dict[str, Any] = {"instructions": run.instructions, "seconds": self.seconds, "checked": run.checked}
        cycles = {"cycles": run.cycles} if self.machine else {}
        return {"workload": run.name, "size": run.size, "gpu": self.machine, **totals, **cycles, "launches": launches}

    def show(self, console: Console) -> None:
        run = self.run
        facts = [
            ("workload", f"{run.name}, size {run.size}"),
            ("launches", f"{len(run.launches)}"),
            ("warp instructions", f"{run.instructions:,}"),
        ]
        if self.machine:
            facts += [("gpu", self.machine), ("cycles", f"{run.cycles:,}"), ("ipc", f"{run.instructions / run.cycles:.3g}")]
        facts += [
            ("seconds", f"{self.seconds:.3g}, compiling and checking included"),
            ("results", f"as the reference has them: {', '.join(run.outputs)}"),
        ]
        show_facts(console, facts)
        console.print()
        self._show_kernels(console)

    def _show_kernels(self, console: Console) -> None:
        from simtlab.host.module import plain_name
        from simtlab.workloads.measured import shapes
        from simtlab.workloads.page import ctas

        done: dict[str, int] = {}
        for launch in self.run.launches:
            done[plain_name(launch.kernel)] = done.get(plain_name(launch.kernel), 0) + launch.instructions
        rows = [
            [kernel.name, *map(str, (kernel.launches, ctas(kernel), kernel.threads, kernel.registers, kernel.shared_bytes)),
             f"{done[kernel.name]:,}"]
            for kernel in shapes(self.run)
        ]  # fmt: skip
        header = ["kernel", "launches", "CTAs", "threads", "registers", "shared bytes", "warp instructions"]
        show_table(console, header, rows, right=range(1, 7))


# The list -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkloadList:
    """All workloads of the package, a row for each size."""

    rows: Sequence[Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        return {"workloads": list(self.rows)}

    def show(self, console: Console) -> None:
        header = ["name", "suite", "category", "size", "launches", "warp instructions", "global loads"]
        show_table(console, header, [_cells(row) for row in self.rows], right=(4, 5, 6))


def _cells(row: Mapping[str, Any]) -> list[str]:
    words = [row[key] for key in ("name", "suite", "category", "size")]
    if row["launches"] is None:
        return [*words, "", "", ""]
    return [*words, str(row["launches"]), f"{row['instructions']:,}", f"{row['global_load_share']:.1%}"]


def list_workloads() -> WorkloadList:
    """Every workload at every size, with the numbers kept in the package; `paper` has none."""
    from simtlab.workloads.loading import find, load, workloads
    from simtlab.workloads.measured import stored

    rows = []
    for name in workloads():
        definition = load(find(name))
        for size in definition.SIZES:
            kept = stored().get(name, {}).get(size)
            rows.append(
                {
                    "name": name, "suite": definition.SUITE, "category": definition.CATEGORY, "size": size,
                    "launches": kept.launches if kept else None,
                    "instructions": kept.instructions if kept else None,
                    "global_load_share": kept.load_share if kept else None,
                }
            )  # fmt: skip
    return WorkloadList(rows)
