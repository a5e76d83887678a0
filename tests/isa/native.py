"""Runs one native function over columns of values, a warp at a time."""

import numpy as np

from simtlab.isa.build import provide
from simtlab.isa.shape import LANES, Shape
from tests.isa.hardware_vectors import NATIVE, SLOT_BYTES

KINDS = {2: "h", 4: "w", 8: "d"}
FULL = 0xFFFFFFFF


def shape_of(spelling, columns, out):
    """Which native function: an operand that is a plain int is an immediate."""
    kinds = "".join("i" if isinstance(column, int) else KINDS[column.dtype.itemsize] for column in columns)
    return Shape(spelling, KINDS[np.dtype(out).itemsize] + kinds)


def run(spelling, columns, out, mask=FULL, before=0):
    """The results of a spelling on columns of bits; an operand that is a plain int is an immediate.

    `out` is the destination's dtype, and `before` what the destination holds in lanes the mask leaves out.
    """
    arrays = [column for column in columns if not isinstance(column, int)]
    shape = shape_of(spelling, columns, out)
    function = NATIVE(provide([shape])[shape])
    slots = [column if isinstance(column, int) else (k + 1) * SLOT_BYTES for k, column in enumerate(columns)]
    operands = np.array([0, *slots], np.int64)
    registers = np.zeros(5 * SLOT_BYTES + 64, np.uint8)
    registers = registers[-registers.ctypes.data % 64 :]
    count = len(arrays[0])
    result = np.zeros(-(-count // LANES) * LANES, out)
    for start in range(0, count, LANES):
        registers[: LANES * result.itemsize].view(out)[:] = before
        for k, column in enumerate(columns):
            if not isinstance(column, int):
                chunk = column[start : start + LANES]
                registers[(k + 1) * SLOT_BYTES :][: chunk.nbytes] = chunk.view(np.uint8)
        function(registers.ctypes.data, mask, operands.ctypes.data, 0)
        result[start : start + LANES] = registers[: LANES * result.itemsize].view(out)
    return result[:count]
