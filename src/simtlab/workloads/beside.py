"""Two programs on one GPU at once, each in a stream of its own: an urgent one comes while another runs.

A program is written as if it were alone: it launches, and reads what came of it. Launches in a stream wait until the host looks at
memory. When the first program is about to do so, the other one begins, and what both have launched by then runs side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simtlab.host.memory import nothing_waits
from simtlab.workloads.frame import Launcher, Workload, WorkloadRun

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.host.module import Module
    from simtlab.program.program import Program


@dataclass(frozen=True)
class RunBeside:
    """What two programs launched on one GPU."""

    first: WorkloadRun
    other: WorkloadRun

    @property
    def launches(self) -> list[Run]:
        return [*self.first.launches, *self.other.launches]

    def program_of(self, launch: Run) -> Program:
        of_other = any(launch is one for one in self.other.launches)
        return (self.other if of_other else self.first).program_of(launch)

    @property
    def other_cycles(self) -> int:
        """Cycles from the arrival of each launch of the other program to its end, added up."""
        return sum(launch.cycles for launch in self.other.launches)


class BeginsAnother(Launcher):
    """Launches in a stream, and lets another program begin before the host looks at what was launched."""

    def __init__(self, gpu: Gpu, module: Module, begin: Callable[[], None]):
        super().__init__(gpu, module)
        self.stream, self.begin, self.has_begun = gpu.stream(), begin, False

    def launch(self, kernel: str, grid: Any, block: Any, args: Sequence[Any] = (), shared: int = 0) -> Run:
        run = super().launch(kernel, grid, block, args, shared)
        if not self.has_begun:
            self.gpu.memory.settle = self.begin_now
        return run

    def begin_now(self) -> None:
        self.has_begun = True
        self.gpu.memory.settle = nothing_waits  # what the other one makes ready is its own: nothing need run before
        self.begin()
        self.gpu.synchronize()


def run_beside(first: Workload, other: Workload, gpu: Gpu, priority: int = 1, delay_cycles: int = 0) -> RunBeside:
    """Run both, the other one in a stream of this priority whose launches come so many cycles later; both results are checked."""
    runs: list[WorkloadRun] = []

    def in_its_stream(gpu: Gpu, module: Module) -> Launcher:
        launcher = Launcher(gpu, module)
        launcher.stream = gpu.stream(priority, delay_cycles)
        return launcher

    def begin() -> None:
        runs.append(other.run(gpu, launcher_for=in_its_stream))

    found = first.run(gpu, launcher_for=lambda gpu, module: BeginsAnother(gpu, module, begin))
    if not runs:  # the first one has launched nothing
        begin()
    return RunBeside(found, runs[0])
