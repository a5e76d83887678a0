"""Address space of the host: it becomes memory where it is touched, and none is set aside before."""

import mmap
import platform
import sys
from contextlib import suppress

import numpy as np

LARGE = 4 << 20  # bytes, from which on large pages of the host are worth while; NumPy takes the same
_IN_C = 0x4000 if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") else 0
# Without it Linux refuses to fork a process whose neighbouring mappings are together larger than the host's memory, touched or not.
NO_RESERVE: int = getattr(mmap, "MAP_NORESERVE", _IN_C)  # Python has a name for it from 3.13 on


def untouched_bytes(size: int, sparse: bool = False) -> np.ndarray:
    """Bytes, all zero: 132 cores of CTAs with deep stacks would be more than a host has. Of sparse ones few are ever touched, for
    which clearing a large page takes longer than all that is done with it."""
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    if size >= LARGE and not sparse and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a host without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8, size)
