"""What each workload's run amounts to: launches, warp instructions, global loads, the shapes of its kernels.

The numbers are kept in `measured.json`; `python -m simtlab.workloads.measured` measures again and writes it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from simtlab.workloads.counting import COUNTER, with_counted_loads
from simtlab.workloads.frame import Workload, WorkloadRun, workload, workloads

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

STORED = Path(__file__).with_name("measured.json")
MEASURED_SIZES = ("tiny", "small")  # `paper` takes too long


@dataclass(frozen=True)
class KernelShape:
    """One of a workload's kernels as it was launched; where launches differ, the least and the most CTAs."""

    name: str
    launches: int
    ctas: tuple[int, int]
    threads: int  # of a CTA, at most
    registers: int  # of a thread
    shared_bytes: int  # of a CTA, static and dynamic, at most


@dataclass(frozen=True)
class Measured:
    """A workload's run at one size."""

    launches: int
    instructions: int  # of warps
    global_loads: int  # those of them that are ld.global
    kernels: tuple[KernelShape, ...]

    @property
    def load_share(self) -> float:
        """Global loads among the warp instructions."""
        return self.global_loads / self.instructions


def measure(program: Workload) -> Measured:
    """Run a workload twice: as it is, and with its loads counted. On one thread, so that races go one way."""
    from simtlab.host.gpu import Gpu

    run = program.run(Gpu(threads=1))
    return Measured(len(run.launches), run.instructions, count_loads(program, Gpu(threads=1)), shapes(run))


def count_loads(program: Workload, gpu: Gpu) -> int:
    """How many warp instructions `ld.global` it executes."""
    run = program.run(gpu, check_result=False, rewrite=with_counted_loads)
    return int(run.module.variable(COUNTER)[0])


def shapes(run: WorkloadRun) -> tuple[KernelShape, ...]:
    """A run's kernels in the order of their first launches."""
    from simtlab.host.module import plain_name

    found = []
    for name in dict.fromkeys(launch.kernel for launch in run.launches):
        launches = [launch for launch in run.launches if launch.kernel == name]
        ctas = [x * y * z for x, y, z in (launch.grid for launch in launches)]
        threads = max(x * y * z for x, y, z in (launch.block for launch in launches))
        dynamic = max(bytes for launch, bytes in zip(run.launches, run.dynamic_shared, strict=True) if launch.kernel == name)
        kernel = run.module[name]
        shared = kernel.shared_bytes + dynamic
        found.append(KernelShape(plain_name(name), len(launches), (min(ctas), max(ctas)), threads, kernel.registers, shared))
    return tuple(found)


@cache
def stored() -> dict[str, dict[str, Measured]]:
    """The numbers kept in the package, by workload and size."""
    document = json.loads(STORED.read_text())
    return {name: {size: from_json(row) for size, row in sizes.items()} for name, sizes in document.items()}


def from_json(row: dict) -> Measured:
    kernels = tuple(KernelShape(**{**kernel, "ctas": tuple(kernel["ctas"])}) for kernel in row["kernels"])
    return Measured(row["launches"], row["instructions"], row["global_loads"], kernels)


def measure_again(names: Sequence[str]) -> None:
    """Measure these workloads and keep the numbers."""
    document = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in names:
        document[name] = {size: asdict(measure(workload(name, size))) for size in MEASURED_SIZES}
        print(name, *(f"{size} {document[name][size]['instructions']:,}" for size in MEASURED_SIZES))
    kept = {name: document[name] for name in workloads() if name in document}
    STORED.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    measure_again(sys.argv[1:] or workloads())
