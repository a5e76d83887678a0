"""A run as a value: a workload, its input, a machine. Its key is the digest of everything its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.lab.errors import StudyError
from simtlab.lab.ingredients import Look, refresh
from simtlab.lab.machines import MachineChoice
from simtlab.workloads.loading import find

if TYPE_CHECKING:
    from simtlab.workloads.frame import Workload

NO_PARAMETERS = {"name": 'workloads = "BFS"', "size": 'size = "small"', "seed": "seed = 1", "files": 'input.graph = "road.gr"'}


@dataclass(frozen=True)
class Beside:
    """A program that comes while an experiment's runs, in a stream of a priority whose launches come `delay_cycles` later."""

    workload: str
    size: str
    priority: int = 1
    delay_cycles: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """What was chosen, for a result."""
        named = {"workload": Path(self.workload).name, "size": self.size}
        when = {"priority": self.priority, "delay_cycles": self.delay_cycles}
        return {f"beside.{name}": value for name, value in {**named, **when, **self.parameters}.items()}

    def __str__(self) -> str:
        return f"beside {Path(self.workload).name} {self.size} of priority {self.priority} after {self.delay_cycles} cycles"


@dataclass(frozen=True)
class Experiment:
    """A workload at a size on a machine. `parameters` change single parameters of the size, `files` are inputs of one's own."""

    workload: str
    size: str
    machine: MachineChoice
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    beside: Beside | None = None  # another program that runs at once

    @property
    def other(self) -> Experiment | None:
        """The program beside it as an experiment of its own."""
        it = self.beside
        return Experiment(it.workload, it.size, self.machine, self.seed, it.parameters) if it else None

    def program(self) -> Workload:
        from simtlab.workloads.frame import workload

        for name in NO_PARAMETERS:
            if name in self.parameters:
                raise StudyError(f"'{name}' is no parameter of a workload; it is said beside them, as {NO_PARAMETERS[name]}")
        refresh(find(self.workload))
        return workload(self.workload, self.size, seed=self.seed, files=self.files, **self.parameters)

    def ingredients(self, look: Look | None = None) -> dict[str, Any]:
        """Everything the result depends on, as plain values and digests; an error if there is no such experiment.

        Files are read as they are now, or as an earlier experiment found them in the same look.
        """
        return (look or Look()).ingredients(self)

    @property
    def key(self) -> str:
        """The digest of the ingredients; two experiments with one key have one result."""
        return key_of(self.ingredients())

    def __str__(self) -> str:
        parameters = [f"{name}={value}" for name, value in {**self.parameters, **self.files}.items()]
        seed = [f"seed={self.seed}"] if self.seed else []
        beside = [str(self.beside)] if self.beside else []
        return ", ".join([f"{Path(self.workload).name} {self.size}", *parameters, *seed, *beside, str(self.machine)])


def key_of(ingredients: Mapping[str, Any]) -> str:
    """The key that ingredients make; the order of names does not count."""
    text = json.dumps({**ingredients, "machine": ingredients["machine"].digest}, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    item = getattr(value, "item", None)  # a NumPy number
    if item is None:
        raise StudyError(f"a parameter is {value!r}; only numbers, texts and lists of them can be part of an experiment")
    return item()
