"""Several launches from one TOML file.

    source = "stencil.cu"
    [arrays]
    a = "f32[512x512]=random"
    [[launch]]
    kernel = "step"
    grid = "32x32"
    block = "16x16"
    args = ["i32:512", "a"]
    [outputs]
    a = "a.npy"

`gpu`, `[set]` and `[policies]` time the launches on a machine, as --gpu, --set and --policy do.
"""

import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from simtlab.cli.answer import BadInput
from simtlab.cli.plan import LaunchPlan, Plan, check_output
from simtlab.cli.values import ArrayText, parse_size, parse_value
from simtlab.lab.machines import POLICY_EXAMPLES, MachineChoice, read_slot
from simtlab.policies.choice import PolicyChoice, read_choice

TOP_KEYS = ("source", "options", "include", "arrays", "launch", "outputs", "gpu", "set", "policies")
LAUNCH_KEYS = ("kernel", "grid", "block", "shared", "args", "repeat")


def read_launches(path: Path, seed: int) -> Plan:
    """The plan in a TOML file. Names of files in it are relative to its folder."""
    return _Reader(path, _load(path)).plan(seed)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadInput(f"{path}: {problem}") from None


class _Reader:
    """Takes the file apart; every message begins with its name."""

    def __init__(self, path: Path, content: dict[str, Any]):
        self.path, self.folder, self.content = path, path.parent, content

    def error(self, problem: str) -> BadInput:
        return BadInput(f"{self.path}: {problem}")

    def plan(self, seed: int) -> Plan:
        content = self.content
        self.check_keys(content, TOP_KEYS, "")
        if "source" not in content:
            raise self.error("'source' is missing; for example source = \"saxpy.cu\"")
        arrays = {name: self.array(name, text) for name, text in self.table("arrays").items()}
        launches = content.get("launch")
        if not isinstance(launches, list) or not launches or not all(isinstance(launch, dict) for launch in launches):
            raise self.error("there is no [[launch]]; at least one is needed")
        return Plan(
            source=self.folder / self.text("source"),
            launches=[self.launch(f"launch {k}", launch, arrays) for k, launch in enumerate(launches, 1)],
            arrays=arrays,
            outputs={name: self.output(name, file, arrays) for name, file in self.table("outputs").items()},
            options=self.texts("options"),
            include=[self.folder / folder for folder in self.texts("include")],
            seed=seed,
            from_file=True,
            machine=self.machine(),
        )

    def check_keys(self, table: Mapping[str, Any], known: Iterable[str], place: str) -> None:
        for key in table:
            if key not in known:
                raise self.error(f"{place}unknown key '{key}'{self.nearest(key, known)}")

    def nearest(self, name: str, known: Iterable[str]) -> str:
        known = list(known)
        close = get_close_matches(name, known, 1, 0.5)
        if close:
            return f"; did you mean '{close[0]}'?"
        return f"; known are {', '.join(known)}" if known else ""

    # Keys of the top level --------------------------------------------------------------------------------------------

    def table(self, key: str) -> dict[str, Any]:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"'{key}' must be a table, [{key}]")
        return value

    def text(self, key: str) -> str:
        value = self.content[key]
        if not isinstance(value, str):
            raise self.error(f"'{key}' must be a string, not {value!r}")
        return value

    def texts(self, key: str) -> list[str]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"'{key}' must be a list of strings, not {value!r}")
        return value

    def array(self, name: str, text: object) -> ArrayText:
        place = f"arrays.{name}"
        if not isinstance(text, str):
            raise self.error(f'{place} must be a string such as "f32[1024]=random", not {text!r}')
        try:
            value = parse_value(text, self.folder)
        except ValueError as problem:
            raise self.error(f"{place} '{text}': {problem}") from None
        if not isinstance(value, ArrayText):
            raise self.error(f"{place} '{text}' is no array; for example f32[1024]=random")
        return value

    def output(self, name: str, file: object, arrays: Mapping[str, ArrayText]) -> Path:
        if name not in arrays:
            raise self.error(f"outputs.{name}: there is no array '{name}'{self.nearest(name, arrays)}")
        if not isinstance(file, str):
            raise self.error(f'outputs.{name} must be a file\'s name such as "y.npy", not {file!r}')
        return check_output(self.folder / file, f"{self.path}: outputs.{name}")

    def machine(self) -> MachineChoice:
        gpu = self.text("gpu") if "gpu" in self.content else None
        if gpu is not None and gpu.endswith(".toml"):
            gpu = str(self.folder / gpu)
        policies = dict(self.policy(slot, text) for slot, text in self.table("policies").items())
        return MachineChoice(gpu, flat(self.table("set")), policies)

    def policy(self, slot: str, text: object) -> tuple[str, PolicyChoice]:
        try:
            if not isinstance(text, str):
                raise ValueError(f"it must be a string, not {text!r}")
            return read_slot(slot), read_choice(text, self.folder)
        except ValueError as problem:
            raise self.error(f"policies.{slot}: {problem}; {POLICY_EXAMPLES}") from None

    # Keys of a launch -------------------------------------------------------------------------------------------------

    def launch(self, place: str, table: dict[str, Any], arrays: Mapping[str, ArrayText]) -> LaunchPlan:
        self.check_keys(table, LAUNCH_KEYS, f"{place}: ")
        kernel = table.get("kernel")
        if kernel is not None and not isinstance(kernel, str):
            raise self.error(f"{place}: 'kernel' must be a string, not {kernel!r}")
        arguments = table.get("args", [])
        if not isinstance(arguments, list):
            raise self.error(f"{place}: 'args' must be a list of strings, not {arguments!r}")
        return LaunchPlan(
            kernel,
            self.size(place, table, "grid"),
            self.size(place, table, "block"),
            tuple(self.argument(f"{place}: args[{k}]", text, arrays) for k, text in enumerate(arguments)),
            self.count(place, table, "shared", 0, at_least=0),
            self.count(place, table, "repeat", 1, at_least=1),
        )

    def size(self, place: str, table: dict[str, Any], key: str) -> tuple[int, ...]:
        value = table.get(key)
        if value is None:
            raise self.error(f"{place}: '{key}' is missing; for example {key} = 256")
        try:
            parts = value if isinstance(value, list) else [value]
            return tuple(n for part in parts for n in parse_size(str(part)))
        except ValueError as problem:
            raise self.error(f"{place}: bad '{key}': {problem}") from None

    def count(self, place: str, table: dict[str, Any], key: str, default: int, at_least: int) -> int:
        value = table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
            raise self.error(f"{place}: '{key}' must be an integer of at least {at_least}, not {value!r}")
        return value

    def argument(self, place: str, text: object, arrays: Mapping[str, ArrayText]) -> np.generic | str:
        if not isinstance(text, str):
            raise self.error(f'{place} must be a string such as "i32:1024" or an array\'s name, not {text!r}')
        if text in arrays:
            return text
        if ":" not in text and "[" not in text:
            raise self.error(f"{place}: there is no array '{text}'{self.nearest(text, arrays)}")
        try:
            value = parse_value(text, self.folder)
        except ValueError as problem:
            raise self.error(f"{place} '{text}': {problem}") from None
        if isinstance(value, ArrayText):
            raise self.error(f"{place} '{text}': an array must be declared under [arrays] and named here")
        return value


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables in tables as dotted keys."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found.update(flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value})
    return found
