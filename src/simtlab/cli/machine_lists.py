"""`simtlab list gpus` and `simtlab list policies`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simtlab.cli.tables import show_table
from simtlab.lab.machines import SLOTS

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.machine.config import MachineConfig


@dataclass(frozen=True)
class GpuRow:
    name: str
    cores: int
    core_mhz: float
    warps_per_core: int
    schedulers_per_core: int
    l1d_bytes: int
    shared_bytes: int
    l2_bytes: int
    dram: str
    peak_bytes_per_second: float

    def cells(self) -> list[str]:
        kilobytes = [f"{size / 1024:g}" for size in (self.l1d_bytes, self.shared_bytes, self.l2_bytes)]
        numbers = [self.cores, self.core_mhz, self.warps_per_core, self.schedulers_per_core]
        return [self.name, *(f"{n:g}" for n in numbers), *kilobytes, self.dram, f"{self.peak_bytes_per_second / 1e9:.1f}"]


@dataclass(frozen=True)
class GpuList:
    """The presets."""

    rows: Sequence[GpuRow]

    def as_json(self) -> dict[str, Any]:
        return {"gpus": [asdict(row) for row in self.rows]}

    def show(self, console: Console) -> None:
        header = ["gpu", "cores", "MHz", "warps", "schedulers", "L1 KB", "shared KB", "L2 KB", "DRAM", "GB/s"]
        show_table(console, header, [row.cells() for row in self.rows], right=(*range(1, 8), 9))


def list_gpus() -> GpuList:
    """Every preset, its main figures a core or of the whole chip."""
    from simtlab.machine.config import load, presets

    return GpuList([gpu_row(name, load(name)) for name in presets()])


def gpu_row(name: str, config: MachineConfig) -> GpuRow:
    core, dram = config.core, config.dram
    return GpuRow(
        name, core.cores, config.clocks.core_mhz, core.max_warps, config.issue.schedulers, config.l1d.bytes,
        config.shared_memory.bytes, config.l2.total_bytes, f"{dram.channels} × {dram.kind}", config.peak_dram_bandwidth,
    )  # fmt: skip


@dataclass(frozen=True)
class PolicyRow:
    slot: str
    name: str
    parameters: dict[str, Any]
    summary: str

    def cells(self) -> list[str]:
        parameters = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return [self.slot, self.name, parameters, self.summary]


@dataclass(frozen=True)
class PolicyList:
    """The policies that come with simtlab."""

    rows: Sequence[PolicyRow]

    def as_json(self) -> dict[str, Any]:
        return {"policies": [asdict(row) for row in self.rows]}

    def show(self, console: Console) -> None:
        show_table(console, ["slot", "policy", "parameters", "what it does"], [row.cells() for row in self.rows])


def list_policies() -> PolicyList:
    """Every policy of every slot, with its parameters' defaults and the first line of its docstring."""
    from simtlab.policies.load import available

    rows = []
    for slot in SLOTS:
        for name in available(slot):
            module = import_module(f"simtlab.policies.{slot}.{name.replace('-', '_')}")
            summary = (module.__doc__ or "").strip().split("\n")[0]
            rows.append(PolicyRow(slot, name, dict(getattr(module, "parameters", {})), summary))
    return PolicyList(rows)
