"""`simtlab exec`: run a whole application, and show what its kernels did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import BadInput
from simtlab.cli.tables import show_table
from simtlab.cli.timing import Timing
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.runtime.session import Launched, Selection


@dataclass(frozen=True)
class ApplicationAnswer:
    """An application's launches, and how it ended."""

    command: Sequence[str]
    status: int
    launches: Sequence[Launched]
    choice: MachineChoice
    gpu: Gpu
    killed_by: str = ""

    @property
    def error(self) -> str:
        return f"{self.command[0]} was ended by {self.killed_by}" if self.killed_by else ""

    def as_json(self) -> dict[str, Any]:
        found = {"command": list(self.command), "exit": self.status, "killed_by": self.killed_by or None,
                 "launches": [self._row(one) for one in self.launches]}  # fmt: skip
        return {**found, **(self._timing().as_json() if self.gpu.machine else {})}

    def _row(self, one: Launched) -> dict[str, Any]:
        run = one.run
        shape = {"grid": list(run.grid), "block": list(run.block)}
        row = {"kernel": one.program.readable_name, **shape, "instructions": run.instructions}
        return {**row, "cycles": run.cycles, "stalls": run.stalls} if run.timing is not None else row

    def _timing(self) -> Timing:
        assert self.gpu.machine is not None
        runs = [(one.program, one.run.timing) for one in self.launches if one.run.timing is not None]
        return Timing(self.choice, self.gpu.machine, runs)

    def show(self, console: Console) -> None:
        """On stderr: stdout is the application's."""
        from rich.console import Console as AnyConsole

        console = AnyConsole(stderr=True, highlight=False, markup=False, emoji=False)
        if not self.launches:
            console.print("no kernel was launched")
            return
        timed = self.gpu.machine is not None
        header = ["kernel", "launches", "warp instructions", *(["timed", "cycles", "ipc", "stalled most by"] if timed else [])]
        show_table(console, header, list(self._rows(timed)), right=range(1, 6 if timed else 3))
        timing = self._timing() if timed else None
        if timing is not None and timing.runs:
            console.print()
            timing.show(console)

    def _rows(self, timed: bool) -> Iterator[list[str]]:
        """A row for each kernel, in the order of their first launches."""
        for name in dict.fromkeys(one.program.readable_name for one in self.launches):
            runs = [one.run for one in self.launches if one.program.readable_name == name]
            instructions = sum(run.instructions for run in runs)
            row = [name, f"{len(runs):,}", f"{instructions:,}"]
            yield row + (timed_cells([run for run in runs if run.timing is not None]) if timed else [])


def timed_cells(runs: Sequence[Run]) -> list[str]:
    """How many launches were timed, their cycles and IPC, and what they were stalled by most."""
    if not runs:
        return ["0", "", "", ""]
    cycles, waits = sum(run.cycles for run in runs), dict.fromkeys(runs[0].stalls, 0)
    for run in runs:
        for cause, count in run.stalls.items():
            waits[cause] += count * (cause not in ("issued", "empty"))
    worst = max(waits, key=lambda cause: waits[cause])
    ipc = sum(run.instructions for run in runs) / cycles if cycles else 0.0
    return [f"{len(runs):,}", f"{cycles:,}", f"{ipc:.3g}", worst.replace("_", " ")]


def read_selection(kernels: str, launches: str, timed: bool) -> Selection:
    """`--kernels REGEX --launches 3:10`; an error says what is wrong with them."""
    from simtlab.runtime.session import Selection

    if (kernels or launches) and not timed:
        raise BadInput("--kernels and --launches say what is timed, and need a machine: add --gpu, for example --gpu caps-gtx480")
    try:
        re.compile(kernels)
    except re.error as problem:
        raise BadInput(f"--kernels '{kernels}' is no regular expression: {problem}") from None
    found = re.fullmatch(r"(\d*)(:?)(\d*)", launches)
    if found is None:
        raise BadInput(f"--launches is '{launches}'; it must be a launch or a range of them, counted from 1: 3, 3:10, 3: or :10")
    first = int(found[1] or 1)
    last = int(found[3]) if found[3] else first if found[1] and not found[2] else None
    if first < 1 or (last is not None and last < first):
        raise BadInput(f"--launches is '{launches}'; launches are counted from 1, and the first comes before the last")
    return Selection(kernels, first, last)


def execute(
    command: Sequence[str],
    choice: MachineChoice,
    host: Host,
    to_stderr: bool,
    selection: Selection | None = None,
    strict: bool = False,
    races: bool = False,
) -> ApplicationAnswer:
    """Run an application; with `to_stderr` what it prints goes there."""
    import signal

    from simtlab.cli.progress import show_cycles
    from simtlab.runtime.application import run_application
    from simtlab.runtime.session import Log, Selection

    gpu = choice.build(replace(host, memory_in_file=True))
    gpu.watch = show_cycles
    log = Log(selection=selection or Selection(), strict=strict, races=races)
    status = run_application(command, gpu, log, to_stderr)
    if status >= 0:
        return ApplicationAnswer(command, status, log.launches, choice, gpu)
    return ApplicationAnswer(command, 128 - status, log.launches, choice, gpu, signal.Signals(-status).name)
