"""`simtlab profile`: run something on a machine and write a page about it; and `--trace` of `simtlab run`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.plan import Options
from simtlab.cli.workloads import WorkloadOptions, run_program_or_workload
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.machine.watch import Watch
    from simtlab.report.profile import LaunchProfile

Window = tuple[int, int, int, bool]  # a core, the first and the last cycle, whether from the first issue on
INTERVAL_CYCLES = 64  # of the curves over time, doubled where a run is long
WINDOW = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True)
class Target:
    """What is to be run: a file with its options, or a workload with its own."""

    file: Path
    program: Options
    of_workload: WorkloadOptions
    seed: int

    def machine(self, chosen: MachineChoice) -> MachineChoice:
        """The machine it runs on: a .toml of launches can say what is not chosen."""
        if self.file.suffix != ".toml":
            return chosen
        from simtlab.cli.launches import read_launches

        return chosen.over(read_launches(self.file, self.seed).machine)

    def run(self, machine: MachineChoice, host: Host, as_json: bool) -> Answer:
        return run_program_or_workload(self.file, self.program, self.of_workload, machine, self.seed, host, as_json)


@dataclass
class Look:
    """What a GPU is prepared with so that its launches can be looked at."""

    window: Window | None = None
    has_curves: bool = True  # the curves over time are to be fine
    runs: list[Run] = field(default_factory=list)
    watch: Watch | None = None
    gpu: Gpu | None = None  # kept: it has the curves over time

    def prepare(self, gpu: Gpu) -> None:
        self.gpu = gpu
        gpu.on_launch = self.runs.append
        if gpu.machine is None:
            return
        if self.has_curves:
            gpu.machine.interval_cycles = INTERVAL_CYCLES
        if self.window is not None:
            from simtlab.machine.watch import Watch

            core, cores = self.window[0], gpu.machine.config.core.cores
            if not 0 <= core < cores:
                raise BadInput(f"--core is {core}; the cores of this machine are 0 to {cores - 1}")
            gpu.machine.watch = self.watch = Watch(*self.window)

    def on(self, host: Host) -> Host:
        return replace(host, prepare=self.prepare)

    def figures(self) -> list[LaunchProfile]:
        from simtlab.report.profile import by_kernel

        timed = [run for run in self.runs if run.timing is not None]
        if not timed:
            raise BadInput("nothing was launched, so there is nothing to show")
        return by_kernel([one for run in timed for one in run.figures()])


def read_window(core: int, window: str | None, usual: int) -> Window:
    """`--core 0 --window 10000:12000`; without a window, so many cycles from the first issue on."""
    if window is None:
        return core, 0, usual, True
    found = WINDOW.fullmatch(window)
    if found is None or int(found[1]) >= int(found[2]):
        raise BadInput(f"--window is '{window}'; it must be two core cycles, the lower first: 10000:12000")
    return core, int(found[1]), int(found[2]), False


Measure = Callable[[], "list[LaunchProfile]"]


def measured(target: Target, machine: MachineChoice, host: Host, as_json: bool) -> list[LaunchProfile]:
    """Run it, and what its launches came to."""
    look = Look()
    target.run(machine, look.on(host), as_json)
    return look.figures()


def profile(name: str, title: str, page: Path | None, measure: Measure, baseline: Measure | None) -> ProfileAnswer:
    """Measure something, and what it is to be compared with if there is that; write the page."""
    from simtlab.report.advice import advice
    from simtlab.report.page import write_page

    path = page or Path(f"{name}.html")
    check_writable(path)
    figures = measure()
    write_page(path, figures, title, baseline() if baseline is not None else (), advice)
    return ProfileAnswer(path, figures)


def check_writable(path: Path) -> None:
    """Before anything runs for minutes."""
    if path.is_dir():
        raise BadInput(f"cannot write {path}: it is a folder")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise BadInput(f"cannot write {path}: {path.parent} is no folder that can be written to")


@dataclass(frozen=True)
class ProfileAnswer:
    """What is said beside the page."""

    path: Path
    figures: Sequence[LaunchProfile]

    def as_json(self) -> dict[str, Any]:
        from simtlab.report.advice import advice

        launches = [
            {"kernel": one.kernel, "grid": list(one.grid), "block": list(one.block), "launches": one.launches, "cycles": one.cycles,
             "instructions": one.instructions, "ipc": one.ipc, "stalls": dict(one.stalls),
             "advice": [{"rule": each.rule, "sentence": each.sentence, "lines": [list(line) for line in each.lines]}
                        for each in advice(one)]}
            for one in self.figures
        ]  # fmt: skip
        return {"page": str(self.path), "launches": launches}

    def show(self, console: Console) -> None:
        from simtlab.report.advice import explain

        for one in self.figures:
            console.print(explain(one), soft_wrap=True)
            console.print()
        console.print(f"wrote {self.path}: open it in a browser", soft_wrap=True)


def traced(target: Target, machine: MachineChoice, host: Host, trace: Path, look: Look, as_json: bool) -> Answer:
    """Run it as `simtlab run` does, and write a trace of the window."""
    from simtlab.report.trace import write_trace

    if target.machine(machine).gpu is None:
        raise BadInput("--trace is for timed runs and needs a machine: add --gpu, for example --gpu caps-gtx480")
    check_writable(trace)
    found = target.run(machine, look.on(host), as_json)
    assert look.watch is not None
    write_trace(look.watch, trace)
    return Traced(found, trace, len(look.watch.cycles))


@dataclass(frozen=True)
class Traced:
    """What the run came to, and where its trace is."""

    run: Answer
    path: Path
    cycles: int

    @property
    def status(self) -> int:
        return getattr(self.run, "status", 0)

    @property
    def error(self) -> str:
        return getattr(self.run, "error", "")

    def as_json(self) -> dict[str, Any]:
        return {**self.run.as_json(), "trace": str(self.path), "traced_cycles": self.cycles}

    def show(self, console: Console) -> None:
        self.run.show(console)
        console.print(f"\nwrote {self.path}: {self.cycles:,} cycles, for ui.perfetto.dev", soft_wrap=True)


def watched(
    target: Target, machine: MachineChoice, host: Host, window: Window, page: Path | None, as_json: bool
) -> WatchAnswer:
    """Run it with a core looked at, and write a page if one is wanted."""
    from simtlab.report.watch_view import MOST_PAGE_CYCLES, write_watch_page

    if page is not None:
        check_writable(page)
        if window[2] - window[1] > MOST_PAGE_CYCLES:
            raise BadInput(f"a page holds at most {MOST_PAGE_CYCLES:,} cycles; choose a shorter --window")
    look = Look(window)
    target.run(machine, look.on(host), as_json)
    assert look.watch is not None
    if not look.watch.cycles:
        raise BadInput(f"the run ended before cycle {window[1]:,}: choose an earlier --window")
    if page is not None:
        write_watch_page(look.watch, page, f"{target.file.stem} on {machine}, core {window[0]}")
    return WatchAnswer(look.watch, page)


@dataclass(frozen=True)
class WatchAnswer:
    """The cycles of a window."""

    watch: Watch
    page: Path | None

    def as_json(self) -> dict[str, Any]:
        from simtlab.report.watch_view import data_of

        return {**data_of(self.watch), **({"page": str(self.page)} if self.page else {})}

    def show(self, console: Console) -> None:
        from simtlab.report.watch_view import lines_of

        if self.page is not None:
            console.print(f"wrote {self.page}: {len(self.watch.cycles):,} cycles to step through in a browser", soft_wrap=True)
            return
        for line in lines_of(self.watch):
            console.print(line, soft_wrap=True)
