"""A process in which a stray access of simtlab's own is a signal, and an endless kernel a matter of milliseconds.

Registers, shared and local memory and parameters end at a page that nobody may touch, and begin after one. Launches run in
the calling thread; one that takes too long is stopped as Ctrl-C stops it.
"""

import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import numpy as np

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.execute import grid
from simtlab.isa import build
from simtlab.isa.shape import Shape
from simtlab.program import program

LAUNCH_SECONDS = 0.25
PAGE = mmap.PAGESIZE
NO_ACCESS = 0
libc = ctypes.CDLL(None, use_errno=True)


def guarded_bytes(size: int) -> np.ndarray:
    """As `aligned_bytes`, with a page that nobody may touch on both sides; the one behind is at most 63 bytes away."""
    used = -(-size // 64) * 64
    body = -(-max(used, 1) // PAGE) * PAGE
    memory = np.frombuffer(mmap.mmap(-1, body + 2 * PAGE), np.uint8)
    first = memory.ctypes.data
    for page in (first, first + PAGE + body):
        if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    return memory[PAGE + body - used : PAGE + body]


class SameThread:
    """A pool of threads that has none."""

    def submit(self, task: Callable[[], Any]) -> Future:
        done: Future = Future()
        try:
            done.set_result(task())
        except BaseException as error:
            done.set_exception(error)
        return done


class Watchdog:
    """Stops launches that take too long: it sets the flag that Ctrl-C sets."""

    def __init__(self) -> None:
        self.launch: Any = None
        self.since = 0.0
        self.stopped = 0

    def watch(self, run: Callable) -> Callable:
        def watched(work: grid.GridRun, threads: int) -> None:
            self.since, self.launch = time.monotonic(), work.launch
            try:
                run(work, threads)
            finally:
                self.launch = None

        return watched

    def look(self) -> None:
        while True:
            time.sleep(LAUNCH_SECONDS / 4)
            launch = self.launch
            if launch is not None and time.monotonic() - self.since > LAUNCH_SECONDS:
                launch[0].stop = 1
                self.stopped += 1


def guard_memory() -> None:
    """From now on this process's launches have guard pages and no threads."""
    original = grid.aligned_bytes
    for name, module in list(sys.modules.items()):
        if name.startswith("simtlab.") and getattr(module, "aligned_bytes", None) is original:
            module.aligned_bytes = guarded_bytes  # type: ignore[attr-defined]
    grid._pool = lambda threads: SameThread()  # type: ignore[assignment]


class Collected(Exception):
    """A program was built as far as the native code that it needs."""


def provide_at_once(texts: Sequence[str]) -> None:
    """Load the native code that all these modules need in one go: one by one would look through the disk every time."""
    shapes: set[Shape] = set()

    def collect(wanted: set[Shape]) -> None:
        shapes.update(wanted)
        raise Collected

    program.provide = collect  # type: ignore[assignment]
    gpu = sl.Gpu(memory_bytes=1 << 24)
    for text in texts:
        with suppress(SimtlabError):
            module = gpu.load(text)
            for name in module.kernels:
                with suppress(Collected):
                    module[name]
    program.provide = build.provide
    build.provide(shapes)


def keep_native_code_to_itself() -> None:
    """Mutants need instructions that nobody else does: nothing of them goes to the disk, and nothing is looked for there."""
    library: Any = build._library()
    library._store = lambda code, shapes: None
    library._stored = lambda missing: []


def watch_launches() -> Watchdog:
    dog = Watchdog()
    grid.GridRun.run = dog.watch(grid.GridRun.run)  # type: ignore[method-assign]
    threading.Thread(target=dog.look, daemon=True).start()
    return dog
