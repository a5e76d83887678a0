"""Run a workload: make its inputs, carry out its launches, check what they computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.host.explained import Explained
from simtlab.workloads.check import check
from simtlab.workloads.errors import WorkloadError, WrongResult
from simtlab.workloads.files import read_input
from simtlab.workloads.loading import KERNELS, find, load, parameter_names, workloads

if TYPE_CHECKING:
    from simtlab.host.array import DeviceArray
    from simtlab.host.gpu import Gpu, Stream
    from simtlab.host.launch import Run
    from simtlab.host.module import Module
    from simtlab.program.program import Program
    from simtlab.report.profile import LaunchProfile

__all__ = ["Launcher", "Workload", "WorkloadRun", "WrongResult", "workload", "workloads"]


class Launcher:
    """What a workload's `run` works with: the GPU, its compiled kernels, and a record of every launch."""

    def __init__(self, gpu: Gpu, module: Module):
        self.gpu, self.module = gpu, module
        self.stream: Stream | None = None
        self.launches: list[Run] = []
        self.dynamic_shared: list[int] = []  # bytes a CTA, launch by launch
        self._arrays: list[DeviceArray] = []

    def array(self, values: Any, dtype: Any = None, label: str = "") -> DeviceArray:
        """Copy an array to the device; it lives as long as the workload runs."""
        return self._kept(self.gpu.array(values, dtype, label))

    def zeros(self, shape: int | Sequence[int], dtype: Any = "f4", label: str = "") -> DeviceArray:
        """Device memory filled with zeros."""
        return self._kept(self.gpu.zeros(shape, dtype, label))

    def launch(
        self,
        kernel: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        shared: int = 0,
    ) -> Run:
        """Launch a kernel by its name, with `shared` bytes of dynamic shared memory a CTA."""
        run = self.module[kernel](grid, block, args, shared=shared, stream=self.stream)
        self.launches.append(run)
        self.dynamic_shared.append(shared)
        return run

    def free(self) -> None:
        """Give back what `array` and `zeros` took and `run` has not freed itself."""
        for array in self._arrays:
            if self.gpu.memory.holds(array._allocation):
                array.free()
        self._arrays.clear()

    def _kept(self, array: DeviceArray) -> DeviceArray:
        self._arrays.append(array)
        return array


@dataclass
class WorkloadRun(Explained):
    """What a workload's launches did."""

    name: str
    size: str
    launches: list[Run] = field(repr=False)
    outputs: dict[str, np.ndarray] = field(repr=False)
    checked: bool
    dynamic_shared: list[int] = field(repr=False)  # bytes a CTA, launch by launch
    module: Module = field(repr=False)  # to ask it for a kernel's registers and shared memory

    def program_of(self, launch: Run) -> Program:
        """The kernel that was launched."""
        return self.module[launch.kernel].program

    def figures(self) -> list[LaunchProfile]:
        """What was measured of each launch, or of each kernel where there are many; see `report/profile.py`."""
        from simtlab.report.profile import by_kernel

        return by_kernel([one for launch in self.launches for one in launch.figures()])

    @property
    def instructions(self) -> int:
        """Warp instructions executed, all launches together."""
        return sum(run.instructions for run in self.launches)

    @property
    def cycles(self) -> int:
        """Core cycles, all launches together; an error after a functional run, which has none."""
        return sum(run.cycles for run in self.launches)


@dataclass(frozen=True)
class Workload:
    """A program with its input at one size."""

    name: str
    size: str
    folder: Path
    definition: ModuleType = field(repr=False)
    parameters: Mapping[str, Any]
    files: Mapping[str, str | PathLike]
    seed: int

    @property
    def suite(self) -> str:
        return self.definition.SUITE

    @property
    def category(self) -> str:
        return self.definition.CATEGORY

    def inputs(self) -> dict[str, Any]:
        """The input: generated from the seed, or read from the files given."""
        read = {name: read_input(path, self.definition.FILES[name]) for name, path in self.files.items()}
        return self.definition.inputs(seed=self.seed, **self.parameters, **read)

    def compile(self, gpu: Gpu, rewrite: Callable[[str], str] | None = None) -> Module:
        """Its kernels on a GPU. `rewrite` changes the PTX on the way, to measure something."""
        source, options, names = self.folder / KERNELS, self.definition.OPTIONS, self.definition.KERNEL_NAMES
        if rewrite is None:
            return gpu.compile(source, options=options, names=names)
        from simtlab.frontend.cuda import compile_cuda
        from simtlab.frontend.parser import parse
        from simtlab.host.module import Module

        compiled = compile_cuda(source.read_text(), str(source), options, [str(self.folder)], names)
        return Module(gpu, parse(rewrite(compiled.ptx), "kernel.ptx"), compiled.names)

    def run(
        self, gpu: Gpu, check_result: bool = True, launcher_for: Callable[[Gpu, Module], Launcher] = Launcher
    ) -> WorkloadRun:
        """Run every launch; WrongResult unless the outputs are what the reference says."""
        data = self.inputs()
        launcher = launcher_for(gpu, self.compile(gpu))
        try:
            outputs = self.definition.run(launcher, data)
        finally:
            launcher.free()
        if check_result:
            who = f"{self.name} at size {self.size}"
            check(who, outputs, self.definition.reference(data), self.definition.TOLERANCE)
        launched = (launcher.launches, outputs, check_result, launcher.dynamic_shared, launcher.module)
        return WorkloadRun(self.name, self.size, *launched)


def workload(
    name: str | PathLike,
    size: str = "small",
    *,
    seed: int = 0,
    files: Mapping[str, str | PathLike] | None = None,
    **parameters: Any,
) -> Workload:
    """A workload by its name, by an alias that a paper uses for it, or by the path of its folder.

    `files` are inputs of your own instead of generated ones (`files={"graph": "road.gr"}`); other keywords change single
    parameters of the size.
    """
    folder = find(name)
    definition = load(folder)
    called = definition.NAME
    if size not in definition.SIZES:
        raise WorkloadError(f"{called} has no size '{size}'; its sizes are {', '.join(definition.SIZES)}")
    for given in files or {}:
        if given not in definition.FILES:
            takes = ", ".join(f"{key} (a {kind})" for key, kind in definition.FILES.items()) or "none"
            raise WorkloadError(f"{called} takes no input file '{given}'; it takes {takes}")
    known = parameter_names(definition)
    for given in parameters:
        if given not in known:
            raise WorkloadError(f"{called} has no parameter '{given}'; its parameters are {', '.join(known) or 'none'}")
    chosen = {**definition.SIZES[size], **parameters}
    return Workload(called, size, folder, definition, chosen, dict(files or {}), seed)
