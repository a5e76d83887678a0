"""`simtlab run`: run a plan and say what each launch did and which arrays changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.cli.answer import FAULT, BadInput, Stopped
from simtlab.cli.plan import LaunchPlan, Plan
from simtlab.cli.progress import make_ready, show_cycles
from simtlab.cli.source import check_source, choose_kernel, open_module, registers_in_words
from simtlab.cli.tables import show_facts, show_table
from simtlab.cli.timing import Timing
from simtlab.cli.values import type_and_shape
from simtlab.errors import CycleLimit
from simtlab.lab.machines import Host

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.host.array import DeviceArray
    from simtlab.host.launch import Run
    from simtlab.host.module import Kernel
    from simtlab.machine.machine import Interrupted

FIRST_ELEMENTS = 8  # of a changed array, shown
CTRL_C = "Ctrl-C"


@dataclass(frozen=True)
class Launched:
    """What one launch, perhaps repeated, did."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    registers_from: str
    own_registers: int
    static_shared_bytes: int
    dynamic_shared_bytes: int
    repeat: int
    instructions: int
    seconds: float
    printed: str
    timing: Timing | None = None  # on a machine
    stopped: str = ""  # by Ctrl-C, or why it was given up

    @property
    def rate(self) -> float:
        """Million warp instructions a second."""
        return self.instructions / self.seconds / 1e6

    def as_json(self) -> dict[str, Any]:
        facts = {name: value for name, value in vars(self).items() if name not in ("timing", "stopped")}
        timing = {"timing": self.timing.as_json()} if self.timing else {}
        return {**facts, "million_instructions_per_second": self.rate, **timing}


@dataclass(frozen=True)
class Changed:
    """An array after the run, its changed elements counted."""

    name: str
    values: np.ndarray
    changed: int
    file: Path | None

    def first(self) -> list[Any]:
        return [shown(value) for value in self.values.ravel()[:FIRST_ELEMENTS]]

    def extremes(self) -> tuple[Any, Any]:
        """Least and greatest, NaNs left out unless there is nothing else."""
        numbers = self.values[~np.isnan(self.values)]
        numbers = numbers if numbers.size else self.values
        return shown(numbers.min()), shown(numbers.max())

    def as_json(self) -> dict[str, Any]:
        least, greatest = self.extremes()
        return {
            "name": self.name,
            "type": type_and_shape(self.values.dtype, self.values.shape),
            "changed": self.changed,
            "min": least,
            "max": greatest,
            "first": self.first(),
            "file": str(self.file) if self.file else None,
        }


def shown(value: np.generic) -> Any:
    """A number as JSON has it; infinities and NaN, which JSON has not, as text."""
    number = value.item()
    if isinstance(number, float):
        return number if np.isfinite(number) else str(number)
    return number


def run_plan(plan: Plan, host: Host) -> RunAnswer:
    """Compile, make the arrays, launch, write the files."""
    check_source(plan.source, plan.include)
    gpu = plan.machine.build(host)
    gpu.watch = show_cycles
    module = open_module(gpu, plan.source, [launch.kernel for launch in plan.launches], plan.options, plan.include)
    kernels = [choose_kernel(module, launch.kernel, plan.source) for launch in plan.launches]
    arrays = {
        name: text.place(gpu, name, (plan.seed, number)) for number, (name, text) in enumerate(plan.arrays.items())
    }
    before = {name: array.numpy() for name, array in arrays.items()}
    make_ready(timed=gpu.machine is not None)
    launched = []
    for kernel, asked in zip(kernels, plan.launches, strict=True):
        launched.append(launch(kernel, asked, arrays, plan))
        if launched[-1].stopped == CTRL_C:
            raise Stopped(RunAnswer(plan, launched, []))
        if launched[-1].stopped:
            return RunAnswer(plan, launched, [])
    changed = []
    for name, array in arrays.items():
        values = array.numpy()
        changed.append(Changed(name, values, differences(before[name], values), plan.outputs.get(name)))
        write(changed[-1])
    return RunAnswer(plan, launched, changed)


def launch(kernel: Kernel, asked: LaunchPlan, arrays: Mapping[str, DeviceArray], plan: Plan) -> Launched:
    """Launch a kernel as often as asked, or until Ctrl-C or the limit of cycles stops a machine."""
    arguments = [arrays[value] if isinstance(value, str) else value for value in asked.arguments]
    runs: list[Run] = []
    stop: Interrupted | CycleLimit | None = None
    begin = time.perf_counter()
    try:
        for _ in range(asked.repeat):
            runs.append(kernel(asked.grid, asked.block, arguments, shared=asked.shared))
    except KeyboardInterrupt as interrupt:
        stop = as_interrupted(interrupt)
    except CycleLimit as limit:
        stop = limit
    seconds = time.perf_counter() - begin
    return summary(kernel, asked, runs, seconds, plan, stop)


def as_interrupted(interrupt: KeyboardInterrupt) -> Interrupted:
    """Ctrl-C in the middle of a timed launch; any other is raised again."""
    from simtlab.machine.machine import Interrupted

    if not isinstance(interrupt, Interrupted):
        raise interrupt
    return interrupt


def summary(
    kernel: Kernel, asked: LaunchPlan, runs: list[Run], seconds: float, plan: Plan, stop: Interrupted | CycleLimit | None
) -> Launched:
    from simtlab.host.launch import MAX_BLOCK, MAX_GRID, triple
    from simtlab.host.module import plain_name

    timed = [(kernel.program, run.timing) for run in runs if run.timing] + ([(stop.program, stop.run)] if stop else [])
    machine = kernel.module.gpu.machine
    return Launched(
        kernel=asked.kernel or plain_name(kernel.name),
        grid=triple(asked.grid, "grid", MAX_GRID),
        block=triple(asked.block, "block", MAX_BLOCK),
        registers=kernel.program.registers,
        registers_from=kernel.program.registers_from,
        own_registers=kernel.program.own_registers,
        static_shared_bytes=kernel.shared_bytes,
        dynamic_shared_bytes=asked.shared,
        repeat=len(runs) + (stop is not None),
        instructions=sum(run.instructions for run in runs) + (stop.run.instructions if stop else 0),
        seconds=seconds,
        printed="".join(run.printed for run in runs),
        timing=Timing(plan.machine, machine, timed) if machine else None,
        stopped="" if stop is None else str(stop) if isinstance(stop, CycleLimit) else CTRL_C,
    )


def differences(before: np.ndarray, after: np.ndarray) -> int:
    """How many elements changed, compared bit by bit: a NaN that stays is no change, a zero that changes sign is."""
    bits = f"u{before.itemsize}"
    return int(np.count_nonzero(before.view(bits) != after.view(bits)))


def write(array: Changed) -> None:
    if array.file is None:
        return
    try:
        with open(array.file, "wb") as file:
            np.save(file, array.values)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot write {array.file}: {getattr(error, 'strerror', None) or error}") from None


@dataclass(frozen=True)
class RunAnswer:
    """What a plan's launches did."""

    plan: Plan
    launches: list[Launched]
    arrays: list[Changed]

    @property
    def timing(self) -> Timing | None:
        """Of all launches together."""
        first = self.launches[0].timing
        runs = [run for done in self.launches if done.timing for run in done.timing.runs]
        return Timing(first.choice, first.machine, runs) if first else None

    @property
    def stopped(self) -> str:
        return self.launches[-1].stopped

    @property
    def status(self) -> int:
        return FAULT if self.stopped else 0

    @property
    def error(self) -> str:
        """Why a launch was given up; Ctrl-C is no error."""
        return "" if self.stopped == CTRL_C else self.stopped

    def as_json(self) -> dict[str, Any]:
        stopped = {"interrupted": True} if self.stopped == CTRL_C else {"error": self.error} if self.error else {}
        source = {"source": str(self.plan.source), **stopped}
        arrays = [array.as_json() for array in self.arrays]
        if not self.plan.from_file:
            return {**source, **self.launches[0].as_json(), "arrays": arrays}
        launches = [launched.as_json() for launched in self.launches]
        total = {"timing": self.timing.as_json()} if self.timing else {}
        return {**source, "launches": launches, **total, "arrays": arrays}

    def show(self, console: Console) -> None:
        if self.stopped:
            console.print(f"stopped {'at the limit of cycles' if self.error else 'by Ctrl-C'}; until then:")
        if self.plan.from_file:
            self._show_launches(console)
        else:
            self._show_launch(console)
        if self.timing:
            console.print()
            self.timing.show(console)
        changed = [array for array in self.arrays if array.changed]
        if changed:
            console.print()
            show_table(console, ["array", "type", "changed", "min", "max", "first elements"],
                       [_array_row(array) for array in changed], right=(2, 3, 4))  # fmt: skip
        for array in self.arrays:
            if array.file is not None:
                console.print(f"wrote {array.file}", soft_wrap=True)

    def _show_launch(self, console: Console) -> None:
        done = self.launches[0]
        facts = [
            ("kernel", done.kernel),
            ("grid", _size(done.grid)),
            ("block", _size(done.block)),
            ("registers", registers_in_words(done.registers, done.registers_from, done.own_registers)),
            ("shared memory", _shared(done)),
            ("warp instructions", f"{done.instructions:,}"),
            ("seconds", f"{done.seconds:.3g}"),
            ("rate", f"{done.rate:.3g} million warp instructions a second"),
        ]
        show_facts(console, facts)

    def _show_launches(self, console: Console) -> None:
        header = ["kernel", "grid", "block", "times", "registers", "shared bytes", "warp instructions", "seconds", "million/s"]
        if self.timing:
            header += ["cycles", "ipc"]
        rows = [
            [
                done.kernel, _size(done.grid), _size(done.block), str(done.repeat), str(done.registers),
                str(done.static_shared_bytes + done.dynamic_shared_bytes), f"{done.instructions:,}",
                f"{done.seconds:.3g}", f"{done.rate:.3g}",
                *([f"{done.timing.cycles:,}", f"{done.timing.ipc:.3g}"] if done.timing else []),
            ]
            for done in self.launches
        ]  # fmt: skip
        show_table(console, header, rows, right=range(3, len(header)))


def _size(size: tuple[int, int, int]) -> str:
    """Without the ones at the end: 4096, 64x64."""
    x, y, z = size
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else str(x)


def _shared(done: Launched) -> str:
    dynamic = f", {done.dynamic_shared_bytes} dynamic" if done.dynamic_shared_bytes else ""
    return f"{done.static_shared_bytes} bytes a block{' static' if dynamic else ''}{dynamic}"


def _array_row(array: Changed) -> list[str]:
    least, greatest = array.extremes()
    more = " …" if array.values.size > FIRST_ELEMENTS else ""
    elements = " ".join(_number(value) for value in array.first()) + more
    type = type_and_shape(array.values.dtype, array.values.shape)
    return [array.name, type, f"{array.changed:,}", _number(least), _number(greatest), elements]


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
