"""The timed launches of an application, or of a program file, as a result that is stored, listed and compared like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.lab.errors import StudyError
from simtlab.lab.ingredients import Look, file_digest
from simtlab.lab.machines import MachineChoice
from simtlab.lab.record import Record
from simtlab.lab.run_experiment import record_of
from simtlab.lab.sources import digest_of_files
from simtlab.lab.store.store import Store

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.program.program import Program

SIZE, FILE_SIZE = "application", "launches"  # in place of a workload's size


@dataclass(frozen=True)
class ApplicationRun:
    """The launches that were timed, and the kernel of each."""

    launches: Sequence[Run]
    programs: Mapping[int, Program]  # by the launch's id

    def program_of(self, launch: Run) -> Program:
        return self.programs[id(launch)]


def store_application(
    store: Path | None,
    command: Sequence[str],
    chosen: Mapping[str, Any],
    machine: MachineChoice,
    launched: Sequence[tuple[Program, Run]],
    gpu: Gpu,
    seconds: float,
) -> Record:
    """Put what an application's timed launches came to into a store, in the place of an earlier run of the same program with the
    same arguments on the same machine. `chosen` says which launches were timed."""
    program = {"name": Path(command[0]).name, "size": SIZE, "sources": file_digest(command[0]), "files": {}, "seed": 0,
               "parameters": {"arguments": " ".join(command[1:]), **chosen}}  # fmt: skip
    run, folder = timed_launches(command[0], launched), Path(command[0]).resolve().parent
    record = record_of(Look().on_machine(program, machine), machine, run, gpu, folder, seconds)
    put(store, record)
    return record


def timed_launches(name: str, launched: Sequence[tuple[Program, Run]]) -> ApplicationRun:
    """Those that were timed; an error if there are none."""
    timed = [(program, run) for program, run in launched if run.timing is not None]
    if not timed:
        raise StudyError(f"nothing of {name} was timed, so there is nothing to store")
    return ApplicationRun([run for _, run in timed], {id(run): program for program, run in timed})


def put(store: Path | None, record: Record) -> None:
    """Put a record into a store, in the place of an earlier one with its key."""
    with Store(store) as opened:
        opened.forget([record.key])
        opened.add(record)


def program_of_file(file: Path, others: Sequence[Path], parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """A program file as an ingredient of a result: its name, the digest of it and of other files it needs, how it is launched."""
    try:
        sources = digest_of_files((path.name, path) for path in (file, *others))
    except OSError as error:
        raise StudyError(f"cannot read {error.filename}: {error.strerror}") from None
    return {"name": file.stem, "size": FILE_SIZE, "sources": sources, "files": {}, "seed": seed,
            "parameters": {"file": str(file), **parameters}}  # fmt: skip
