"""The configuration of a whole machine: sections, their keys, changed copies, and errors that name the key."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

from simtlab.errors import ConfigError
from simtlab.machine.config.core import Clocks, Core, Issue, RegisterFile, SharedMemory, Units
from simtlab.machine.config.energy import Energy
from simtlab.machine.config.keys import Text
from simtlab.machine.config.memory import AddressMap, ConstantCache, DataCache, Dram, InstructionCache, L2Cache, TextureCache, Tlb
from simtlab.machine.config.network import Network, Policies


@dataclass(frozen=True, kw_only=True)
class MachineConfig:
    """A GPU, complete. Building one checks it: there is no invalid MachineConfig."""

    name: str
    clocks: Clocks
    core: Core
    issue: Issue
    register_file: RegisterFile
    units: Units
    shared_memory: SharedMemory
    l1d: DataCache
    l1i: InstructionCache
    l1c: ConstantCache
    l1t: TextureCache
    network: Network
    l2: L2Cache
    dram: Dram
    address_map: AddressMap
    tlb: Tlb
    energy: Energy
    policies: Policies

    def __post_init__(self) -> None:
        self.validate()

    def validate(self) -> None:
        """Raise ConfigError, with every problem found, if this machine cannot be built."""
        from simtlab.machine.config.rules import contradictions  # here because the rules speak of this class

        values = dict(self.items())
        problems = [
            impossible(key, values[key], field.metadata["allowed"])
            for key, field in KEYS.items()
            if not field.metadata["kind"].accepts(values[key])
        ]
        if not Text().accepts(self.name):
            problems.append(impossible("name", self.name, Text.allowed))
        if not problems:
            problems = contradictions(self)
        if problems:
            raise ConfigError("\n".join(problems))

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every key with its value, as `l1d.ways`, 4."""
        yield from zip(KEYS, ALL_VALUES(self), strict=True)

    def replace(self, changes: Mapping[str, Any]) -> "MachineConfig":
        """A copy with some keys changed: `config.replace({"l1d.ways": 8, "l1d.bytes": 32768})`."""
        name = changes.get("name", self.name)
        return build({**dict(self.items()), **{key: value for key, value in changes.items() if key != "name"}}, name)

    @property
    def clusters(self) -> int:
        """Network ports on the cores' side."""
        return self.core.cores // self.core.cores_per_cluster

    @property
    def peak_dram_bandwidth(self) -> float:
        """Bytes a second over all channels, every DRAM cycle moving data."""
        return self.dram.channels * self.dram.bus_bytes * self.dram.data_rate * self.clocks.dram_mhz * 1e6


SECTIONS: dict[str, type] = {f.name: f.type for f in fields(MachineConfig) if is_dataclass(f.type)}  # type: ignore[misc]


def _keys_of(section: Any, prefix: str) -> Iterator[tuple[str, Field]]:
    for f in fields(section):
        if is_dataclass(f.type):
            yield from _keys_of(f.type, f"{prefix}.{f.name}")
        else:
            yield f"{prefix}.{f.name}", f


KEYS: dict[str, Field] = {key: f for name, section in SECTIONS.items() for key, f in _keys_of(section, name)}
ALL_VALUES = attrgetter(*KEYS)  # of a machine, in the order of the keys


def build(values: Mapping[str, Any], name: str) -> MachineConfig:
    """A machine from its keys. Unknown and missing keys are errors; keys with a default may be left out."""
    problems = [unknown(key, value) for key, value in values.items() if key not in KEYS]
    missing = [key for key, f in KEYS.items() if key not in values and f.default is MISSING]
    problems += [f"{key} is missing: give {KEYS[key].metadata['allowed']}" for key in missing]
    if problems:
        raise ConfigError("\n".join(problems))
    return MachineConfig(name=name, **{section: _section(kind, section, values) for section, kind in SECTIONS.items()})


def _section(kind: Any, prefix: str, values: Mapping[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for f in fields(kind):
        key = f"{prefix}.{f.name}"
        if is_dataclass(f.type):
            given[f.name] = _section(f.type, key, values)
        elif key in values:
            given[f.name] = _frozen(values[key])
    return kind(**given)


def _frozen(value: Any) -> Any:
    """Lists, as TOML gives them, made hashable."""
    return tuple(_frozen(part) for part in value) if isinstance(value, list | tuple) else value


def shown(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(part) for part in value) + "]"
    return str(value)


def impossible(key: str, value: Any, allowed: str) -> str:
    return f"{key} = {shown(value)} is impossible: allowed is {allowed}"


def unknown(key: str, value: Any) -> str:
    """Words for a key that does not exist, with the nearest that do."""
    near = get_close_matches(key.lower(), KEYS, n=3, cutoff=0.7)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        section = key.split(".")[0]
        inside = [known.removeprefix(f"{section}.") for known in KEYS if known.startswith(f"{section}.")]
        if section == "units":
            inside = list(dict.fromkeys(known.split(".")[0] for known in inside))
        hint = f"keys of {section} are {', '.join(inside)}" if inside else f"sections are {', '.join(SECTIONS)}"
    return f"unknown key {key} (given {shown(value)}): {hint}"
