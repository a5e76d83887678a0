"""Energy: from what a run counted to joules, component by component.

Each event costs what the machine's `energy` section says (simtlab.machine.config.energy): so many picojoules, or so many for
each word it moves. Static power flows for as long as the run takes. docs/energy.md has the whole table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from simtlab.machine.clock_levels import MEMORY, speed
from simtlab.machine.config import PHYSICAL_UNITS, MachineConfig
from simtlab.machine.config.energy import LANES
from simtlab.policies.load import Policy

# In the order they are shown in. Arithmetic goes to the physical unit that executes it; the two kinds of float pipes are one.
UNITS = tuple(unit for unit in PHYSICAL_UNITS if unit != "heavy")
COMPONENTS = (
    "front_end", "register_file", *UNITS, "ldst", "shared_memory", "l1_data", "l1_constant", "texture", "network", "l2",
    "dram", "static", "policies",
)  # fmt: skip
UNSCALED = ("network", "dram")  # wires and DRAM do not shrink as logic and SRAM do: their figures are for the node as it is
PICO = 1e-12
WORD_BYTES, WARP_LANES, INSTRUCTION_WORDS = 4, 32, 2


def once(config: MachineConfig) -> float:
    return 1


@dataclass(frozen=True)
class Event:
    """Something counted that costs energy: the sum of some counters, times the words each moves, times a key."""

    component: str
    key: str
    counters: tuple[str, ...]
    words: Callable[[MachineConfig], float] = once


def fetched(config: MachineConfig) -> float:
    """Words of one instruction fetch; without an instruction buffer (one loop) it is of one instruction."""
    if config.core.detail == 1:
        return INSTRUCTION_WORDS
    return INSTRUCTION_WORDS * min(config.issue.decode_width, config.issue.instruction_buffer_entries)


def a_line(config: MachineConfig) -> float:
    """Words of a line of instructions."""
    return config.l1i.line_bytes / WORD_BYTES


def asked_of_l2(config: MachineConfig) -> float:
    """Words of one L2 access: what the L1 asks for, or a sector of the L2 if that is more."""
    return max(config.l1d.sector_bytes, config.l2.sector_bytes) / WORD_BYTES


EVENTS = [
    Event("front_end", "issue_pj", ("instructions", "replays")),
    Event("front_end", "l0i_word_pj", ("l0i_hits",), fetched),
    Event("front_end", "l0i_word_pj", ("l1i_hits",), lambda c: a_line(c) if c.l1i.l0_bytes else 0),
    Event("front_end", "l1i_word_pj", ("l1i_hits",), lambda c: a_line(c) if c.l1i.l0_bytes else fetched(c)),
    Event("front_end", "l1i_word_pj", ("l1i_misses",), a_line),
    Event("register_file", "register_word_pj", ("register_reads", "register_writes"), lambda c: WARP_LANES),
    Event("shared_memory", "shared_word_pj", ("shared_words",), lambda c: c.shared_memory.bank_bytes / WORD_BYTES),
    Event("l1_data", "l1_tag_pj", ("l1_lookups",)),
    Event("l1_data", "l1_word_pj", ("l1_data_reads", "l1_data_writes"), lambda c: c.l1d.sector_bytes / WORD_BYTES),
    Event("l1_constant", "l1c_word_pj", ("l1c_hits",)),
    Event("l1_constant", "l1c_word_pj", ("l1c_misses",), lambda c: c.l1c.line_bytes / WORD_BYTES),
    Event("ldst", "memory_pj", ("lanes_memory",)),
    Event("texture", "texture_pj", ("lanes_texture",)),
    Event("texture", "l1t_word_pj", ("l1t_hits", "l1t_misses"), lambda c: c.l1t.line_bytes / WORD_BYTES),
    Event("network", "flit_word_pj", ("request_flit_hops", "reply_flit_hops"), lambda c: c.network.flit_bytes / WORD_BYTES),
    Event("l2", "l2_tag_pj", ("l2_accesses",)),
    Event("l2", "l2_word_pj", ("l2_hits", "l2_hits_reserved", "l2_misses", "l2_writes", "l2_atomics"), asked_of_l2),
    Event("l2", "l2_word_pj", ("l2_write_back_sectors",), lambda c: c.l2.sector_bytes / WORD_BYTES),
    Event("l2", "atomic_pj", ("l2_atomics",)),
    Event("dram", "dram_activate_pj", ("dram_activates",)),
    Event("dram", "dram_word_pj", ("dram_read_accesses", "dram_write_accesses"), lambda c: c.dram.burst_bytes / WORD_BYTES),
]  # fmt: skip


def energy(config: MachineConfig, counters: Mapping[str, int], cycles: int, policies: float = 0.0) -> dict[str, float]:
    """Joules by component of what was counted in so many core cycles; `policies` is what their own hardware took."""
    joules = dict.fromkeys(COMPONENTS, 0.0)
    for event in [*EVENTS, *_arithmetic(config)]:
        scale = 1.0 if event.component in UNSCALED else config.energy.node_scale
        count = sum(counters[name] for name in event.counters) * event.words(config)
        joules[event.component] += count * getattr(config.energy, event.key) * scale * PICO
    joules["static"] = static_watts(config) * seconds(config, cycles)
    joules["policies"] = policies
    return joules


def energy_by_level(
    config: MachineConfig, levels: Mapping[int, tuple[int, Mapping[str, int]]], policies: float = 0.0
) -> dict[str, float]:
    """The same where a policy changed the clocks: cycles and counters for each level that they had. Voltage goes with frequency."""
    joules = dict.fromkeys(COMPONENTS, 0.0)
    for level, (cycles, counters) in levels.items():
        core, memory = speed(level, config.clocks.step_percent)
        for component, spent in energy(config, counters, cycles).items():
            # static power flows for 1 / core of the time that so many cycles usually take, at `core` times the voltage
            scale = 1.0 if component == "static" else memory**2 if component in MEMORY else core**2
            joules[component] += spent * scale
    joules["policies"] = policies
    return joules


def seconds_by_level(config: MachineConfig, levels: Mapping[int, tuple[int, Mapping[str, int]]]) -> float:
    step = config.clocks.step_percent
    return sum(seconds(config, cycles) / speed(level, step)[0] for level, (cycles, _) in levels.items())


def _arithmetic(config: MachineConfig) -> list[Event]:
    """What active lanes spend in the units."""
    arithmetic = [name for name in LANES if name not in ("memory", "texture")]
    units = {name: config.units.executed_on(name) for name in arithmetic}
    return [Event("sp" if unit == "heavy" else unit, f"{name}_pj", (f"lanes_{name}",)) for name, unit in units.items()]


def static_watts(config: MachineConfig) -> float:
    return config.core.cores * config.energy.static_core_watts + config.energy.static_chip_watts


def seconds(config: MachineConfig, cycles: int) -> float:
    return cycles / (config.clocks.core_mhz * 1e6)


def of_policy(config: MachineConfig, policy: Policy, states: np.ndarray, cycles: int) -> float:
    """Joules of a policy's own hardware: what its `energy_pj` says of the events its state has counted, and static power."""
    dynamic = sum(int(states[field].sum()) * picojoules for field, picojoules in policy.energy_pj.items()) * PICO
    units = 1 if policy.is_shared else units_of(policy.slot, config)
    return dynamic + units * policy.static_watts * seconds(config, cycles)


def units_of(slot: str, config: MachineConfig) -> int:
    """How many times the hardware of a slot's policy is on the chip."""
    return {
        "warp_scheduler": config.core.cores * config.issue.schedulers,
        "cta_dispatch": 1,
        "l2_replacement": config.l2.slices,
        "dram_scheduler": config.dram.channels,
        "network_arbiter": 2,  # one network each way
    }.get(slot, config.core.cores)
