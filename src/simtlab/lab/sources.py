"""Digests of what a result depends on: simtlab's own sources, a policy's file, a workload's folder, input files."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from simtlab.errors import ConfigError
from simtlab.policies.choice import available, folder_of
from simtlab.storage import PACKAGE, digest_of_sources

# Every result depends on these. Policies, workloads and what they alone import count for their own runs only; presets
# count through the values they give a machine.
SIMULATOR = (
    "compiled.py", "dispatcher.py", "frontend", "isa", "program", "execute", "host", "machine",
    *(f"policies/{path.name}" for path in sorted((PACKAGE / "policies").glob("*.py"))),
    "workloads/frame.py", "workloads/beside.py", "workloads/loading.py", "workloads/check.py", "workloads/files.py",
    "lab/run_experiment.py", "lab/tables.py",
)  # fmt: skip
OWN_FOLDERS = ("policies", "workloads")  # whose files are followed from import to import
LEFT_OUT = ("__pycache__",)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@cache
def simulator_digest() -> str:
    """What stands for simtlab itself in a key: its sources, and the CUDA compiler that makes the PTX."""
    return digest_of_sources(*SIMULATOR, also=compiler_version())


@cache
def compiler_version() -> str:
    try:
        return version("nvidia-cuda-nvrtc")
    except PackageNotFoundError:
        return "none"


def digest_of_files(files: Iterable[tuple[str, Path]]) -> str:
    """A digest of files under the names they are known by."""
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{name}\0{_contents(path, state_of(path))}\0".encode())
    return digest.hexdigest()[:16]


def state_of(path: Path) -> tuple[int, ...]:
    """What changes when a file does, so that a large sweep reads each file once."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(4096)
def _contents(path: Path, state: tuple[int, ...]) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


# Policies -------------------------------------------------------------------------------------------------------------


def policy_file(slot: str, name: str) -> Path:
    """The file of a policy, given by its name or by its path."""
    if name.endswith(".py"):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"policy {name}: there is no such file")
        return path
    known = available(slot)
    if name not in known:
        near = get_close_matches(name, known, 1, 0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise ConfigError(
            f"no {slot.replace('_', ' ')} '{name}': {hint}there are {', '.join(known)}; a file's name ends in .py"
        )
    return folder_of(slot) / f"{name.replace('-', '_')}.py"


def policy_defaults(path: Path) -> dict[str, object]:
    """A policy's parameters with their defaults, read without running the file."""
    return dict(_dict_in(path, "parameters", state_of(path)))


def policy_limits(path: Path) -> dict[str, tuple[float, float | None]]:
    """The least and the most that a policy's parameters may be, where it says so."""
    return dict(_dict_in(path, "limits", state_of(path)))


@lru_cache(4096)
def _dict_in(path: Path, name: str, state: tuple[int, ...]) -> dict[str, Any]:
    """A dict of plain values that a file assigns to a name; empty if it does not."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as problem:
        raise ConfigError(f"policy {path}:{problem.lineno}: {problem.msg}") from None
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            try:
                return dict(_plain(node.value, _constants(tree)))
            except (ValueError, TypeError):
                raise ConfigError(f"policy {path}:{node.lineno}: {name} must be a dict of plain values") from None
    return {}


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The plain values that a file gives names to, or takes from simtlab's files by name: `MOST_GROUPS, LINES = 16, 4`."""
    known: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (file := _file_of(node.module or "")):
            there = _constants(ast.parse(file.read_bytes()))
            known |= {alias.asname or alias.name: there[alias.name] for alias in node.names if alias.name in there}
        elif isinstance(node, ast.Assign):
            for name, value in _pairs(node.targets[0], node.value):
                with suppress(ValueError, TypeError):
                    known[name] = _plain(value, known)
    return known


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Names and what each is assigned."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, part)


def _plain(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """A value of constants; a ValueError if it is anything else."""

    class Known(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return ast.Constant(known[name.id]) if isinstance(known.get(name.id), int | float | str) else name

    return ast.literal_eval(Known().visit(deepcopy(node)))


def policy_digest(path: Path) -> str:
    """A policy's file and what it imports of simtlab's other policies."""
    return digest_of_files([("policy", path), *((_name(found), found) for found in imported(path))])


# Workloads ------------------------------------------------------------------------------------------------------------


def workload_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file of a workload's folder, and headers elsewhere that its sources include; by relative name."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(part in LEFT_OUT or part.startswith(".") for part in parts):
            yield path.relative_to(folder).as_posix(), path
    yield from ((f"include {k}", path) for k, path in enumerate(headers_elsewhere(folder)))


def headers_elsewhere(folder: Path) -> list[Path]:
    """Headers outside the folder that its sources include, directly or not."""
    found: dict[Path, None] = {}
    waiting = [path for suffix in ("*.cu", "*.cuh", "*.h") for path in folder.rglob(suffix)]
    while waiting:
        source = waiting.pop()
        for name in _includes(source, state_of(source)):
            header = (source.parent / name).resolve()
            if header.is_file() and folder.resolve() not in header.parents and header not in found:
                found[header] = None
                waiting.append(header)
    return list(found)


@lru_cache(4096)
def _includes(path: Path, state: tuple[int, ...]) -> list[str]:
    return INCLUDE.findall(path.read_text(errors="replace"))


def workload_digest(folder: Path) -> str:
    """A workload's folder and what it imports of simtlab's input generators."""
    definition = folder / "workload.py"
    return digest_of_files([*workload_files(folder), *((_name(found), found) for found in imported(definition))])


# Imports --------------------------------------------------------------------------------------------------------------


def imported(path: Path) -> list[Path]:
    """Files of simtlab's policies and workloads that a Python file imports, directly or not, and that not all runs share."""
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        for module in _imports(waiting.pop()):
            file = _file_of(module)
            if file and file not in found and file != path and not _shared(file):
                found[file] = None
                waiting.append(file)
    return list(found)


def _imports(path: Path) -> tuple[str, ...]:
    return _imports_of(path, state_of(path))


@lru_cache(4096)
def _imports_of(path: Path, state: tuple[int, ...]) -> tuple[str, ...]:
    try:
        return tuple(_modules(ast.parse(path.read_bytes())))
    except SyntaxError:
        return ()  # told when it is loaded, with its line


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _file_of(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] != "simtlab" or len(parts) < 3 or parts[1] not in OWN_FOLDERS:
        return None
    file = PACKAGE.joinpath(*parts[1:]).with_suffix(".py")
    return file if file.is_file() else None


def _shared(path: Path) -> bool:
    return path.relative_to(PACKAGE).as_posix() in SIMULATOR


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()
