"""What a memory instruction touches, against the least that its lanes need."""

from simtlab.machine.config import MachineConfig
from simtlab.report.profile import InstructionProfile

OFF_CHIP = ("global", "generic", "local", "surface")


def is_atomic(row: InstructionProfile) -> bool:
    return row.role == "atomic"


def is_store(row: InstructionProfile) -> bool:
    """That no register waits for: atomics without a result are among them."""
    return bool(row.memory) and (row.role == "store" or (is_atomic(row) and not row.is_load))


def is_special(row: InstructionProfile) -> bool:
    return row.role == "special"


def sectors(row: InstructionProfile) -> float:
    """That an execution touches."""
    return row.accesses / row.issued if row.issued else 0.0


def least_sectors(row: InstructionProfile, machine: MachineConfig) -> float:
    """That would hold the bytes of the lanes of an execution: at least one, and none left half empty between two lanes."""
    if not row.issued:
        return 0.0
    return max(1.0, row.lanes / row.issued * row.lane_bytes / machine.l1d.sector_bytes)


def excess_sectors(row: InstructionProfile, machine: MachineConfig) -> float:
    """The share of the sectors that would not be touched if neighbouring lanes had neighbouring addresses."""
    touched = sectors(row)
    if not touched or not row.lane_bytes or row.memory not in ("global", "generic") or is_atomic(row):
        return 0.0
    return max(0.0, 1 - least_sectors(row, machine) / touched)


def passes(row: InstructionProfile) -> float:
    """Of shared memory, that an execution takes."""
    return row.passes / row.issued if row.issued else 0.0


def least_passes(row: InstructionProfile, machine: MachineConfig) -> float:
    """One where all lanes find room in the banks at once: 32 lanes of 32 bits. 64 bits take two, 128 bits four."""
    if not row.issued:
        return 0.0
    row_bytes = machine.shared_memory.banks * machine.shared_memory.bank_bytes
    wide = max(row.lane_bytes, machine.shared_memory.bank_bytes)
    return max(1.0, row.lanes / row.issued * wide / row_bytes)


def excess_passes(row: InstructionProfile, machine: MachineConfig) -> float:
    """The share of the passes that bank conflicts cause."""
    taken = passes(row)
    return max(0.0, 1 - least_passes(row, machine) / taken) if taken and not is_atomic(row) else 0.0
