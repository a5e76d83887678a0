"""What each workload's run amounts to: launches, warp instructions, global loads, the shapes of its kernels.

The numbers are kept in `measured.json`; `python -m simtlab.cli.workloads` measures again and writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.workloads.counting import COUNTER, with_counted_loads
from simtlab.workloads.frame import Launcher, Workload, WorkloadRun, workload, workloads
from simtlab.workloads.loading import SIZES

if TYPE_CHECKING:
    from simtlab.host.module import Kernel

STORED = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class KernelShape:
    """One of a workload's kernels as it was launched; where launches differ, the least and the most CTAs."""

    name: str
    launches: int
    ctas: tuple[int, int]
    threads: int  # of a CTA, at most
    registers: int  # of a thread, which decide how many CTAs are resident
    registers_from: str  # whose count that is
    own_registers: int  # of a thread, as simtlab allocates them
    shared_bytes: int  # of a CTA, static and dynamic, at most
    instructions: int  # of warps, all launches together
    global_loads: int | None = None  # those of them that are ld.global

    @property
    def load_share(self) -> float | None:
        """Global loads among the warp instructions."""
        return None if self.global_loads is None else self.global_loads / self.instructions


@dataclass(frozen=True)
class Measured:
    """A workload's run at one size."""

    launches: int
    instructions: int  # of warps
    global_loads: int  # those of them that are ld.global
    checked: bool  # whether the results were compared with the reference
    kernels: tuple[KernelShape, ...]

    @property
    def load_share(self) -> float:
        """Global loads among the warp instructions."""
        return self.global_loads / self.instructions


class CountingLauncher(Launcher):
    """A launcher for kernels with counted loads; it keeps each launch's."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.loads: list[int] = []

    def launch(self, *arguments: Any, **options: Any) -> Any:
        counter = self.module.variable(COUNTER)
        counter[0] = 0
        run = super().launch(*arguments, **options)
        self.loads.append(int(counter[0]))
        return run


def measure(program: Workload, check_result: bool = True) -> Measured:
    """Run a workload twice: as it is, and with its loads counted. On one thread, so that races go one way."""
    from simtlab.host.gpu import Gpu

    run = program.run(Gpu(threads=1), check_result)
    loads: dict[str, int] = {
        launch.kernel: 0 for launch in run.launches
    }  # by full name: instances of a template share the plain one
    for kernel, count in count_loads(program):
        loads[kernel] += count
    kernels = tuple(replace(shape, global_loads=count) for shape, count in zip(shapes(run), loads.values(), strict=True))
    return Measured(len(run.launches), run.instructions, sum(loads.values()), run.checked, kernels)


def count_loads(program: Workload) -> list[tuple[str, int]]:
    """How many warp instructions `ld.global` each launch executes, and of which kernel."""
    from simtlab.host.gpu import Gpu

    gpu = Gpu(threads=1)
    launcher = CountingLauncher(gpu, program.compile(gpu, with_counted_loads))
    program.definition.run(launcher, program.inputs())
    return [(launch.kernel, count) for launch, count in zip(launcher.launches, launcher.loads, strict=True)]


def shapes(run: WorkloadRun) -> tuple[KernelShape, ...]:
    """A run's kernels in the order of their first launches."""
    from simtlab.host.module import plain_name

    found = []
    for name in dict.fromkeys(launch.kernel for launch in run.launches):
        mine = [pair for pair in zip(run.launches, run.dynamic_shared, strict=True) if pair[0].kernel == name]
        ctas = [x * y * z for x, y, z in (launch.grid for launch, _ in mine)]
        threads = max(x * y * z for x, y, z in (launch.block for launch, _ in mine))
        kernel = run.module[name]
        shared = kernel.shared_bytes + max(dynamic for _, dynamic in mine)
        executed = sum(launch.instructions for launch, _ in mine)
        size = (min(ctas), max(ctas)), threads, *registers(kernel), shared, executed
        found.append(KernelShape(plain_name(name), len(mine), *size))
    return tuple(found)


def registers(kernel: Kernel) -> tuple[int, str, int]:
    """A thread's registers, whose count that is, and simtlab's own."""
    return kernel.program.registers, kernel.program.registers_from, kernel.program.own_registers


@cache
def stored() -> dict[str, dict[str, Measured]]:
    """The numbers kept in the package, by workload and size."""
    document = json.loads(STORED.read_text())
    return {name: {size: from_json(row) for size, row in sizes.items()} for name, sizes in document.items()}


def from_json(row: dict[str, Any]) -> Measured:
    return Measured(**{**row, "kernels": tuple(map(_kernel_from_json, row["kernels"]))})


def _kernel_from_json(row: dict[str, Any]) -> KernelShape:
    return KernelShape(**{**row, "ctas": tuple(row["ctas"])})


def measure_again(names: Sequence[str], sizes: Sequence[str], check_result: bool = True) -> None:
    """Measure these workloads and keep the numbers."""
    for name in names:
        for size in sizes:
            found = measure(workload(name, size), check_result)
            _keep(name, size, found)
            print(f"{name} {size}: {found.instructions:,} warp instructions, {found.load_share:.1%} global loads", flush=True)


def _keep(name: str, size: str, found: Measured) -> None:
    document = json.loads(STORED.read_text()) if STORED.exists() else {}
    document.setdefault(name, {})[size] = asdict(found)
    kept = {n: {s: document[n][s] for s in SIZES if s in document[n]} for n in workloads() if n in document}
    STORED.write_text(json.dumps(kept, indent=1) + "\n")
