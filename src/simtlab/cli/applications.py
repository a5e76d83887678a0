"""`simtlab exec`: run a whole application, and show what its kernels did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simtlab.cli.tables import show_table
from simtlab.cli.timing import Timing
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.host.gpu import Gpu
    from simtlab.runtime.session import Launched


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
        return {**row, "cycles": run.cycles, "stalls": run.stalls} if self.gpu.machine else row

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
        header = ["kernel", "launches", "warp instructions", *(["cycles", "ipc", "stalled most by"] if timed else [])]
        show_table(console, header, list(self._rows(timed)), right=range(1, 5 if timed else 3))
        if timed:
            console.print()
            self._timing().show(console)

    def _rows(self, timed: bool) -> Iterator[list[str]]:
        """A row for each kernel, in the order of their first launches."""
        for name in dict.fromkeys(one.program.readable_name for one in self.launches):
            runs = [one.run for one in self.launches if one.program.readable_name == name]
            instructions = sum(run.instructions for run in runs)
            row = [name, f"{len(runs):,}", f"{instructions:,}"]
            if timed:
                cycles = sum(run.cycles for run in runs)
                waits: dict[str, int] = {}
                for run in runs:
                    for cause, count in run.stalls.items():
                        waits[cause] = waits.get(cause, 0) + count * (cause not in ("issued", "empty"))
                worst = max(waits, key=lambda cause: waits[cause])
                row += [f"{cycles:,}", f"{instructions / cycles:.3g}" if cycles else "", worst.replace("_", " ")]
            yield row


def execute(command: Sequence[str], choice: MachineChoice, host: Host, to_stderr: bool) -> ApplicationAnswer:
    """Run an application; with `to_stderr` what it prints goes there."""
    import signal

    from simtlab.cli.progress import show_cycles
    from simtlab.runtime.application import run_application
    from simtlab.runtime.session import Log

    gpu = choice.build(replace(host, memory_in_file=True))
    gpu.watch = show_cycles
    log = Log()
    status = run_application(command, gpu, log, to_stderr)
    if status >= 0:
        return ApplicationAnswer(command, status, log.launches, choice, gpu)
    return ApplicationAnswer(command, 128 - status, log.launches, choice, gpu, signal.Signals(-status).name)
