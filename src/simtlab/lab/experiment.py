"""A run as a value: a workload, its input, a machine. Its key is the digest of everything its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import ConfigError
from simtlab.lab.errors import SourcesChanged, StudyError
from simtlab.lab.machines import MachineChoice
from simtlab.lab.sources import (
    digest_of_files,
    policy_defaults,
    policy_digest,
    policy_file,
    policy_limits,
    simulator_digest,
    workload_digest,
)
from simtlab.policies.choice import PolicyChoice, read_choice
from simtlab.workloads.loading import HERE, find, load

if TYPE_CHECKING:
    from simtlab.machine.config import MachineConfig
    from simtlab.workloads.frame import Workload


@dataclass(frozen=True)
class Experiment:
    """A workload at a size on a machine. `parameters` change single parameters of the size, `files` are inputs of one's own."""

    workload: str
    size: str
    machine: MachineChoice
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def program(self) -> Workload:
        from simtlab.workloads.frame import workload

        refresh(find(self.workload))
        return workload(self.workload, self.size, seed=self.seed, files=self.files, **self.parameters)

    def ingredients(self) -> dict[str, Any]:
        """Everything the result depends on, as plain values and digests; an error if there is no such experiment."""
        program = self.program()
        return {
            "simtlab": simulator_digest(),
            "workload": {
                "name": program.name,
                "size": program.size,
                "sources": workload_digest(program.folder),
                "parameters": dict(program.parameters),
                "seed": self.seed,
                "files": {name: file_digest(str(path)) for name, path in program.files.items()},
            },
            "machine": resolved(self.machine),
            "policies": {slot: policy_values(slot, chosen) for slot, chosen in chosen_policies(self.machine).items()},
        }

    @property
    def key(self) -> str:
        """The digest of the ingredients; two experiments with one key have one result."""
        return key_of(self.ingredients())

    def __str__(self) -> str:
        parameters = [f"{name}={value}" for name, value in {**self.parameters, **self.files}.items()]
        seed = [f"seed={self.seed}"] if self.seed else []
        return ", ".join([f"{Path(self.workload).name} {self.size}", *parameters, *seed, str(self.machine)])


_loaded: dict[Path, str] = {}  # the digest of each workload when it was last imported


def refresh(folder: Path) -> None:
    """Import a workload anew if its folder has changed: code that was imported before must not run under the new key."""
    digest = workload_digest(folder)
    if _loaded.get(folder) == digest:
        return
    if folder.parent == HERE and folder in _loaded:
        raise SourcesChanged(f"the workload {folder.name.upper()} was changed since it was imported; start again")
    load.cache_clear()
    _loaded[folder] = digest


def key_of(ingredients: Mapping[str, Any]) -> str:
    """The key that ingredients make; the order of names does not count."""
    text = json.dumps(ingredients, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    item = getattr(value, "item", None)  # a NumPy number
    if item is None:
        raise StudyError(f"a parameter is {value!r}; only numbers, texts and lists of them can be part of an experiment")
    return item()


def file_digest(path: str) -> str:
    """The digest of an input file, whatever its name."""
    try:
        return digest_of_files([("input", Path(path))])
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from None


# Machines and policies ------------------------------------------------------------------------------------------------


def resolved(machine: MachineChoice) -> dict[str, Any]:
    """Every key of a machine with its value, and its name."""
    if machine.gpu is None:
        raise StudyError("an experiment needs a machine; for example gpu = \"caps-gtx480\"")
    config = configuration(machine)
    values = {key: value for key, value in config.items() if not key.startswith("policies.")}  # these are told by their files
    return {"name": config.name, **values}


def chosen_policies(machine: MachineChoice) -> dict[str, PolicyChoice]:
    """The policy of every slot that has one, where nothing was said the machine's own."""
    own = {slot: read_choice(name) for slot, name in vars(configuration(machine).policies).items()}
    return {**own, **machine.policies}


def configuration(machine: MachineChoice) -> MachineConfig:
    """The machine's configuration, its changed keys applied."""
    gpu, changes = str(machine.gpu), dict(machine.changes)
    if gpu.endswith(".toml"):
        return _configured(gpu, changes)  # a file may have been edited since
    return _preset(gpu, json.dumps(changes, sort_keys=True))


@cache
def _preset(gpu: str, changes: str) -> MachineConfig:
    return _configured(gpu, json.loads(changes))


def _configured(gpu: str, changes: Mapping[str, Any]) -> MachineConfig:
    from simtlab.machine.config import load

    config = load(gpu)
    return config.replace(changes) if changes else config


def policy_values(slot: str, chosen: PolicyChoice) -> dict[str, Any]:
    """A policy's name, its file's digest and all its parameters; an error if it has no such parameter."""
    path = policy_file(slot, chosen.name)
    defaults, limits = policy_defaults(path), policy_limits(path)
    for name, value in chosen.parameters.items():
        if name not in defaults:
            raise ConfigError(f"policy '{chosen.name}' has no parameter '{name}'; it has: {', '.join(defaults) or 'none'}")
        least, most = limits.get(name, (0, None))
        if isinstance(defaults[name], int) and not isinstance(value, int):
            raise ConfigError(f"policy '{chosen.name}': {name} = {value} is impossible: allowed is a whole number")
        if value < least or (most is not None and value > most):
            allowed = f"at least {least}" if most is None else f"from {least} to {most}"
            raise ConfigError(f"policy '{chosen.name}': {name} = {value} is impossible: allowed is {allowed}")
    name = path.stem.replace("_", "-")
    parameters: dict[str, Any] = {**defaults, **chosen.parameters}
    changed = {key: value for key, value in parameters.items() if value != defaults[key]}
    label = str(PolicyChoice(name, changed))  # the same however the parameters were given
    return {"name": name, "label": label, "sources": policy_digest(path), "parameters": parameters}
