"""What all tests share."""

import fcntl
import gc
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from numba.core.compiler_lock import global_compiler_lock

from simtlab.dispatcher import Dispatcher
from simtlab.storage import cache_directory

# A shell starts what it runs in the background with Ctrl-C ignored, and whoever that starts ignores it too. Tests of Ctrl-C must
# not depend on how they were started.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Python's collector looks for cycles less often than it would: below, what needs it says so.
gc.set_threshold(20_000, 20, 100)

_FOLDER = cache_directory()  # now: some tests move it
_depth = 0
LONG_SECONDS = 5  # of a compilation that leaves much behind


@contextmanager
def _alone_among_processes() -> Iterator[None]:
    """One process of the tests compiles at a time: on an empty cache all need the machine at once, which takes a minute. Who waits
    finds it on disk."""
    global _depth
    with global_compiler_lock:
        if _depth:
            yield
            return
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with open(_FOLDER / "compiling", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _depth += 1
            try:
                yield
            finally:
                _depth -= 1


def _keep_for_good() -> None:
    """What there is now stays to the end: Python's collector need not go through it again and again. After the machine was compiled
    that takes half a second each time, and a twentieth of all of the tests' time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    _keep_for_good()


def _in_turn(compile: Any) -> Any:
    @wraps(compile)
    def compile_in_turn(dispatcher: Any, signature: Any) -> Any:
        begin = time.process_time()
        with _alone_among_processes():
            compiled = compile(dispatcher, signature)
        if not _depth and time.process_time() - begin > LONG_SECONDS:
            _keep_for_good()
        return compiled

    return compile_in_turn


_dispatcher: Any = Dispatcher
_dispatcher.compile = _in_turn(Dispatcher.compile)


_SIZES = Path("/proc/self/statm")
_MOST_PAGES = (128 << 30) // 4096, (1 << 30) // 4096  # of address space and of memory, more than after the last time
_pages = 0, 0


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """Free the machines of tests that have ended. An exception that was expected and the frame it passed through hold each other,
    and with them the GPU: 16 GiB of address space, which Python's collector takes for a small object."""
    global _pages
    if _SIZES.exists() and any(now - then > most for now, then, most in zip(_read_sizes(), _pages, _MOST_PAGES, strict=True)):
        gc.collect()
        _pages = _read_sizes()


def _read_sizes() -> tuple[int, int]:
    space, memory = _SIZES.read_text().split()[:2]
    return int(space), int(memory)
