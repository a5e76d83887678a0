"""Find a workload's folder by name or by path, and import its `workload.py`."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from simtlab.outside import told, words
from simtlab.storage import import_file
from simtlab.workloads.errors import WorkloadError

HERE = Path(__file__).parent
DEFINITION, KERNELS = "workload.py", "kernel.cu"
SIZES = ("tiny", "small", "paper")
CATEGORIES = ("regular", "irregular")
CONTRACT = {
    "NAME": "the name it goes by",
    "SUITE": "where it comes from",
    "CATEGORY": '"regular" or "irregular"',
    "SIZES": 'parameters by size: {"tiny": {...}, "small": {...}, "paper": {...}}',
    "inputs": "inputs(*, seed=0, **parameters) -> dict of arrays and numbers",
    "run": "run(launcher, data) -> dict of output arrays",
    "reference": "reference(data) -> dict of the output arrays expected",
}
PAPERS = ("CAPS", "DYNCTA", "LOADS")
DYNCTA_TYPES = ("Type-C", "Type-M", "Type-X")  # compute-intensive, memory-intensive, too little parallelism (its Table II)
OPTIONAL: dict[str, Any] = {"OPTIONS": (), "KERNEL_NAMES": (), "TOLERANCE": {}, "FILES": {}, "PAPERS": (), "DYNCTA_TYPE": "",
                            "ALIASES": ()}  # fmt: skip


def workloads() -> list[str]:
    """Names of the workloads in the package."""
    return sorted(load(folder).NAME for folder in _folders())


def find(name: str | os.PathLike) -> Path:
    """The folder of a workload: a name or an alias of the package's, or the path of a folder."""
    text = os.fspath(name)
    named = find_by_name(text, names())
    if named is not None:
        return named
    folder = Path(text)
    if not is_path(text):
        raise WorkloadError(_unknown(text))
    if not folder.is_dir():
        raise WorkloadError(f"there is no folder {folder}; a workload outside the package is a folder")
    missing = [file for file in (DEFINITION, KERNELS) if not (folder / file).is_file()]
    if missing:
        raise WorkloadError(f"{folder} is no workload: it has no {' and no '.join(missing)}")
    return folder.resolve()


def _folders() -> list[Path]:
    return sorted(path.parent for path in HERE.glob(f"*/{DEFINITION}"))


@cache
def names() -> dict[str, Path]:
    """The folders of the package's workloads by all that they are called: names, and the aliases that papers use."""
    return folders_by_name((load(folder), folder) for folder in _folders())


def folders_by_name(definitions: Iterable[tuple[ModuleType, Path]]) -> dict[str, Path]:
    """The folders by name and alias; WorkloadError if two workloads are called the same."""
    found: dict[str, Path] = {}
    for definition, folder in definitions:
        for name in (definition.NAME, *definition.ALIASES):
            if name in found:
                raise WorkloadError(f"two workloads are called '{name}': {found[name]} and {folder}; change one's NAME or ALIASES")
            found[name] = folder
    return found


def find_by_name(text: str, known: Mapping[str, Path]) -> Path | None:
    """The workload with this name, whatever its case; WorkloadError if it is that of two in other cases."""
    if text in known:
        return known[text]
    alike = [name for name in known if name.lower() == text.lower()]
    if len({known[name] for name in alike}) > 1:
        raise WorkloadError(f"'{text}' may be {' or '.join(alike)}: write it as one of these")
    return known[alike[0]] if alike else None


def is_path(text: str) -> bool:
    """Whether a name stands for a folder: it has a separator in it, or there is such a folder."""
    return os.sep in text or "/" in text or os.path.isdir(text)


def _unknown(name: str) -> str:
    upper: dict[str, str] = {}
    for known in (*workloads(), *names()):
        upper.setdefault(known.upper(), known)
    near = [upper[match] for match in get_close_matches(name.upper(), upper, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(workloads())}"
    return f"there is no workload '{name}'; {hint} (a workload of your own is given by the path of its folder)"


@cache
def load(folder: Path) -> ModuleType:
    """The module `workload.py` of a folder, with every name of the contract."""
    if folder.parent == HERE:
        module = import_module(f"simtlab.workloads.{folder.name}.workload")
    else:
        module = _import_by_path(folder / DEFINITION)
    missing = [name for name in CONTRACT if not hasattr(module, name)]
    if missing:
        wanted = "; ".join(f"{name}: {CONTRACT[name]}" for name in missing)
        raise WorkloadError(f"{folder / DEFINITION} lacks {', '.join(missing)} ({wanted})")
    for name, value in OPTIONAL.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    _check_values(folder / DEFINITION, module)
    return module


def _check_values(path: Path, module: ModuleType) -> None:
    for name in ("inputs", "run", "reference"):
        if not callable(getattr(module, name)):
            raise WorkloadError(f"{path}: {name} must be a function: {CONTRACT[name]}")
    if module.CATEGORY not in CATEGORIES:
        raise WorkloadError(f"{path}: CATEGORY is {module.CATEGORY!r}; it must be {CONTRACT['CATEGORY']}")
    for paper in module.PAPERS:
        if paper not in PAPERS:
            raise WorkloadError(f"{path}: PAPERS has {paper!r}; the papers are {', '.join(PAPERS)}")
    if module.DYNCTA_TYPE not in ("", *DYNCTA_TYPES):
        raise WorkloadError(f"{path}: DYNCTA_TYPE is {module.DYNCTA_TYPE!r}; it must be one of {', '.join(DYNCTA_TYPES)}")
    if not isinstance(module.ALIASES, tuple | list):
        raise WorkloadError(f"{path}: ALIASES is {module.ALIASES!r}; it must be a tuple of names")
    sizes = module.SIZES
    if not isinstance(sizes, dict) or not sizes or not all(isinstance(value, dict) for value in sizes.values()):
        raise WorkloadError(f"{path}: SIZES must be {CONTRACT['SIZES']}")


def _import_by_path(path: Path) -> ModuleType:
    """Import a file under a name of its own; what is wrong with it is told with its file and line."""
    name = f"simtlab_workload_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"
    try:
        return import_file(path, name)
    except (Exception, SystemExit) as error:
        raise WorkloadError(told(error) or f"{path}: {words(error)}") from error


def parameter_names(module: ModuleType) -> list[str]:
    """Keywords that a workload's `inputs` takes besides the seed, files left out."""
    named = [p.name for p in inspect.signature(module.inputs).parameters.values() if p.kind != p.VAR_KEYWORD]
    from_sizes = [name for parameters in module.SIZES.values() for name in parameters]
    return [name for name in dict.fromkeys([*named, *from_sizes]) if name != "seed" and name not in module.FILES]
