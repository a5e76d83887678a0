"""The machine's configuration: frozen sections, TOML presets, `key=value` overrides, errors that name the key."""

from simtlab.machine.config.core import (
    OPERATIONS,
    PHYSICAL_UNITS,
    Clocks,
    Core,
    Issue,
    Operation,
    RegisterFile,
    SharedMemory,
    Units,
)
from simtlab.machine.config.energy import Energy
from simtlab.machine.config.load import load, parse_override, presets
from simtlab.machine.config.machine import KEYS, SECTIONS, MachineConfig
from simtlab.machine.config.memory import AddressMap, Cache, DataCache, Dram, L2Cache
from simtlab.machine.config.network import Network, Policies

__all__ = [
    "KEYS",
    "OPERATIONS",
    "PHYSICAL_UNITS",
    "SECTIONS",
    "AddressMap",
    "Cache",
    "Clocks",
    "Core",
    "DataCache",
    "Dram",
    "Energy",
    "Issue",
    "L2Cache",
    "MachineConfig",
    "Network",
    "Operation",
    "Policies",
    "RegisterFile",
    "SharedMemory",
    "Units",
    "load",
    "parse_override",
    "presets",
]  # fmt: skip
