"""A sweep: every list is an axis, and the axes are crossed, or zipped where it is said so.

    import simtlab as sl
    sweep = sl.Sweep(["BFS", "MM"], size="small", gpu="caps-gtx480",
                     policies={"warp_scheduler": ["lrr", "gto"]}, set={"l1d.ways": [4, 8]})
    sweep.run()
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Beside, Experiment
from simtlab.lab.machines import NO_PROFILE, POLICY_EXAMPLES, PROFILES, MachineChoice, read_slot
from simtlab.machine.hooks import CHOICES
from simtlab.policies.choice import PolicyChoice, read_choice
from simtlab.sampling.settings import read_sampling

if TYPE_CHECKING:
    from simtlab.lab.store.results import Results

Axis = Any  # a value, or a list of them
NO_POLICY = "none"  # leaves a slot as the machine has it
BESIDE_MOST = {"beside.priority": 3, "beside.delay_cycles": 1_000_000_000}


class Experiments(Protocol):
    """What can be swept: experiments, one after another, the same ones each time it is asked."""

    def experiments(self) -> Iterator[Experiment]: ...


@dataclass(frozen=True)
class Sweep:
    """Experiments by their axes. `zip` names axes that go together: `zip=[["l1d.ways", "l1d.bytes"]]`."""

    workloads: Axis
    size: Axis = "small"
    gpu: Axis = None
    policies: Mapping[str, Axis] = field(default_factory=dict)
    set: Mapping[str, Axis] = field(default_factory=dict)
    seed: Axis = 0
    parameters: Mapping[str, Axis] = field(default_factory=dict)
    input: Mapping[str, Axis] = field(default_factory=dict)
    beside: Mapping[str, Axis] = field(default_factory=dict)  # a program that runs at once: workload, size, priority, ...
    zip: Sequence[Sequence[str]] = ()
    profile: Axis = NO_PROFILE  # "baseline": mechanisms know of each load what a run without them found in the L1
    sample: Axis = False  # simulate in detail only in part: true, an error such as 0.03, or a text as of `--sample`
    folder: Path = Path()  # names of files are relative to it

    def axes(self) -> dict[str, list[Any]]:
        """Every axis by name: workloads, size, gpu, seed, profile, slots, a machine's keys, parameters.NAME, input.NAME,
        beside.NAME."""
        if self.gpu is None:
            raise StudyError("a study needs a machine; for example gpu = \"caps-gtx480\" (`simtlab list gpus` shows them)")
        found = {"workloads": self.workloads, "size": self.size, "gpu": self.gpu, "seed": self.seed, "profile": self.profile}
        found |= {} if self.sample is False else {"sample": self.sample}
        found |= {slot_named(slot): value for slot, value in self.policies.items()}
        found |= dict(self.set)
        found |= {f"parameters.{name}": value for name, value in self.parameters.items()}
        found |= {f"input.{name}": value for name, value in self.input.items()}
        found |= {f"beside.{name}": value for name, value in self.beside.items()}
        return {name: values_of(name, value) for name, value in found.items()}

    def groups(self) -> list[list[dict[str, Any]]]:
        """Axes that are crossed with one another; each is a list of what its names are set to together."""
        axes, groups = self.axes(), []
        zipped = [name for group in self.zip for name in group]
        for group in self.zip:
            self._check_zip(group, axes, zipped)
            rows = zip(*(axes[name] for name in group), strict=True)
            groups.append([dict(zip(group, row, strict=True)) for row in rows])
        crossed = [[{name: value} for value in values] for name, values in axes.items() if name not in zipped]
        return [*crossed, *groups]

    def _check_zip(self, group: Sequence[str], axes: Mapping[str, list[Any]], zipped: Sequence[str]) -> None:
        for name in group:
            if name not in axes:
                raise StudyError(f"zip names '{name}', which is no axis of this study; its axes are {', '.join(axes)}")
            if zipped.count(name) > 1:
                raise StudyError(f"zip names '{name}' twice")
        lengths = {name: len(axes[name]) for name in group}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise StudyError(f"axes that are zipped must have as many values as one another: {shown}")

    def __len__(self) -> int:
        return prod(len(group) for group in self.groups())

    def experiments(self) -> Iterator[Experiment]:
        """One experiment after another, made as they are asked for: a sweep may have any number."""
        for chosen in itertools.product(*self.groups()):
            values: dict[str, Any] = {name: value for part in chosen for name, value in part.items()}
            yield self._experiment(values)

    def _experiment(self, values: Mapping[str, Any]) -> Experiment:
        machine = MachineChoice(
            self._file(values["gpu"], ".toml"),
            {name: values[name] for name in self.set},
            {slot: self._policy(slot, values[slot]) for slot in map(slot_named, self.policies) if values[slot] != NO_POLICY},
            profile=values["profile"],
            sample=read_sampling(values.get("sample")),
        )
        return Experiment(
            self._workload(values["workloads"]),
            values["size"],
            machine,
            values["seed"],
            {name: values[f"parameters.{name}"] for name in self.parameters},
            {name: str(self.folder / values[f"input.{name}"]) for name in self.input},
            self._beside({name: values[f"beside.{name}"] for name in self.beside}, values["size"]),
        )

    def _beside(self, values: dict[str, Any], size: str) -> Beside | None:
        """The program beside, at the study's size where it says none; what has no meaning here is a parameter of its own."""
        if not values:
            return None
        if "workload" not in values:
            raise StudyError('beside names no workload; for example beside.workload = "SCP"')
        own = {name: values.pop(name) for name in ("priority", "delay_cycles") if name in values}
        return Beside(self._workload(values.pop("workload")), values.pop("size", size), **own, parameters=values)

    def _file(self, name: str, suffix: str) -> str:
        return str(self.folder / name) if name.endswith(suffix) else name

    def _workload(self, name: str) -> str:
        from simtlab.workloads.loading import is_path

        inside = self.folder / name
        return str(inside) if "/" in name or (is_path(str(inside)) and inside.is_dir()) else name

    def _policy(self, slot: str, text: str) -> PolicyChoice:
        try:
            return read_choice(text, self.folder)
        except ValueError as problem:
            raise StudyError(f"policies.{slot}: {problem}; {POLICY_EXAMPLES}") from None

    def run(
        self, store: str | PathLike | None = None, processes: int | None = None, dask: str | None = None, **options: Any
    ) -> Results:
        """Run what the store lacks; gives the sweep's results. An experiment that fails raises when all others are done."""
        from simtlab.lab.sweep.loop import run_to_results

        return run_to_results(self, store, processes, dask, **options)


def values_of(name: str, value: Axis) -> list[Any]:
    """The values of an axis: a list's, or the one value."""
    found = list(value) if isinstance(value, list | tuple | range) else [value]
    if not found:
        raise StudyError(f"the axis '{name}' has no values")
    for one in found:
        if name == "seed" and (not isinstance(one, int) or isinstance(one, bool) or one < 0):
            raise StudyError(f"seed is {one!r}; it must be a whole number, at least 0")
        if name in BESIDE_MOST and (type(one) is not int or not 0 <= one <= BESIDE_MOST[name]):
            raise StudyError(f"{name} is {one!r}; it must be a whole number from 0 to {BESIDE_MOST[name]}")
        if name == "profile" and one not in PROFILES:
            raise StudyError(f"profile is {one!r}; it must be {' or '.join(PROFILES)}")
        if isinstance(one, date | time):
            raise StudyError(f"{name} is {one}, a date or a time; it must be a number, a text, true or false, or a list of them")
        if _is_text(name) and not isinstance(one, str):
            raise StudyError(f"{name} is {one!r}; it must be a text")
    return found


def _is_text(name: str) -> bool:
    return name in ("workloads", "size", "gpu", "beside.workload", "beside.size", *CHOICES) or name.startswith("input.")


def slot_named(name: str) -> str:
    try:
        return read_slot(name)
    except ValueError as problem:
        raise StudyError(f"policies.{name}: {problem}") from None
