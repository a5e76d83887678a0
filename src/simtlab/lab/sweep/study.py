"""A study file: a sweep in TOML.

    workloads = ["BFS", "MM"]
    size = "small"
    gpu = ["caps-gtx480"]
    [policies]
    warp_scheduler = ["lrr", "gto", "two-level"]
    [set]
    "l1d.ways" = [4, 8]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.lab.errors import StudyError
from simtlab.lab.ingredients import Look
from simtlab.lab.sweep.sweep import Sweep

KEYS = ("workloads", "size", "gpu", "seed", "policies", "set", "parameters", "input", "beside", "zip", "profile", "sample")
TABLES = ("policies", "set", "parameters", "input", "beside")


def read_study(path: Path) -> Sweep:
    """The sweep in a file, with every experiment of it looked at: what is wrong is told before anything runs."""
    content = _load(path)
    for key in content:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1, 0.5)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(KEYS)}"
            raise StudyError(f"{path}: unknown key '{key}'; {hint}")
    if "workloads" not in content:
        raise StudyError(f"{path}: 'workloads' is missing; for example workloads = [\"BFS\", \"MM\"]")
    for key in TABLES:
        if not isinstance(content.get(key, {}), dict):
            raise StudyError(f"{path}: '{key}' must be a table, [{key}]")
    _check_zip(path, content.get("zip", []))
    given = {**content, "set": flat(content.get("set", {}))}
    sweep = Sweep(**given, folder=path.parent)
    try:
        check(sweep)
    except SimtlabError as problem:
        raise StudyError(f"{path}: {problem}") from None
    return sweep


def check(sweep: Sweep) -> None:
    """An error unless every value of every axis exists and fits: workloads, sizes, parameters, machines, policies, files."""
    look = Look()
    for experiment in sweep.experiments():
        experiment.ingredients(look)


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Tables in tables as dotted keys: `l1d.ways = 4` and `"l1d.ways" = 4` are the same."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found.update(flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value})
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise StudyError(f"{path}: {problem}") from None


def _check_zip(path: Path, given: Any) -> None:
    lists = isinstance(given, list) and all(isinstance(group, list) for group in given)
    if not lists or not all(isinstance(name, str) for group in given for name in group):
        raise StudyError(f"{path}: 'zip' must be a list of lists of axes, for example zip = [[\"l1d.ways\", \"l1d.bytes\"]]")
