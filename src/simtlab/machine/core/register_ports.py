"""Registers read on a fixed schedule (Volta and later): two banks of one port, and a reuse cache in front of them.

An instruction reads all its sources in the cycles after its issue; two of one bank take two cycles, and the next instruction of
the sub-core waits for them. A source that the compiler marked for reuse stays in the reuse cache, by operand slot, until another
instruction reads that slot: if that is of the same warp and wants the same register, it takes no port. A register that is two
sources of an instruction is read once.
"""

import numpy as np

from simtlab.compiled import compiled, dissolved
from simtlab.machine.core.operand_collector import bank_of
from simtlab.machine.core.state import N_SLOTS

BITS = 4  # of a count of reads of one bank, in a word with all of them


@dissolved
@compiled
def read_cycles(core, sub_core, w, row):
    """How many cycles the banks take to read an instruction's sources; the reuse cache becomes what it leaves there."""
    reads, read = np.uint64(0), np.int64(0)
    for k in range(N_SLOTS):
        register = row.slot_register[k]
        if register < 0:
            continue
        held = (w << 8) | register
        if core.reuse[sub_core, k] == held:
            core.operands_reused += row.slot_count[k]
        elif not is_among(row, read, k):
            read |= 1 << k
            for part in range(row.slot_count[k]):
                reads += np.uint64(np.uint64(1) << np.uint64(BITS * bank_of(core, w, register + part)))
            core.operands_read += row.slot_count[k]
        core.reuse[sub_core, k] = held if (row.reuse >> k) & 1 else -1
    return most_of(reads)


@compiled
def is_among(row, read, k):
    """Whether a source is the same register as one of those that are read: both have it from one read."""
    for other in range(k):
        if read >> other & 1 and row.slot_register[other] == row.slot_register[k] and row.slot_count[other] == row.slot_count[k]:
            return True
    return False


@compiled
def most_of(reads):
    """The largest of the counts."""
    most = np.int64(1)
    while reads != 0:
        most = max(most, np.int64(reads & np.uint64((1 << BITS) - 1)))
        reads = np.uint64(reads >> np.uint64(BITS))
    return most
