"""Presets and overrides: from TOML and from `key=value` text to a checked machine."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from simtlab.errors import ConfigError
from simtlab.machine.config.machine import KEYS, MachineConfig, build, impossible, unknown

_PRESETS = files("simtlab.machine") / "presets"


def presets() -> list[str]:
    """The machines that come with simtlab."""
    return sorted(entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))


def load(name_or_path: str | Path, overrides: Iterable[str] = ()) -> MachineConfig:
    """A preset by name, or a TOML file by path, with `key=value` overrides."""
    is_preset = isinstance(name_or_path, str) and _is_preset(name_or_path)
    config = _preset(str(name_or_path)) if is_preset else _from_file(Path(name_or_path))
    changes = dict(parse_override(override) for override in overrides)
    return config.replace(changes) if changes else config


def parse_override(text: str) -> tuple[str, Any]:
    """`l1d.ways=8` as a key and a value of that key's type."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"override {text!r} has no value: write key=value, such as l1d.ways=8")
    if key not in KEYS:
        raise ConfigError(unknown(key, value))
    kind = KEYS[key].metadata["kind"]
    try:
        parsed = kind.read(value)
    except (ValueError, KeyError):
        raise ConfigError(impossible(key, value, kind.allowed)) from None
    if not kind.accepts(parsed):
        raise ConfigError(impossible(key, parsed, kind.allowed))
    return key, parsed


def _is_preset(name: str) -> bool:
    return not name.endswith(".toml")


@cache
def _preset(name: str) -> MachineConfig:
    return _build(f"preset {name}", _read(name, ()), name)


def _from_file(path: Path) -> MachineConfig:
    return _build(str(path), _read(str(path), ()), path.stem)


def _build(where: str, values: dict[str, Any], name: str) -> MachineConfig:
    try:
        return build(values, values.pop("name", name))
    except ConfigError as error:
        raise ConfigError("\n".join(f"{where}: {line}" for line in str(error).splitlines())) from None


def _read(name: str, readers: tuple[str, ...]) -> dict[str, Any]:
    """The keys of a preset or a file over those of its base. A base that is a file is sought beside the one that names it."""
    if name in readers:
        raise ConfigError(f"{readers[0]}: base goes round in a circle: {' -> '.join((*readers, name))}")
    document = _parse(name)
    base = document.pop("base", None)
    if base is None:
        return _flat(document)
    if not isinstance(base, str):
        raise ConfigError(f"{name}: {impossible('base', base, 'the name of a preset or the path of a TOML file')}")
    values = _read(base if _is_preset(base) else str(Path(name).parent / base), (*readers, name))
    values.pop("name", None)
    return {**values, **_flat(document)}


def _parse(name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(name))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name}: is not TOML: {error}") from None


def _text(name: str) -> str:
    if _is_preset(name) and name not in presets():
        near = get_close_matches(name, presets(), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"no machine named {name}: {hint}presets are {', '.join(presets())}; a file's name ends in .toml")
    source = _PRESETS / f"{name}.toml" if _is_preset(name) else Path(name)
    try:
        return source.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: is not UTF-8 text") from None


def _flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
