"""Utilisation: how much of its time each part of the machine worked."""

from collections.abc import Mapping

from simtlab.machine.config import PHYSICAL_UNITS, MachineConfig


def utilisation(config: MachineConfig, counters: Mapping[str, int], cycles: int) -> dict[str, float]:
    """The share of so many core cycles in which each kind of part worked, all parts of a kind together. Of a network it is what
    it carried against what the side with fewer ports could take, a flit a cycle at each; an ideal network has no such bound."""
    cores, clocks = config.core.cores, config.clocks
    seconds = cycles / clocks.core_mhz
    units = {unit: config.units.number_of(unit) * cores * cycles for unit in PHYSICAL_UNITS} | {
        "ldst": cores * cycles, "tex": cores * cycles,
    }  # fmt: skip
    ports = min(config.clusters, config.l2.slices) if config.network.kind != "ideal" else 0
    worked = {unit: (counters[f"busy_{unit}"], could) for unit, could in units.items()} | {
        "request_network": (counters["request_flits"], ports * seconds * clocks.network_mhz),
        "reply_network": (counters["reply_flits"], ports * seconds * clocks.network_mhz),
        "l2": (counters["l2_accesses"], config.l2.slices * seconds * clocks.l2_mhz),
        "dram_bus": (counters["dram_bus_cycles"], config.dram.channels * seconds * clocks.dram_mhz),
    }  # fmt: skip
    return {part: did / could for part, (did, could) in worked.items() if could}


def idle_units(counters: Mapping[str, float], cycles: float, units: Mapping[str, int]) -> dict[str, float]:
    """The share of so many core cycles, of all cores together, in which nothing is in the first stage of a unit (LOADS Fig. 4),
    with so many SP and SFU units in a core. The load/store unit is held by what the L1 rejects, too."""
    held = sum(counters[name] for name in ("busy_ldst", "l1_fail_tag", "l1_fail_mshr", "l1_fail_network"))
    busy = {"SP": counters["busy_sp"] / units["sp"], "SFU": counters["busy_sfu"] / units["sfu"], "LD/ST": held}
    return {unit: 1 - min(1.0, count / cycles) for unit, count in busy.items()} if cycles else {}
