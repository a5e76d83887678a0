"""How many CTAs of a kernel fit in a core, and how one memory is divided between L1 and shared memory."""

from dataclasses import dataclass

from simtlab.errors import LaunchError
from simtlab.machine.config import MachineConfig
from simtlab.program.program import Program


@dataclass
class Occupancy:
    """How many CTAs of a kernel fit in a core, what stops the next one, and how its launch divides the core's memory."""

    ctas: int
    limited_by: str
    l1_bytes: int = 0  # as the launch has them (see `split`)
    shared_bytes: int = 0


def registers_of_cta(config: MachineConfig, program: Program, warps: int) -> int:
    """Registers are allocated to each warp in whole units."""
    unit = config.core.register_allocation_unit
    return warps * -(-max(program.registers, 1) * 32 // unit) * unit


def most_shared_bytes(config: MachineConfig) -> int:
    """The most shared memory a core can have."""
    section = config.shared_memory
    if section.shares_l1 and section.split == "at-launch":
        return max(shared for _, shared in section.splits)
    return section.bytes


def occupancy(config: MachineConfig, program: Program, threads: int, shared_bytes: int) -> Occupancy:
    """The CTAs of a core: the smallest of what warps, threads, CTA slots, registers and shared memory allow."""
    warps = -(-threads // 32)
    registers = registers_of_cta(config, program, warps)
    shared_there = most_shared_bytes(config)
    limits = {
        "CTA slots": config.core.max_ctas,
        "warps": config.core.max_warps // warps,
        "threads": config.core.max_threads // (32 * warps),
        "registers": config.core.registers // registers,
    }
    if shared_bytes:
        limits["shared memory"] = shared_there // shared_bytes
    needs = {
        "warps": (warps, config.core.max_warps),
        "threads": (32 * warps, config.core.max_threads),
        "registers": (registers, config.core.registers),
        "shared memory": (shared_bytes, shared_there),
    }
    name = min(limits, key=lambda key: limits[key])
    if limits[name] < 1:
        wanted, there = needs[name]
        of = "bytes of shared memory" if name == "shared memory" else name
        raise LaunchError(f"a CTA of kernel '{program.readable_name}' fits in no core of {config.name}: it needs {wanted} {of}, "
                          f"a core has {there}, {wanted - there} too few")  # fmt: skip
    return Occupancy(limits[name], name)


def split(config: MachineConfig, wanted: int) -> tuple[int, int]:
    """Bytes of L1 and of shared memory for launches whose CTAs want so much shared memory of a core together."""
    section = config.shared_memory
    if not (section.shares_l1 and section.split == "at-launch"):
        return config.l1d.bytes, section.bytes
    enough = [pair for pair in section.splits if pair[1] >= wanted]
    return min(enough or section.splits, key=lambda pair: pair[1] if enough else -pair[1])
