"""Device memory: one address space in a lazily committed arena, and the allocations every access is checked against."""

import mmap
import os
import threading
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from simtlab.address_space import NO_RESERVE
from simtlab.errors import LaunchError, OutOfMemory, SimtlabError
from simtlab.execute.memory import HEAP_BASE, PAGE_BYTES
from simtlab.execute.state import allocation_t

ALIGN = 256
GUARD = 256  # bytes that belong to nobody between two allocations
DEFAULT_BYTES = 16 << 30


@dataclass(frozen=True, slots=True)
class Allocation:
    """A piece of device memory: [start, start + size)."""

    start: int
    size: int
    label: str
    writable: bool

    @property
    def end(self) -> int:
        return self.start + self.size

    def __str__(self) -> str:
        name = f" '{self.label}'" if self.label else ""
        return f"allocation{name} of {self.size} bytes at {self.start:#x}"


def nothing_waits() -> None:
    """What is to be done before the host looks at memory where no launch waits."""


class DeviceMemory:
    """The arena costs address space until it is touched; freed memory goes back to the system.

    Whoever comes from the host takes `lock` first and keeps it as long as it works, a launch to its end: so several host
    threads can use one GPU. What a running kernel asks for needs no lock, as the launch has it.
    """

    def __init__(self, size: int = DEFAULT_BYTES, in_file: bool = False):
        self.size = size
        self.file: int | None = None  # what other processes can map, if asked for
        private = getattr(mmap, "MAP_PRIVATE", 2) | getattr(mmap, "MAP_ANONYMOUS", 0x20)
        try:
            if in_file:
                self.file = os.memfd_create("simtlab")
                os.ftruncate(self.file, size)
            flags = mmap.MAP_SHARED if in_file else private
            self._map = mmap.mmap(self.file or -1, size, flags=flags | NO_RESERVE)
        except (OSError, ValueError) as error:
            raise SimtlabError(f"cannot reserve {size >> 20} MiB of address space for device memory: {error}") from None
        self.arena = np.frombuffer(self._map, np.uint8)
        self.arena_address = self.arena.ctypes.data
        self._starts: list[int] = []
        self._allocations: dict[int, Allocation] = {}
        # Of an application the first page begins with what a driver would have there: reads in front of an array go through.
        self._first = HEAP_BASE + (PAGE_BYTES // 2 if in_file else ALIGN)
        self._fresh_from = HEAP_BASE  # memory from here on was never used, so it reads as zeros
        self._table: np.ndarray | None = None
        self.lock = threading.RLock()
        self.settle: Callable[[], None] = nothing_waits  # called before the host looks at memory: runs what waits in streams

    def allocate(self, size: int, label: str = "", writable: bool = True, zeros: bool = False) -> Allocation:
        """A new allocation at a 256-byte boundary; its contents are whatever was there, or zeros."""
        if size < 0:
            raise LaunchError(f"cannot allocate {size} bytes")
        return self._put(Allocation(self._gap(size), size, label, writable), zeros)

    def place(self, start: int, size: int, label: str = "", writable: bool = True) -> Allocation:
        """An allocation at a given address, where there is none yet; its contents are zeros if it was never used."""
        return self._put(Allocation(start, size, label, writable), zeros=True)

    def _put(self, allocation: Allocation, zeros: bool) -> Allocation:
        start, size = allocation.start, allocation.size
        if start + size > HEAP_BASE + self.size:
            used = sum(a.size for a in self._allocations.values())
            raise OutOfMemory(f"out of device memory: {size} bytes wanted, {used} of {self.size} in use")
        insort(self._starts, start)
        self._allocations[start] = allocation
        self._table = None
        if zeros and start < self._fresh_from:  # memory that was never used needs no touching
            self.bytes(start, min(size, self._fresh_from - start))[:] = 0
        self._fresh_from = max(self._fresh_from, allocation.end)
        return allocation

    def _gap(self, size: int) -> int:
        """Past the last allocation while that is cheap, else the first gap that is wide enough."""
        last = self._allocations[self._starts[-1]] if self._starts else None
        start = self._first if last is None else _align(last.end + GUARD)
        if start + size <= HEAP_BASE + self.size // 2:
            return start
        candidate = self._first
        for begin in self._starts:
            if candidate + size + GUARD <= begin:
                return candidate
            candidate = _align(self._allocations[begin].end + GUARD)
        return candidate

    def free(self, start: int) -> None:
        allocation = self._allocations.pop(start, None)
        if allocation is None:
            raise SimtlabError(f"free of {start:#x}, which is not the start of an allocation ({self.describe(start)})")
        self._starts.remove(start)
        self._table = None
        page = mmap.PAGESIZE
        first = -(-(start - HEAP_BASE) // page) * page
        length = (allocation.end - HEAP_BASE) // page * page - first
        if length > 0 and hasattr(self._map, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED if self.file is None else mmap.MADV_REMOVE, first, length)

    def bytes(self, start: int, size: int) -> np.ndarray:
        """The arena's bytes at a device address, without copying."""
        return self.arena[start - HEAP_BASE : start - HEAP_BASE + size]

    def holds(self, allocation: Allocation) -> bool:
        """Whether it has not been freed."""
        return self._allocations.get(allocation.start) is allocation

    def starting_at(self, address: int) -> Allocation | None:
        """The allocation whose first byte this is, be it an empty one."""
        return self._allocations.get(address)

    def find(self, address: int) -> Allocation | None:
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            allocation = self._allocations[self._starts[at]]
            if address < allocation.end:
                return allocation
        return None

    def table(self) -> np.ndarray:
        """All allocations in order of address, as the executor searches them."""
        if self._table is None:
            table = np.zeros(max(len(self._starts), 1), allocation_t)
            for row, start in zip(table, self._starts, strict=False):
                allocation = self._allocations[start]
                row["start"], row["end"], row["writable"] = start, allocation.end, allocation.writable
            self._table = table
        return self._table

    def show_to(self, launch: np.record) -> None:
        """Let a launch see the allocations there are now."""
        launch["allocations"], launch["n_allocations"] = self.table().ctypes.data, len(self)

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Allocation]:
        """All allocations, in order of address."""
        return (self._allocations[start] for start in self._starts)

    def describe(self, address: int) -> str:
        """The nearest allocation to an address, and how far off it is."""
        if not self._starts:
            return "there is no allocation yet"
        at = bisect_right(self._starts, address)
        around = [self._allocations[start] for start in self._starts[max(at - 1, 0) : at + 1]]
        nearest = min(around, key=lambda a: a.start - address if address < a.start else max(0, address - a.end + 1))
        if address < nearest.start:
            return f"{nearest.start - address} bytes before the {nearest}"
        if address >= nearest.end:
            past = address - nearest.end
            return f"{past} bytes past the end of the {nearest}" if past else f"right at the end of the {nearest}"
        return f"{address - nearest.start} bytes into the {nearest}"

    def read_string(self, address: int, limit: int = 65536) -> str:
        """A C string in device memory, up to the end of its allocation."""
        allocation = self.find(address)
        if allocation is None:
            return f"<bad pointer {address:#x}>"
        raw = self.bytes(address, min(allocation.end - address, limit)).tobytes()
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def _align(value: int) -> int:
    return -(-value // ALIGN) * ALIGN
