"""`simtlab exec`: run a whole application, and show what its kernels did."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import BadInput
from simtlab.cli.tables import show_table
from simtlab.cli.timing import Timing
from simtlab.errors import SimtlabError
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
    checkpoint: Path | None = None  # that was written

    @property
    def error(self) -> str:
        return f"{self.command[0]} was ended by {self.killed_by}" if self.killed_by else ""

    def as_json(self) -> dict[str, Any]:
        found = {"command": list(self.command), "exit": self.status, "killed_by": self.killed_by or None,
                 "launches": [self._row(one) for one in self.launches]}  # fmt: skip
        timing = self._timing() if self.gpu.machine else None
        return {**found, **(timing.as_json() if timing is not None and timing.runs else {})}

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
        if self.checkpoint is not None:
            console.print(f"wrote {self.checkpoint}", soft_wrap=True)

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


def read_selection(kernels: str, launches: str, timed: bool, fast_forward: int = 0, checkpoint: bool = False) -> Selection:
    """`--kernels REGEX --launches 3:10 --fast-forward N`; an error says what is wrong with them. A checkpoint counts launches of
    such kernels, too."""
    from simtlab.runtime.session import Selection

    if ((kernels and not checkpoint) or launches or fast_forward) and not timed:
        raise BadInput("--kernels, --launches and --fast-forward say what is timed, and need a machine: add --gpu, for example "
                       "--gpu caps-gtx480")  # fmt: skip
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
    return Selection(kernels, first, last, fast_forward)


@dataclass(frozen=True)
class Wishes:
    """What is asked of a run of an application beside the machine."""

    selection: Selection
    strict: bool = False
    races: bool = False
    store: Path | None = None
    checkpoint_at: int | None = None
    checkpoint: Path | None = None


def execute(
    command: Sequence[str], choice: MachineChoice, host: Host, to_stderr: bool, wishes: Wishes | None = None
) -> ApplicationAnswer:
    """Run an application; with `to_stderr` what it prints goes there."""
    import signal

    from simtlab.cli.progress import LaunchLine, make_ready, show_cycles
    from simtlab.runtime.application import run_application
    from simtlab.runtime.session import Log, Selection

    wishes = wishes or Wishes(Selection())
    begin = time.perf_counter()
    gpu = choice.build(replace(host, memory_in_file=True))
    make_ready(timed=gpu.machine is not None)
    gpu.watch = show_cycles
    file = checkpoint_file(command, wishes)
    log = Log(selection=wishes.selection, strict=wishes.strict, races=wishes.races, checkpoint_at=wishes.checkpoint_at,
              checkpoint=file, application=" ".join(command), begins=LaunchLine().shows)  # fmt: skip
    status = run_application(command, gpu, log, to_stderr)
    if file is not None and not file.exists():
        raise SimtlabError(f"no checkpoint was written: launch {wishes.checkpoint_at} was asked for, and there were {log.taken}")
    if wishes.store is not None:
        from simtlab.lab.applications import store_application

        launched = [(one.program, one.run) for one in log.launches]
        chosen, seconds = wishes.selection.as_parameters(), time.perf_counter() - begin
        store_application(wishes.store, command, chosen, choice, launched, gpu, seconds)
    if status >= 0:
        return ApplicationAnswer(command, status, log.launches, choice, gpu, checkpoint=file)
    return ApplicationAnswer(command, 128 - status, log.launches, choice, gpu, signal.Signals(-status).name, file)


def checkpoint_file(command: Sequence[str], wishes: Wishes) -> Path | None:
    """Where a checkpoint goes; an earlier one there is removed."""
    if wishes.checkpoint_at is None:
        if wishes.checkpoint is not None:
            raise BadInput("--checkpoint is the file of --checkpoint-at: say the launch, for example --checkpoint-at 3")
        return None
    file = wishes.checkpoint or Path(f"{Path(command[0]).name}.{wishes.checkpoint_at}.checkpoint")
    file.unlink(missing_ok=True)
    return file


def resume_instead(
    file: Path | None, command: Sequence[str] | None, choice: MachineChoice, host: Host
) -> ApplicationAnswer:
    """Run the launch of a checkpoint, where no program is named."""
    if file is None:
        raise BadInput("which program? `simtlab exec ./app ARGUMENT...`, or a checkpoint: `simtlab exec --resume FILE`")
    if command:
        raise BadInput(f"--resume runs the launch of a checkpoint; the program {command[0]} is not needed")
    from simtlab.cli.progress import make_ready, show_cycles
    from simtlab.host.checkpoint import load_checkpoint
    from simtlab.runtime.session import Launched

    found = load_checkpoint(file)
    gpu = choice.build(host)
    make_ready(timed=gpu.machine is not None)
    gpu.watch = show_cycles
    restored = found.on(gpu)
    launched = Launched(restored.kernel.program, restored.run())
    return ApplicationAnswer(["--resume", str(file)], 0, [launched], choice, gpu)
