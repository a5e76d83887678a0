"""Load compiled code before it is needed. The first process to find it missing compiles it; others wait for that one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from simtlab.storage import cache_directory, digest_of_sources

EMPTY_KERNEL = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"


def load_executor() -> None:
    """Load the compiled executor; the first time after an update it is compiled."""
    from simtlab.host.gpu import Gpu

    Gpu(threads=1, memory_bytes=1 << 20).load(EMPTY_KERNEL)["nothing"](1, 1)


def load_machine() -> None:
    """The same for the machine: one core of a small one is enough, for all machines share their compiled code."""
    from simtlab.host.gpu import Gpu

    gpu = Gpu("caps-gtx480", set={"core.cores": 1}, threads=1, memory_bytes=1 << 20)
    gpu.load(EMPTY_KERNEL)["nothing"](1, 1)


@cache
def load_machine_once() -> None:
    """Load the machine; of several processes that find it not compiled, one compiles it."""
    sources = ("compiled.py", "dispatcher.py", "execute", "program", "isa", "machine")
    mark = cache_directory() / f"machine-compiled-{digest_of_sources(*sources)}"
    if mark.exists():
        load_machine()
        return
    with _alone(mark.with_suffix(".lock")):
        load_machine()
        mark.touch()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Nobody else is in here: a lock that ends with its process. Where there is none, compiling twice does no harm."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
