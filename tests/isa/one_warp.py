"""One warp's registers by name, and instructions issued to it one at a time, with no program around them.

`w0 w1 …` are 32-bit registers, `d0` 64-bit, `h0` 16-bit, `p0` predicates (lane masks); `!p0` reads one negated,
a number is an immediate, `_` a destination nobody reads, `-` an operand that is not there.
"""

import ctypes
import itertools

import numpy as np

from simtlab.isa.build import provide
from simtlab.isa.shape import LANES, Shape

NATIVE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
ALL = 0xFFFFFFFF
SLOT_BYTES = 8 * LANES
OF_EACH_KIND = 8
DTYPES = {"w": np.uint32, "d": np.uint64, "h": np.uint16}


class Warp:
    def __init__(self) -> None:
        room = np.zeros(len("wdhp") * OF_EACH_KIND * SLOT_BYTES + 64, np.uint8)
        self.window = room[-room.ctypes.data % 64 :][:-64]

    def offset(self, name: str) -> int:
        return ("wdhp".index(name[0]) * OF_EACH_KIND + int(name[1:])) * SLOT_BYTES

    def __getitem__(self, name: str) -> np.ndarray:
        """A register's lanes; of a predicate, its one lane mask."""
        lanes = self.window[self.offset(name) :]
        if name[0] == "p":
            return lanes[:4].view(np.uint32)
        return lanes[: LANES * np.dtype(DTYPES[name[0]]).itemsize].view(DTYPES[name[0]])

    def __setitem__(self, name: str, values) -> None:
        self[name][:] = np.asarray(values).astype(self[name].dtype)

    def issue(self, spelling: str, *operands: str | int, mask: int = ALL) -> None:
        kinds, values = "", []
        for operand in operands:
            if isinstance(operand, int):
                kinds, value = kinds + "i", operand
            elif operand in "_-":
                kinds, value = kinds + operand, 0
            else:
                name = operand.lstrip("!")
                kinds, value = kinds + ("n" if operand[0] == "!" else name[0]), self.offset(name)
            values.append(value if value < 1 << 63 else value - (1 << 64))
        shape = Shape(spelling, kinds)
        array = np.array(values, np.int64)
        NATIVE(provide([shape])[shape])(self.window.ctypes.data, mask, array.ctypes.data, 0)


def random_lanes(seed: int, bits: int = 32) -> np.ndarray:
    """Lanes full of random bits, the first ones at the edges."""
    top = (1 << bits) - 1
    edges = [0, 1, top, top >> 1, (top >> 1) + 1, top - 1, 2, 31, 32, 255]
    values = np.random.default_rng(seed).integers(0, top, LANES, np.uint64, endpoint=True)
    values[: len(edges)] = np.roll(np.array(edges, np.uint64), seed)
    return values.astype(f"u{bits // 8}")


def lanes_where(condition: np.ndarray) -> int:
    """32 booleans as a lane mask."""
    return sum(1 << lane for lane in itertools.compress(range(LANES), condition))
