"""Mistakes in code that users write (policies, workloads, studies), told in one sentence with file and line."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb

from simtlab.storage import PACKAGE

LIBRARIES = [Path(path) for name, path in sysconfig.get_paths().items() if name in ("stdlib", "platstdlib", "purelib", "platlib")]


def told(error: BaseException) -> str | None:
    """What an exception says and where it arose in a user's file; None if no such file had a part in it."""
    place = place_of(error)
    return f"{place}: {words(error)}" if place else None


def words(error: BaseException) -> str:
    """What an exception says, without its place."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({'' if error.code is None else repr(error.code)})"
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def place_of(error: BaseException) -> str | None:
    """File and line, the innermost that is neither simtlab's nor a library's."""
    if isinstance(error, SyntaxError) and error.filename and is_outside(error.filename):
        return f"{error.filename}:{error.lineno}"
    return next((f"{file}:{line}" for file, line in reversed(list(_steps(error))) if is_outside(file)), None)


def is_outside(file: str) -> bool:
    """Whether a file is a user's own."""
    path = Path(file)
    if file.startswith("<") or path.is_relative_to(PACKAGE):
        return False
    return not any(path.is_relative_to(library) for library in LIBRARIES)


def _steps(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
