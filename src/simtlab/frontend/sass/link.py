"""PTX to a cubin by nvJitLink, the linker that NVIDIA publishes as a Python package. It needs no GPU."""

import functools
import hashlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from simtlab.errors import CompileError
from simtlab.storage import cache_directory, keep, nvidia_files

MISSING = (
    "PTX as machine code needs the package nvidia-nvjitlink, which exists for Linux (pip install nvidia-nvjitlink). "
    "CUDA C++ as machine code, and PTX as PTX, work without it."
)
CHILD = Path(__file__).with_name("link_child.py")
OPTIONS = ("-lineinfo",)


@functools.cache
def nvjitlink() -> Path:
    """The library: the newest of the Python packages'."""
    found = nvidia_files("*/lib/libnvJitLink.so.*")
    if not found:
        raise CompileError(MISSING)
    return found[-1]


def link(ptx: str, architecture: str, name: str = "kernel.ptx") -> bytes:
    """The cubin of a PTX text for an architecture such as sm_90. CompileError with the linker's own text if it refuses."""
    key = hashlib.sha256("\0".join((ptx, architecture, *OPTIONS)).encode()).hexdigest()[:32]
    path = cache_directory() / "cubin" / key
    try:
        return path.read_bytes()
    except OSError:
        pass
    cubin = linked(ptx, architecture, name)
    keep(path, cubin)
    return cubin


def linked(ptx: str, architecture: str, name: str, options: Sequence[str] = OPTIONS) -> bytes:
    """The same, not kept. The linker has a process of its own: it aborts where something goes wrong inside it."""
    command = [sys.executable, "-I", "-S", str(CHILD), str(nvjitlink()), name, f"-arch={architecture}", *options]
    done = subprocess.run(command, input=ptx.encode(), capture_output=True)
    if done.returncode < 0:
        raise CompileError(f"{name} for {architecture}: nvJitLink broke down ({signal.Signals(-done.returncode).name})")
    if done.returncode != 0:
        raise CompileError(f"{name} for {architecture}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout
