"""How many different values lanes have in a register: MATCH.ANY goes through them one after another.

An H200 was asked for MATCH.ANY of 1 to 32 lanes with 1 to 32 values: a chain takes 34 cycles with one value and 11 more for each
further one, however many lanes are active, and warps that compete take 2 cycles for each value.
"""

import numpy as np

from simtlab.compiled import compiled, load_u32
from simtlab.execute.simt_stack import lowest_lane
from simtlab.isa.lanes import ROW_BYTES


@compiled
def count_values(place, rows, mask):
    """Of a register at a host address, or of two that lie `ROW_BYTES` apart."""
    values, left = np.int64(0), np.uint32(mask)
    while left != 0:
        first, others = lowest_lane(left), np.uint32(0)
        for lane in range(first, 32):
            bit = np.uint32(np.uint32(1) << np.uint32(lane))
            if left & bit and not have_the_same(place, rows, first, lane):
                others = np.uint32(others | bit)
        left = others
        values += 1
    return values


@compiled
def have_the_same(place, rows, one, other):
    for row in range(rows):
        if load_u32(place + row * ROW_BYTES + 4 * one) != load_u32(place + row * ROW_BYTES + 4 * other):
            return False
    return True
