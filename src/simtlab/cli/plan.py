"""What `simtlab run` is asked to do, from options or from a TOML file, checked before anything is compiled."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simtlab.cli.answer import BadInput
from simtlab.cli.values import ArrayText, parse_size, parse_value
from simtlab.lab.machines import MachineChoice


@dataclass(frozen=True)
class LaunchPlan:
    """One launch. An argument is a number, or the name of one of the plan's arrays."""

    kernel: str | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[np.generic | str, ...] = ()
    shared: int = 0
    repeat: int = 1


@dataclass(frozen=True)
class Plan:
    """A source, the arrays its kernels work on, the launches in order, the files to write."""

    source: Path
    launches: Sequence[LaunchPlan]
    arrays: Mapping[str, ArrayText] = field(default_factory=dict)
    outputs: Mapping[str, Path] = field(default_factory=dict)
    options: Sequence[str] = ()
    include: Sequence[Path] = ()
    seed: int = 0
    from_file: bool = False  # a TOML file, which may hold several launches
    machine: MachineChoice = field(default_factory=MachineChoice)


@dataclass(frozen=True)
class Options:
    """The options of `simtlab run` that say what to launch."""

    kernel: str | None
    grid: str | None
    block: str | None
    arg: Sequence[str]
    out: Sequence[str]
    shared: int | None
    option: Sequence[str]
    include: Sequence[Path]


def make_plan(file: Path, options: Options, seed: int, machine: MachineChoice) -> Plan:
    """The plan that a command line stands for. Beside a TOML file, it may say another machine."""
    if file.suffix == ".toml":
        from simtlab.cli.launches import read_launches

        _refuse_beside_toml(options)
        plan = read_launches(file, seed)
        return replace(plan, machine=machine.over(plan.machine))
    values = [_argument(number, text) for number, text in enumerate(options.arg)]
    arrays = {name_of(k): value for k, value in enumerate(values) if isinstance(value, ArrayText)}
    arguments = tuple(name_of(k) if isinstance(value, ArrayText) else value for k, value in enumerate(values))
    launch = LaunchPlan(
        options.kernel, _size("--grid", options.grid), _size("--block", options.block), arguments, options.shared or 0
    )
    outputs = dict(_output(text, values) for text in options.out)
    return Plan(file, [launch], arrays, outputs, options.option, options.include, seed, machine=machine)


def name_of(position: int) -> str:
    return f"argument {position}"


def _refuse_beside_toml(options: Options) -> None:
    given = [name for name, value in vars(options).items() if value not in (None, [])]
    if given:
        raise BadInput(f"--{given[0]} cannot be used with a .toml file, which says this itself")


def _argument(number: int, text: str) -> np.generic | ArrayText:
    try:
        return parse_value(text, Path())
    except ValueError as problem:
        raise BadInput(f"bad --arg {number} '{text}': {problem}") from None


def _size(option: str, text: str | None) -> tuple[int, ...]:
    if text is None:
        raise BadInput(f"{option} is missing; for example {option} 256")
    try:
        return parse_size(text)
    except ValueError as problem:
        raise BadInput(f"bad {option}: {problem}") from None


def _output(text: str, values: Sequence[np.generic | ArrayText]) -> tuple[str, Path]:
    index, colon, name = text.partition(":")
    example = "for example --out 3:y.npy"
    if not colon or not index.strip().isdecimal() or not name:
        raise BadInput(f"bad --out '{text}': it must be an argument's position and a file, {example}")
    position = int(index)
    if position >= len(values) or not isinstance(values[position], ArrayText):
        arrays = [str(k) for k, value in enumerate(values) if isinstance(value, ArrayText)]
        known = f"the arrays are {', '.join(arrays)}" if arrays else "there are no arrays"
        raise BadInput(f"bad --out '{text}': argument {position} is no array; {known} (counted from 0)")
    return name_of(position), check_output(Path(name), f"bad --out '{text}'")


def check_output(path: Path, place: str) -> Path:
    """Refuse a file that cannot be written while nothing has been run yet."""
    if path.suffix != ".npy":
        raise BadInput(f"{place}: the file's name must end in .npy")
    if os.path.isdir(path):
        raise BadInput(f"{place}: cannot write {path}: it is a folder")
    if not os.path.isdir(path.parent):
        raise BadInput(f"{place}: cannot write {path}: there is no folder {path.parent}")
    return path
