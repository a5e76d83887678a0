"""Files that travel with an experiment to a worker on another machine: a workload's folder, policies, machines, inputs.

Each file is known by the digest of its contents, so that it goes to a worker once however many experiments need it. What
belongs to simtlab stays at home: a worker has that itself, and its key shows whether it is the same.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.lab.sources import headers_elsewhere, workload_files
from simtlab.policies.choice import PolicyChoice
from simtlab.storage import cache_directory
from simtlab.workloads.loading import HERE, find


@dataclass(frozen=True)
class Payload:
    """An experiment with its files named by where they lie in the payload, and each of these files' digest."""

    experiment: Experiment
    contents: Mapping[str, str]  # name in the payload: digest


def pack_payload(experiment: Experiment) -> tuple[Payload, dict[str, Path]]:
    """The payload of an experiment, and the file behind each digest."""
    packer = _Packer()
    machine, beside = experiment.machine, experiment.beside
    packed = replace(
        experiment,
        workload=packer.workload(experiment.workload),
        machine=replace(machine, gpu=packer.machine(str(machine.gpu)), policies=dict(packer.policies(machine))),
        files={name: packer.file(path, f"inputs/{name}") for name, path in experiment.files.items()},
        beside=replace(beside, workload=packer.workload(beside.workload, "beside")) if beside else None,
    )
    return Payload(packed, packer.contents), packer.sources


class _Packer:
    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.sources: dict[str, Path] = {}

    def put(self, name: str, path: Path) -> str:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        self.contents[name], self.sources[digest] = digest, path
        return name

    def file(self, path: str, folder: str) -> str:
        return self.put(f"{folder}/{Path(path).name}", Path(path))

    def workload(self, name: str, place: str = "workload") -> str:
        folder = find(name)
        if folder.parent == HERE:
            return name
        outside = headers_elsewhere(folder)
        if outside:
            raise StudyError(f"the workload {name} includes {outside[0]}, which lies outside its folder and so cannot travel "
                             "to other machines; put it into the folder")  # fmt: skip
        for inside, path in workload_files(folder):
            self.put(f"{place}/{folder.name}/{inside}", path)
        return f"{place}/{folder.name}"

    def machine(self, gpu: str) -> str:
        if not gpu.endswith(".toml"):
            return gpu
        for path in _with_bases(Path(gpu)):
            self.put(f"machine/{os.path.relpath(path, Path(gpu).parent)}", path)
        return f"machine/{Path(gpu).name}"

    def policies(self, machine: MachineChoice) -> Iterator[tuple[str, PolicyChoice]]:
        for slot, chosen in machine.policies.items():
            outside = chosen.name.endswith(".py")
            yield slot, replace(chosen, name=self.file(chosen.name, f"policies/{slot}")) if outside else chosen


def _with_bases(path: Path) -> Iterator[Path]:
    """A machine's file, and the files that it builds on."""
    import tomllib

    while True:
        yield path
        base = tomllib.loads(path.read_text()).get("base", "")
        if not base.endswith(".toml"):
            return
        if Path(base).is_absolute() or ".." in Path(base).parts:
            raise StudyError(f"the machine {path} builds on {base}, which lies outside its folder and so cannot travel to other "
                             "machines; put it into the folder")  # fmt: skip
        path = path.parent / base


# At the other end -----------------------------------------------------------------------------------------------------


def unpack_payload(payload: Payload, blobs: Mapping[str, bytes]) -> Experiment:
    """The experiment with its files written to this machine's cache, under the payload's digest."""
    if not payload.contents:
        return payload.experiment
    names = sorted(payload.contents.items())
    folder = cache_directory() / "payloads" / hashlib.sha256(repr(names).encode()).hexdigest()[:24]
    if not folder.is_dir():
        _write_folder(folder, {name: blobs[digest] for name, digest in names})
    experiment, machine = payload.experiment, payload.experiment.machine
    policies = {slot: replace(chosen, name=str(folder / chosen.name)) if chosen.name.endswith(".py") else chosen
                for slot, chosen in machine.policies.items()}  # fmt: skip
    gpu = str(folder / str(machine.gpu)) if str(machine.gpu).endswith(".toml") else machine.gpu
    beside = experiment.beside

    def unpacked(workload: str) -> str:
        return str(folder / workload) if workload.startswith(("workload/", "beside/")) else workload

    return replace(
        experiment,
        workload=unpacked(experiment.workload),
        beside=replace(beside, workload=unpacked(beside.workload)) if beside else None,
        machine=replace(machine, gpu=gpu, policies=policies),
        files={name: str(folder / path) for name, path in experiment.files.items()},
    )


def _write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files so that nobody ever sees some of them without the others."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        fresh = Path(place) / "payload"
        for name, data in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_bytes(data)
        try:
            os.rename(fresh, folder)
        except OSError:
            if not folder.is_dir():  # else somebody was faster, with the same files
                raise
