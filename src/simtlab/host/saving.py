"""Save a timed run every so often, so that a killed day is not lost, and go on from what was saved.

A saved run is a zip archive: the machine's tables (`machine/saved_state.py`), device memory, what the launches before took, and
how to know the program again. To go on, the same program is started anew. Launches that had ended are run functionally, for the
host's sake, and get the times that were saved; the one that was under way goes on from the cycle in which it was saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import SimtlabError
from simtlab.execute.grid import SLACK
from simtlab.host.launch import execute, raise_trouble
from simtlab.machine.saved_state import Tables, load, read_table, save, write_table
from simtlab.machine.state import MAX_KERNELS
from simtlab.storage import digest_of_sources

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Waiting
    from simtlab.machine.kernels import Launch
    from simtlab.machine.machine import Machine, Paused, TimedRun

VERSION = 1
FAST = 1  # zlib's level: a save should be short


@dataclass(frozen=True)
class Ended:
    """Launches that ran together and have ended: how to know them again, and what they took."""

    launches: list[list[Any]]
    timings: list[TimedRun]


class Saving:
    """The saves of a GPU's runs, to a file and every so many seconds, and the run that it goes on from, if any."""

    def __init__(self) -> None:
        self.file: Path | None = None
        self.seconds = 0.0
        self.saves = 0
        self._ended: list[Ended] = []
        self._from: SavedRun | None = None
        self._last = time.monotonic()

    def save_every(self, seconds: float, file: str | PathLike) -> None:
        if not seconds >= 0:
            raise SimtlabError(f"a run is saved every so many seconds, 0 or more, not {seconds!r}")
        self.file, self.seconds, self._last = Path(file), seconds, time.monotonic()
        if not self.file.parent.is_dir():
            raise SimtlabError(f"cannot save runs in {self.file}: there is no folder {self.file.parent}")

    def go_on(self, machine: Machine, isa: str, file: str | PathLike) -> None:
        self._from = SavedRun(file)
        self._from.check(who(machine, isa))

    def run(
        self, machine: Machine, gpu: Gpu, waiting: Sequence[Waiting], launches: Sequence[Launch], progress: Callable | None
    ) -> list[TimedRun]:
        """Run launches, or those that have ended already functionally."""
        timings: list[TimedRun] = []
        for start in range(0, len(launches), MAX_KERNELS):
            part = slice(start, start + MAX_KERNELS)
            timings += self._run_together(machine, gpu, waiting[part], launches[part], progress)
        return timings

    def _run_together(
        self, machine: Machine, gpu: Gpu, waiting: Sequence[Waiting], launches: Sequence[Launch], progress: Callable | None
    ) -> list[TimedRun]:
        now = [known_by(one) for one in waiting]
        saved, restore = self._from, None
        if saved is not None:
            saved.check_launches(len(self._ended), now)
            if len(self._ended) < len(saved.ended):
                return self._again(machine, gpu, waiting, saved.ended[len(self._ended)])
            restore, self._from, self._last = saved.restorer(gpu), None, time.monotonic()
        asks_host = any(machine.load(one.program).calls_host for one in launches)
        machine.on_pause = None if self.file is None or asks_host else lambda paused: self._look(machine, gpu, now, paused)
        try:
            timings = machine.run(launches, progress, restore)
        finally:
            machine.on_pause = None
        self._ended.append(Ended(now, timings))
        return timings

    def _again(self, machine: Machine, gpu: Gpu, waiting: Sequence[Waiting], ended: Ended) -> list[TimedRun]:
        """Launches that had ended: only what they compute is wanted."""
        for one in waiting:
            machine.load(one.program)
            raise_trouble(gpu, one, execute(gpu, one))
        self._ended.append(ended)
        return ended.timings

    def _look(self, machine: Machine, gpu: Gpu, launches: list[list[Any]], paused: Paused) -> None:
        """Save the run if it is time."""
        if time.monotonic() - self._last >= self.seconds and self.file is not None:
            self._write(self.file, machine, gpu, launches, paused)
            self.saves, self._last = self.saves + 1, time.monotonic()

    def _write(self, file: Path, machine: Machine, gpu: Gpu, launches: list[list[Any]], paused: Paused) -> None:
        """To another file first: a save that is cut short leaves the one before."""
        new = file.with_name(f"{file.name}.{os.getpid()}.new")
        told = {"version": VERSION, "who": who(machine, gpu.isa), "launches": launches, "cycle": machine.cycle,
                "memory": [[one.start, one.size] for one in gpu.memory]}  # fmt: skip
        try:
            with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=FAST) as archive:
                told["machine"] = save(archive, machine.tables())
                for one in gpu.memory:
                    write_table(archive, f"memory/{one.start:x}", gpu.memory.bytes(one.start, one.size))
                archive.writestr("python", pickle.dumps((self._ended, paused)))
                archive.writestr("run.json", json.dumps(told))
            new.replace(file)
        except OSError as problem:
            raise SimtlabError(f"cannot save the run in {file}: {problem.strerror}") from None
        finally:
            new.unlink(missing_ok=True)


class SavedRun:
    """What a file of a saved run says."""

    def __init__(self, file: str | PathLike):
        self.file = file
        with self._reading() as archive:
            self.told = json.loads(archive.read("run.json")) if "run.json" in archive.namelist() else {}
        if self.told.get("version") != VERSION:
            raise SimtlabError(f"{file} is no saved run that can be read: its version is {self.told.get('version')}, not {VERSION}")

    def check(self, now: dict[str, Any]) -> None:
        """Refuse to go on where something is another than it was."""
        for name, value in self.told["who"].items():
            if now[name] != value:
                raise SimtlabError(f"the saved run {self.file} had another {name}: {value}, and now it is {now[name]}")
        with self._reading() as archive:
            self.ended, self.paused = pickle.loads(archive.read("python"))

    def check_launches(self, number: int, now: list[list[Any]]) -> None:
        saved = self.ended[number].launches if number < len(self.ended) else self.told["launches"]
        if now != saved:
            was, is_now = ("; ".join(f"{one[0]} of {one[1]} CTAs of {one[2]}" for one in some) for some in (saved, now))
            raise SimtlabError(f"the saved run {self.file} is of another program or other inputs: its launch {number + 1} was "
                               f"{was}, and now it is {is_now}, or its parameters differ")  # fmt: skip

    def restorer(self, gpu: Gpu) -> Callable[[Tables], Paused]:
        """What brings device memory and a machine to where they were."""

        def restore(tables: Tables) -> Paused:
            here = [[one.start, one.size] for one in gpu.memory]
            if here != self.told["memory"]:
                raise SimtlabError(f"the saved run {self.file} had other arrays in device memory")
            with self._reading() as archive:
                load(archive, tables, self.told["machine"])
                for start, size in here:
                    read_table(archive, f"memory/{start:x}", gpu.memory.bytes(start, size))
            return self.paused

        return restore

    def _reading(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.file)
        except (OSError, zipfile.BadZipFile, zlib.error) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise SimtlabError(f"{self.file} is no saved run that can be read: {why}") from None


def who(machine: Machine, isa: str) -> dict[str, Any]:
    """What must be the same for a run to go on: this simtlab, the machine, its policies, its host threads."""
    policies = [f"{slot}={policy.name} {policy.parameters} {digest_of(policy.module)}" for slot, policy in machine.policies.items()]
    return {"simtlab": digest_of_sources(""), "machine": repr(machine.config), "isa": isa, "policies": "; ".join(policies),
            "number of host threads": machine.threads}  # fmt: skip


def digest_of(module: Any) -> str:
    file = getattr(module, "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""


def known_by(one: Waiting) -> list[Any]:
    """By what a launch is known again: kernel, sizes, stream and parameters."""
    stream = [one.stream.number, one.stream.priority, one.stream.delay_cycles] if one.stream is not None else []
    parameters = hashlib.sha256(one.buffers[0][:-SLACK].tobytes()).hexdigest()
    return [one.program.name, list(one.run.grid), list(one.run.block), one.run.shared_bytes, stream, parameters]
