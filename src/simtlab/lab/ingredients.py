"""What an experiment's result depends on, part by part: its program and input, its machine, its policies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import ConfigError
from simtlab.lab.errors import SourcesChanged, StudyError
from simtlab.lab.machines import NO_PROFILE, MachineChoice
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
from simtlab.workloads.loading import HERE, load

if TYPE_CHECKING:
    from simtlab.lab.experiment import Experiment
    from simtlab.machine.config import MachineConfig

MOST_PARTS = 2000  # kept at once: a sweep over as many machines as one likes takes no more memory


class MachineValues(dict[str, Any]):
    """Every key of a machine with its value, and its name."""

    @cached_property
    def digest(self) -> str:
        """Stands for the values in the keys of all experiments on this machine."""
        return hashlib.sha256(json.dumps(self, sort_keys=True).encode()).hexdigest()[:16]


class Look:
    """One look at the files that experiments depend on: of many experiments that share a part, the first one reads it.

    A sweep of ten thousand experiments is a few programs on a few machines. What is edited after the look is not seen by it.
    """

    def __init__(self) -> None:
        self._seen: dict[Hashable, Any] = {}

    def ingredients(self, experiment: Experiment) -> dict[str, Any]:
        found = self.on_machine({**self._program(experiment), "seed": experiment.seed}, experiment.machine)
        if experiment.beside is None or experiment.other is None:
            return found
        return {**found, "beside": {**self._program(experiment.other), **experiment.beside.values()}}

    def on_machine(self, workload: Mapping[str, Any], chosen: MachineChoice) -> dict[str, Any]:
        """A program's ingredients, with those of the machine and of simtlab."""
        profile = {}
        if chosen.profile != NO_PROFILE:
            profile = {"profile": {"kind": chosen.profile, **self.on_machine(workload, chosen.without_mechanisms())}}
        settings = chosen.gpu, as_text(chosen.changes)
        machine, own = self._once(("machine", settings), lambda: (resolved(chosen), own_policies(chosen)))
        return {
            "simtlab": simulator_digest(),
            "workload": dict(workload),
            "machine": machine,
            "policies": {slot: self._policy(slot, policy) for slot, policy in {**own, **chosen.policies}.items()},
            **profile,
            **({"sample": asdict(chosen.sample)} if chosen.sample else {}),
        }

    def _program(self, experiment: Experiment) -> dict[str, Any]:
        part = "program", experiment.workload, experiment.size, as_text(experiment.parameters), as_text(experiment.files)
        return self._once(part, lambda: program_values(experiment))

    def _policy(self, slot: str, chosen: PolicyChoice) -> dict[str, Any]:
        return self._once(("policy", slot, str(chosen)), lambda: policy_values(slot, chosen))

    def _once(self, part: Hashable, make: Callable[[], Any]) -> Any:
        if part not in self._seen:
            if len(self._seen) >= MOST_PARTS:
                self._seen.clear()
            self._seen[part] = make()
        return self._seen[part]


def as_text(values: Mapping[str, Any]) -> str:
    """Values that may be lists, as something to look them up by; 1, 1.0 and True stay apart."""
    return repr(sorted(values.items()))


# Programs -------------------------------------------------------------------------------------------------------------

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


def program_values(experiment: Experiment) -> dict[str, Any]:
    """A program's name, size, sources and input, the seed apart."""
    program = experiment.program()
    return {
        "name": program.name,
        "size": program.size,
        "sources": workload_digest(program.folder),
        "parameters": dict(program.parameters),
        "files": {name: file_digest(str(path)) for name, path in program.files.items()},
    }


def file_digest(path: str) -> str:
    """The digest of an input file, whatever its name."""
    try:
        return digest_of_files([("input", Path(path))])
    except (OSError, ValueError) as error:
        raise StudyError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


# Machines and policies ------------------------------------------------------------------------------------------------


def resolved(machine: MachineChoice) -> MachineValues:
    """The machine as its preset or file and its changed keys make it."""
    if machine.gpu is None:
        raise StudyError("an experiment needs a machine; for example gpu = \"caps-gtx480\"")
    config = configuration(machine)
    values = {key: value for key, value in config.items() if not key.startswith("policies.")}  # these are told by their files
    return MachineValues({"name": config.name, **values})


def own_policies(machine: MachineChoice) -> dict[str, PolicyChoice]:
    """The policies that a machine has where nothing else is said."""
    return {slot: read_choice(name) for slot, name in vars(configuration(machine).policies).items()}


def configuration(machine: MachineChoice) -> MachineConfig:
    """The machine's configuration, its changed keys applied."""
    gpu, changes = str(machine.gpu), dict(machine.changes)
    if gpu.endswith(".toml"):
        return _configured(gpu, changes)  # a file may have been edited since
    return _preset(gpu, json.dumps(changes, sort_keys=True))


@lru_cache(MOST_PARTS)
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
