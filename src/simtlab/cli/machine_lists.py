"""`simtlab list gpus` and `simtlab list policies`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simtlab.cli.tables import show_table
from simtlab.machine.hooks import MECHANISMS, SLOTS

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
    l1d_bytes: int  # the most, where a launch divides one memory between L1 and shared memory
    shared_bytes: int
    l2_bytes: int
    dram: str
    peak_bytes_per_second: float
    splits: tuple[tuple[int, int], ...] = ()  # bytes of L1 and of shared memory that a launch chooses from
    isa: str = "ptx"  # what its cores execute

    def cells(self) -> list[str]:
        most = "≤" if self.splits else ""
        sizes = [f"{most}{size / 1024:g}" for size in (self.l1d_bytes, self.shared_bytes)]
        kilobytes = [*sizes, f"{self.l2_bytes / 1024:g}"]
        numbers = [self.cores, self.core_mhz, self.warps_per_core, self.schedulers_per_core]
        return [self.name, *(f"{n:g}" for n in numbers), *kilobytes, self.dram, f"{self.peak_bytes_per_second / 1e9:.1f}", self.isa]


@dataclass(frozen=True)
class GpuList:
    """The presets."""

    rows: Sequence[GpuRow]

    def as_json(self) -> dict[str, Any]:
        return {"gpus": [asdict(row) for row in self.rows]}

    def show(self, console: Console) -> None:
        header = ["gpu", "cores", "MHz", "warps", "schedulers", "L1 KB", "shared KB", "L2 KB", "DRAM", "GB/s", "executes"]
        show_table(console, header, [row.cells() for row in self.rows], right=(*range(1, 8), 9))
        for row in self.rows:
            if row.splits:
                least, most = (f"{l1 / 1024:g} and {shared / 1024:g}" for l1, shared in (min(row.splits), max(row.splits)))
                console.print(f"{row.name}: L1 and shared memory are one, and each launch divides it by the shared memory its "
                              f"CTAs want, {most} KB to {least} KB; `simtlab run` says how", soft_wrap=True)  # fmt: skip


def list_gpus() -> GpuList:
    """Every preset, its main figures a core or of the whole chip."""
    from simtlab.machine.config import load, presets

    return GpuList([gpu_row(name, load(name)) for name in presets()])


def gpu_row(name: str, config: MachineConfig) -> GpuRow:
    core, dram = config.core, config.dram
    splits = splits_at_launch(config)
    l1d_bytes, shared_bytes = (max(part) for part in zip(*splits or [(config.l1d.bytes, config.shared_memory.bytes)], strict=True))
    return GpuRow(
        name, core.cores, config.clocks.core_mhz, core.max_warps, config.issue.schedulers, l1d_bytes, shared_bytes,
        config.l2.total_bytes, f"{dram.channels} × {dram.kind}", config.peak_dram_bandwidth, splits, core.isa,
    )  # fmt: skip


def splits_at_launch(config: MachineConfig) -> tuple[tuple[int, int], ...]:
    """Bytes of L1 and of shared memory that a launch chooses from; none where they are fixed."""
    shared = config.shared_memory
    return shared.splits if shared.shares_l1 and shared.split == "at-launch" else ()


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
    for slot in (*SLOTS, MECHANISMS[0]):
        for name in available(slot):
            module = import_module(f"simtlab.policies.{slot}.{name.replace('-', '_')}")
            summary = (module.__doc__ or "").strip().split("\n")[0]
            rows.append(PolicyRow(slot, name, dict(getattr(module, "parameters", {})), summary))
    return PolicyList(rows)
