"""What a GPU is made with, checked: each wrong setting is an error that says what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.errors import SimtlabError
from simtlab.execute.grid import default_threads
from simtlab.execute.state import PushOrder
from simtlab.isa.sass import ARCHITECTURES

if TYPE_CHECKING:
    from simtlab.machine.machine import Machine


def read_changes(given: Any) -> Mapping[str, Any]:
    """Keys of the configuration and their new values."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise SimtlabError(f"set is {given!r}; it must be a dict of keys and values, as in set={{'l1d.ways': 8}}")


def limit_cycles(machine: Machine, max_cycles: int | None, stuck_cycles: int | None) -> None:
    for name, value in (("max_cycles", max_cycles), ("stuck_cycles", stuck_cycles)):
        if value is not None:
            if value < 1:
                raise SimtlabError(f"{name} is {value}; at least one cycle is needed")
            setattr(machine, name, value)


def usual_threads() -> int:
    """Host threads if nobody says how many."""
    try:
        return default_threads()
    except ValueError as problem:
        raise SimtlabError(str(problem)) from None


def read_isa(name: str) -> str:
    """An instruction set: "ptx", or an architecture's machine code."""
    if name != "ptx" and name not in ARCHITECTURES:
        raise SimtlabError(f"isa is {name!r}; it must be 'ptx' or one of {', '.join(ARCHITECTURES)}")
    return name


def read_reconvergence(name: str) -> str:
    """How lanes of PTX meet again."""
    if name not in ("stack", "barriers"):
        raise SimtlabError(f"reconvergence is {name!r}; it must be 'stack' or 'barriers'")
    return name


def read_push_order(name: str) -> PushOrder:
    """An order in which the sides of a branch go on the SIMT stack."""
    orders = {order.name.lower().replace("_", "-"): order for order in PushOrder}
    if name not in orders:
        raise SimtlabError(f"push_order is {name!r}; it must be one of {', '.join(orders)}")
    return orders[name]


def read_source(source: str | PathLike, default_name: str) -> tuple[str, str]:
    """Program text and the name to call it by: a path is read, text with a line break or a brace is taken as it is.

    A file that is no UTF-8 is taken for Latin-1, as long as it can be text at all.
    """
    if isinstance(source, bytes):
        raise SimtlabError("the source is bytes; give it as a string, or give the path of a file")
    if isinstance(source, str) and not source.strip():
        raise SimtlabError("the source is empty; give it as text, or give the path of a file")
    if isinstance(source, str) and ("\n" in source or "{" in source or ";" in source):
        return source, default_name
    path = Path(source)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SimtlabError(f"cannot read {path}: {error.strerror}") from None
    if b"\0" in raw:
        raise SimtlabError(f"{path} is not a text file")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n"), str(path)
