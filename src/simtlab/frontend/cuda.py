"""CUDA C++ to PTX by NVRTC, the compiler NVIDIA publishes as a Python package. It needs no GPU and no CUDA toolkit."""

import ctypes
import functools
import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simtlab.errors import CompileError

MISSING = (
    "CUDA C++ input needs the package nvidia-cuda-nvrtc, which exists for Linux (pip install nvidia-cuda-nvrtc). "
    "PTX input works without it."
)
SUCCESS = 0
# `char` is signed on x86 and unsigned on ARM hosts, and NVRTC follows its host; a kernel must not mean two things.
SIGNED_CHAR = "-Xcudafe=--signed_chars"
ARCHITECTURE_OPTION = re.compile(r"--?(gpu-architecture|arch)(=|$)")
FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+ ")([^"]*)"', re.MULTILINE)
HOST_HEADERS = Path(__file__).parent / "include"  # stdio.h and others that .cu files include, all empty
MISSING_HEADER = "open source file"  # "could not …" without include paths, "cannot …" with some


@dataclass(frozen=True)
class CompiledCuda:
    """What the compiler gave: the PTX, the lowered name of each name expression, and its warnings."""

    ptx: str
    names: dict[str, str]
    log: str


def compile_cuda(
    source: str,
    name: str = "kernel.cu",
    options: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    architecture: str = "compute_75",
) -> CompiledCuda:
    """Compiles CUDA C++. CompileError, with the compiler's own text, if it refuses.

    `name` is how the source is called in messages and line information. `name_expressions` are the template instances
    to make, such as `sum<float>`; `names` tells what each is called in the PTX.
    """
    if "\0" in source:
        raise CompileError(f"{name}: the source has a NUL character, which C++ text cannot have")
    arguments = ["-lineinfo", "-default-device", SIGNED_CHAR]
    if not any(ARCHITECTURE_OPTION.match(option) for option in options):
        arguments.append(f"--gpu-architecture={architecture}")
    arguments += [*options, *(f"--include-path={path}" for path in include_paths)]
    host_headers = f"--include-path={HOST_HEADERS}"
    try:
        return run(source, name, [*arguments, host_headers], name_expressions)
    except CompileError as error:
        headers = bundled_headers() if MISSING_HEADER in str(error) else None
        if headers is None:
            raise
    arguments += [f"--include-path={headers}", f"--include-path={headers / 'cccl'}", host_headers]
    return run(source, name, arguments, name_expressions)


def run(source: str, name: str, arguments: list[str], name_expressions: Sequence[str]) -> CompiledCuda:
    """One compilation from program to PTX."""
    library = nvrtc()
    program = ctypes.c_void_p()
    text = source.encode("utf-8", "surrogateescape")
    check(library, library.nvrtcCreateProgram(ctypes.byref(program), text, encoded(name), 0, None, None))
    try:
        for expression in name_expressions:
            check(library, library.nvrtcAddNameExpression(program, encoded(expression)))
        options = (ctypes.c_char_p * len(arguments))(*map(encoded, arguments))
        status = library.nvrtcCompileProgram(program, len(arguments), options)
        log = output(library, program, "ProgramLog")
        if status != SUCCESS:
            raise CompileError(log.strip() or error_text(library, status))
        ptx = without_working_directory(output(library, program, "PTX"), name)
        return CompiledCuda(ptx, lowered_names(library, program, name_expressions), log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def without_working_directory(ptx: str, name: str) -> str:
    """Undoes the compiler's completion of relative file names, so that one source gives one PTX wherever it is run."""
    folder = os.path.join(os.getcwd(), "")

    def shortened(match: re.Match[str]) -> str:
        path = match[2]
        return match[1] + (path if path == name else path.removeprefix(folder)) + '"'

    return FILE_DIRECTIVE.sub(shortened, ptx)


def lowered_names(library: ctypes.CDLL, program: ctypes.c_void_p, expressions: Sequence[str]) -> dict[str, str]:
    names = {}
    for expression in expressions:
        lowered = ctypes.c_char_p()
        check(library, library.nvrtcGetLoweredName(program, encoded(expression), ctypes.byref(lowered)))
        names[expression] = (lowered.value or b"").decode()
    return names


def output(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    """Fetches the "PTX" or the "ProgramLog"."""
    size = ctypes.c_size_t()
    check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.value.decode("utf-8", "replace")


def check(library: ctypes.CDLL, status: int) -> None:
    if status != SUCCESS:
        raise CompileError(f"NVRTC: {error_text(library, status)}")


def error_text(library: ctypes.CDLL, status: int) -> str:
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return str(library.nvrtcGetErrorString(status).decode())


def encoded(text: str | os.PathLike[str]) -> bytes:
    return os.fspath(text).encode("utf-8", "surrogateescape")


# The library ---------------------------------------------------------------------------------------------------------


@functools.cache
def nvrtc() -> ctypes.CDLL:
    """The compiler's library, loaded at the first CUDA source: PTX users may not have it."""
    for path in library_paths():
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    raise CompileError(MISSING)


def library_paths() -> list[Path]:
    """Where the package keeps its library; the folder differs between CUDA versions. The newest comes first."""
    package = importlib.util.find_spec("nvidia")  # a namespace with no code in it, so there is nothing to import
    roots = package.submodule_search_locations if package is not None else None
    found = [path for root in roots or () for path in Path(root).glob("*/lib/libnvrtc.so.*")]
    return sorted(found, key=lambda path: path.suffix, reverse=True)


def bundled_headers() -> Path | None:
    """The folder with cuda_fp16.h, cooperative_groups.h and their like, which newer NVRTC carries inside itself.

    NVRTC unpacks them once for each of its versions; a lock of its own guards against two processes doing so at a time.
    """
    library = nvrtc()
    if not hasattr(library, "nvrtcInstallBundledHeaders"):
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    folder = cache_folder() / f"cuda-headers-{major.value}.{minor.value}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    status = library.nvrtcInstallBundledHeaders(encoded(folder), 0, None)
    return folder if status == SUCCESS else None


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simtlab"
