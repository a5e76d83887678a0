"""What a memory instruction touches, against the least that its lanes need."""

import re

from simtlab.machine.config import MachineConfig
from simtlab.report.profile import InstructionProfile

WIDTH = re.compile(r"\.[bsuf](8|16|32|64|128)(x2)?\b")
VECTOR = re.compile(r"\.v([248])\b")
ATOMIC = re.compile(r"(?:@!?%\w+\s+)?(atom|red)\.")
STORE = re.compile(r"(?:@!?%\w+\s+)?(st|red)\.")
# of the special function unit, wholly or partly
SPECIAL = re.compile(r"(?:@!?%\w+\s+)?(sin|cos|ex2|lg2|rcp|rsqrt|sqrt|tanh|div)\.")
OFF_CHIP = ("global", "generic", "local", "surface")


def access_bytes(text: str) -> int:
    """What a lane reads or writes, from the instruction's type: ld.global.v4.f32 is 16 bytes. The type is the last one named."""
    widths = WIDTH.findall(text.split(" ")[0] if not text.startswith("@") else text.split(" ")[1])
    vector = VECTOR.search(text)
    if not widths:
        return 0
    bits, pair = widths[-1]
    return int(bits) // 8 * (2 if pair else 1) * (int(vector[1]) if vector else 1)


def is_atomic(row: InstructionProfile) -> bool:
    return ATOMIC.match(row.text) is not None


def is_store(row: InstructionProfile) -> bool:
    """That no register waits for: atomics without a result are among them."""
    return bool(row.memory) and STORE.match(row.text) is not None


def is_special(row: InstructionProfile) -> bool:
    return SPECIAL.match(row.text) is not None


def sectors(row: InstructionProfile) -> float:
    """That an execution touches."""
    return row.accesses / row.issued if row.issued else 0.0


def least_sectors(row: InstructionProfile, machine: MachineConfig) -> float:
    """That would hold the bytes of the lanes of an execution: at least one, and none left half empty between two lanes."""
    if not row.issued:
        return 0.0
    return max(1.0, row.lanes / row.issued * access_bytes(row.text) / machine.l1d.sector_bytes)


def excess_sectors(row: InstructionProfile, machine: MachineConfig) -> float:
    """The share of the sectors that would not be touched if neighbouring lanes had neighbouring addresses."""
    touched = sectors(row)
    if not touched or not access_bytes(row.text) or row.memory not in ("global", "generic") or is_atomic(row):
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
    wide = max(access_bytes(row.text), machine.shared_memory.bank_bytes)
    return max(1.0, row.lanes / row.issued * wide / row_bytes)


def excess_passes(row: InstructionProfile, machine: MachineConfig) -> float:
    """The share of the passes that bank conflicts cause."""
    taken = passes(row)
    return max(0.0, 1 - least_passes(row, machine) / taken) if taken and not is_atomic(row) else 0.0
