"""A policy as somebody names it: `two-level,active_warps=6`, or `./mine.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simtlab.machine.hooks import MECHANISMS

FOLDER = Path(__file__).parent

@dataclass(frozen=True)
class PolicyChoice:
    """A policy by name or by the path of its file, with some of its parameters."""

    name: str
    parameters: Mapping[str, int | float] = field(default_factory=dict)

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{name}={value}" for name, value in self.parameters.items())])


def read_choice(text: str, folder: Path = Path()) -> PolicyChoice:
    """`two-level,active_warps=6`. A file's name is relative to `folder`; a ValueError says what is wrong."""
    name, *given = (part.strip() for part in text.split(","))
    parameters: dict[str, int | float] = {}
    for part in given:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise ValueError(f"'{part}' is no parameter with a value")
        parameters[key] = _number(key, value)
    if not name:
        raise ValueError("it names no policy")
    return PolicyChoice(str(folder / name) if name.endswith(".py") else name, parameters)


def _number(key: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"parameter {key} is '{text}', which is no number")


def available(slot: str) -> list[str]:
    """The policies that come with simtlab for a slot."""
    return sorted(path.stem.replace("_", "-") for path in folder_of(slot).glob("*.py") if path.stem != "__init__")


def folder_of(slot: str) -> Path:
    """Where the policies of a slot lie; mechanisms all lie together, whichever they are of a machine's."""
    return FOLDER / ("mechanism" if slot in MECHANISMS else slot)
