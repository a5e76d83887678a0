"""PTX to a cubin by nvJitLink, the linker that NVIDIA publishes as a Python package. It needs no GPU."""

import ctypes
import functools
import hashlib
from collections.abc import Callable

from simtlab.errors import CompileError
from simtlab.storage import cache_directory, keep, nvidia_files

MISSING = (
    "PTX as machine code needs the package nvidia-nvjitlink, which exists for Linux (pip install nvidia-nvjitlink). "
    "CUDA C++ as machine code, and PTX as PTX, work without it."
)
SUCCESS, PTX_INPUT = 0, 2
OPTIONS = ("-lineinfo",)


@functools.cache
def nvjitlink() -> ctypes.CDLL:
    for path in reversed(nvidia_files("*/lib/libnvJitLink.so.*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise CompileError(MISSING)


def function(name: str) -> Callable[..., int]:
    """A function of the library; its names carry the version of the interface."""
    library = nvjitlink()
    names = [f"__nvJitLink{name}_{major}_{minor}" for major in (13, 12) for minor in range(12, -1, -1)]
    found = next((getattr(library, one) for one in (f"nvJitLink{name}", *names) if hasattr(library, one)), None)
    if found is None:
        raise CompileError(f"this nvJitLink has no function nvJitLink{name}")
    return found


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


def linked(ptx: str, architecture: str, name: str) -> bytes:
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"-arch={architecture}", *OPTIONS]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    if function("Create")(ctypes.byref(handle), len(options), given) != SUCCESS:
        raise CompileError(f"nvJitLink does not know the architecture {architecture}")
    try:
        text = ptx.encode()
        added = function("AddData")(handle, PTX_INPUT, text, ctypes.c_size_t(len(text)), name.encode())
        if added != SUCCESS or function("Complete")(handle) != SUCCESS:
            raise CompileError(f"{name} for {architecture}: {error_log(handle) or 'nvJitLink refuses it'}")
        check(function("GetLinkedCubinSize")(handle, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        check(function("GetLinkedCubin")(handle, buffer))
        return buffer.raw
    finally:
        function("Destroy")(ctypes.byref(handle))


def check(status: int) -> None:
    if status != SUCCESS:
        raise CompileError(f"nvJitLink: error {status}")


def error_log(handle: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    if function("GetErrorLogSize")(handle, ctypes.byref(size)) != SUCCESS or not size.value:
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    function("GetErrorLog")(handle, buffer)
    return buffer.value.decode("utf-8", "replace").strip()
