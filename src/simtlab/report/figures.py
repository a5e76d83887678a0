"""The figures of a launch that stand at the top of its page: each with its unit and a sentence, computed from the counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simtlab.machine.config import MachineConfig
from simtlab.machine.ratios import RATIOS
from simtlab.report.markup import byte_count, grouped, percent, scaled
from simtlab.report.profile import LaunchProfile

WARP = 32
FULL_NAMES = {
    "sp": "FP32 (SP) unit", "heavy": "multiply-add unit", "int": "integer unit", "dp": "FP64 (DP) unit",
    "sfu": "special function unit", "tensor": "tensor unit", "ldst": "load/store unit", "tex": "texture unit",
    "request_network": "network to L2", "reply_network": "network from L2", "l2": "L2 slices", "dram_bus": "DRAM bus",
}  # fmt: skip

COMPONENTS = {
    "front_end": "front end", "register_file": "register file", "sp": "FP32 units", "int": "integer units", "dp": "FP64 units",
    "sfu": "special function units", "tensor": "tensor units", "ldst": "load/store units", "shared_memory": "shared memory",
    "l1_data": "L1", "l1_constant": "constant cache", "texture": "texture", "network": "network", "l2": "L2", "dram": "DRAM",
    "static": "static", "policies": "policies",
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A number of a launch; None where nothing was counted that it could come from."""

    name: str
    meaning: str
    of: Callable[[LaunchProfile], float | None]
    text: Callable[[float], str] = grouped

    def shown(self, profile: LaunchProfile) -> str:
        value = self.of(profile)
        return "–" if value is None else self.text(value)


def share(above: float, below: float) -> float | None:
    return above / below if below else None


def l1_hit_rate(counters: Mapping[str, int]) -> float | None:
    """Accesses of loads that found their data; those that merged with a miss in flight did not."""
    return share(counters["l1_hits"], counters["l1_hits"] + counters["l1_hits_reserved"] + counters["l1_misses"])


def l2_hit_rate(counters: Mapping[str, int]) -> float | None:
    return share(counters["l2_hits"], counters["l2_hits"] + counters["l2_hits_reserved"] + counters["l2_misses"])


def dram_bytes(machine: MachineConfig, counters: Mapping[str, Any]) -> Any:
    """What moved on the buses of the channels, in both directions."""
    return counters["dram_bus_cycles"] * machine.dram.bus_bytes * machine.dram.data_rate


def network_bytes(machine: MachineConfig, counters: Mapping[str, Any]) -> Any:
    """What moved between cores and L2, in both directions; headers and the empty rest of a last flit are in it."""
    return (counters["request_flits"] + counters["reply_flits"]) * machine.network.flit_bytes


def lane_operations(profile: LaunchProfile) -> int:
    """Operations of lanes on the units that do FP32 arithmetic; a multiply-add is one."""
    units = profile.machine.units
    named = [name.removeprefix("lanes_") for name in profile.counters if name.startswith("lanes_")]
    return sum(profile.counters[f"lanes_{name}"] for name in named if hasattr(units, name) and units.executed_on(name) == "sp")


def flops(profile: LaunchProfile) -> int:
    """FP32 operations; a multiply-add is two."""
    count = profile.counters
    return sum(count[f"lanes_sp_{name}"] for name in ("add", "max", "mul", "div")) + 2 * count["lanes_sp_mad"]


def issue_slots_used(profile: LaunchProfile) -> float | None:
    return share(profile.stalls["issued"], profile.scheduler_cycles)


def theoretical_warps(profile: LaunchProfile) -> int:
    return profile.ctas_per_core * profile.warps


def per_scheduler(profile: LaunchProfile) -> float:
    return profile.ipc / (profile.machine.core.cores * profile.machine.issue.schedulers)


def rate(amount: Callable[[LaunchProfile], float]) -> Callable[[LaunchProfile], float | None]:
    return lambda profile: share(amount(profile), profile.seconds)


def seconds(value: float) -> str:
    return scaled(value, "s")


def joules(value: float) -> str:
    return scaled(value, "J")


def bytes_a_second(value: float) -> str:
    return scaled(value, "B/s")


FIGURES = [
    Figure("Cycles", "Core cycles from the launch to its last write.", lambda p: p.cycles),
    Figure("Time on the machine", "Cycles at the core clock.", lambda p: p.seconds, seconds),
    Figure("Warp instructions", "Issued, guarded-off ones included.", lambda p: p.instructions),
    Figure("IPC, chip", "Warp instructions a core cycle, all cores together.", lambda p: p.ipc),
    Figure("IPC per scheduler", "Over all schedulers of all cores, those without work included.", per_scheduler),
    Figure("Issue slots used", "Scheduler cycles in which an instruction was issued.", issue_slots_used, percent),
    Figure("Lanes in use", "Of 32, mean of the issued instructions.", lambda p: p.lanes_in_use),
    Figure("Issue interval of a warp", "Core cycles from one of its instructions to the next, mean.",
           lambda p: p.cycles_between_instructions),
    Figure("CTAs per core that fit", "The smallest of what CTA slots, warps, threads, registers and shared memory allow.",
           lambda p: p.ctas_per_core),
    Figure("Theoretical occupancy", "Warps of the CTAs that fit, of the warps a core can hold.",
           lambda p: share(theoretical_warps(p), p.machine.core.max_warps), percent),
    Figure("Resident warps achieved", "On a core that has a CTA, mean over time.", lambda p: p.resident_warps),
    Figure("Achieved occupancy", "Resident warps, of the warps a core can hold.",
           lambda p: share(p.resident_warps, p.machine.core.max_warps), percent),
    Figure("L1 hit rate", "Of loads' accesses; one that merged with a miss in flight is no hit.", lambda p: l1_hit_rate(p.counters),
           percent),
    Figure("L2 hit rate", "Of reads; one that merged with a miss in flight is no hit.", lambda p: l2_hit_rate(p.counters), percent),
    Figure("Mean load latency", "Core cycles from issue to result, loads and atomics.",
           lambda p: share(p.counters["load_latency_cycles"], p.counters["loads_finished"])),
    Figure("Mean round trip beyond L1", "Core cycles from leaving the L1 to the answer.",
           lambda p: RATIOS["round_trip"].of(p.counters)),
    Figure("DRAM traffic", "Read and written.", lambda p: dram_bytes(p.machine, p.counters), byte_count),
    Figure("DRAM bandwidth", "Traffic over the time on the machine.", rate(lambda p: dram_bytes(p.machine, p.counters)),
           bytes_a_second),
    Figure("Energy", "All components, static energy included; an estimate.",
           lambda p: sum(p.energy.values()), joules),
]  # fmt: skip
