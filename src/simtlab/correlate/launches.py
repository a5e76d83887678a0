"""Which launches of a case are measured, and what each was launched with: of every kernel the one that executes most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simtlab.correlate.cases import Case
from simtlab.host.gpu import Gpu
from simtlab.host.module import Module, plain_name

if TYPE_CHECKING:
    from simtlab.host.launch import Run, Starting

MOST_KERNELS = 4  # of a case, those that execute most


@dataclass(frozen=True)
class Chosen:
    """A launch of a case: the number of it among all its launches."""

    case: Case
    number: int
    kernel: str
    instructions: int  # that warps execute

    @property
    def name(self) -> str:
        return self.case.name if self.case.is_micro else f"{self.case.name}/{self.kernel}"


def choose(case: Case, isa: str) -> list[Chosen]:
    """Run a case functionally and take of each kernel the launch with the most instructions, in the order of their numbers."""
    gpu, runs = Gpu(isa=isa), list[Any]()
    gpu.on_launch = runs.append
    case.run(gpu)
    best: dict[str, Chosen] = {}
    for number, run in enumerate(runs):
        kernel = plain_name(run.kernel)
        if kernel not in best or run.instructions > best[kernel].instructions:
            best[kernel] = Chosen(case, number, kernel, run.instructions)
    most = sorted(best.values(), key=lambda one: -one.instructions)[:MOST_KERNELS]
    return sorted(most, key=lambda one: one.number)


@dataclass
class SelectedLaunches:
    """Runs a case and is told of the chosen launches when all before them have run."""

    chosen: list[Chosen]
    gpu: Gpu
    before: Callable[[Chosen, Starting], None] = lambda *_: None
    runs: dict[str, Run] = field(default_factory=dict)
    modules: list[Module] = field(default_factory=list)
    _number: int = -1

    def run(self) -> dict[str, Run]:
        """What the chosen launches came to; where the GPU has a machine, they alone are timed, each from empty caches."""
        numbers = {one.number: one for one in self.chosen}
        compile_as_before = self.gpu.compile

        def starting(launch: Starting) -> bool:
            self._number += 1
            if self._number not in numbers:
                return False
            self.before(numbers[self._number], launch)
            if self.gpu.machine is not None:
                self.gpu.machine.reset()
            return True

        def ended(run: Run) -> None:
            if self._number in numbers:
                self.runs[numbers[self._number].name] = run

        def compiled(*given: Any, **more: Any) -> Module:
            self.modules.append(compile_as_before(*given, **more))
            return self.modules[-1]

        self.gpu.before_launch, self.gpu.on_launch, self.gpu.compile = starting, ended, compiled  # type: ignore[method-assign]
        self.chosen[0].case.run(self.gpu)
        return self.runs

    def module_of(self, launch: Starting) -> Module:
        return next(module for module in self.modules if launch.program in module.programs)
