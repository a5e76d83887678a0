"""CUDA C++ to PTX by NVRTC, the compiler NVIDIA publishes as a Python package. It needs no GPU and no CUDA toolkit.

NVRTC has ptxas in it, which turns PTX into a GPU's own code: from there come the registers that a kernel takes.
"""

import ctypes
import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from simtlab.errors import CompileError
from simtlab.frontend.cubin import RegisterCounts, UnreadableCubin, register_counts
from simtlab.storage import cache_directory, nvidia_files

MISSING = (
    "CUDA C++ input needs the package nvidia-cuda-nvrtc, which exists for Linux (pip install nvidia-cuda-nvrtc). "
    "PTX input works without it."
)
SUCCESS = 0
# `char` is signed on x86 and unsigned on ARM hosts, and NVRTC follows its host; a kernel must not mean two things.
SIGNED_CHAR = "-Xcudafe=--signed_chars"
ARCHITECTURE_OPTION = re.compile(r"--?(gpu-architecture|arch)(=|$)")
ARCHITECTURE = re.compile(r"\b(?:compute|sm)_(\w+)$")
TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)
FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+ ")([^"]*)"', re.MULTILINE)
HOST_HEADERS = Path(__file__).parent / "include"  # stdio.h and others that .cu files include, all empty
# What a source says that takes more than its text, or the hour, into account; or may say in pieces.
NOT_ALONE = re.compile(r"include|embed|__DATE__|__TIME__|\\\n")
FROM_FILES = re.compile(r"--?(pre-include|include(?!-path)|options-file|optf|pch|create-pch|use-pch)\b")  # options
MISSING_HEADER = "open source file"  # "could not …" without include paths, "cannot …" with some
WITHOUT_OPTIMISATION = {"-G", "--device-debug", "-device-debug"}
COMPILE_GIVEN = """import pickle, sys
sys.path[:], given = pickle.load(sys.stdin.buffer)
from simtlab.frontend.cuda import answer_for
sys.stdout.buffer.write(answer_for(given))"""


@dataclass(frozen=True)
class CompiledCuda:
    """What the compiler gave: the PTX, the lowered name of each name expression, its warnings, registers if asked for."""

    ptx: str
    names: dict[str, str]
    log: str
    registers: RegisterCounts
    cubin: bytes = field(default=b"", repr=False)  # if registers were asked for


def compile_cuda(
    source: str,
    name: str = "kernel.cu",
    options: Sequence[str] = (),
    include_paths: Sequence[str] = (),
    name_expressions: Sequence[str] = (),
    architecture: str = "compute_75",
    count_registers: bool = False,
) -> CompiledCuda:
    """Compiles CUDA C++. CompileError, with the compiler's own text, if it refuses.

    `name` is how the source is called in messages and line information. `name_expressions` are the template instances
    to make, such as `sum<float>`; `names` tells what each is called in the PTX. With `count_registers` the PTX goes
    through ptxas too; a program that only ptxas refuses (it calls a function defined nowhere, say) has PTX and no counts.
    """
    if "\0" in source:
        raise CompileError(f"{name}: the source has a NUL character, which C++ text cannot have")
    arguments = ["-lineinfo", "-default-device", SIGNED_CHAR]
    if not any(ARCHITECTURE_OPTION.match(option) for option in options):
        arguments.append(f"--gpu-architecture={architecture}")
    arguments += [*options, *(f"--include-path={path}" for path in include_paths)]
    refusal = "registers were not asked for"
    if count_registers:
        try:
            return with_headers(source, name, to_architecture("sm", arguments), name_expressions)
        except CompileError as error:
            refusal = first_complaint(str(error))
    compiled = with_headers(source, name, to_architecture("compute", arguments), name_expressions)
    return replace(compiled, registers=RegisterCounts(why_none=refusal))


def to_architecture(kind: str, arguments: Sequence[str]) -> list[str]:
    """The arguments with `compute_75` for `sm_75`, which stops at the PTX, or the other way round. The PTX is the same."""
    changed = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        names_one = ARCHITECTURE_OPTION.match(argument) or ARCHITECTURE_OPTION.fullmatch(before)
        changed.append(ARCHITECTURE.sub(rf"{kind}_\1", argument) if names_one else argument)
    return changed


def first_complaint(log: str) -> str:
    """The line in which ptxas says what is wrong, without its padding."""
    lines = [" ".join(line.split()) for line in log.splitlines()]
    return next((line for line in lines if re.match(r"ptxas (error|fatal)", line)), lines[0] if lines else "")


def with_headers(source: str, name: str, arguments: list[str], name_expressions: Sequence[str]) -> CompiledCuda:
    """One compilation; where a header is missing, another with those that NVRTC carries."""
    host_headers = f"--include-path={HOST_HEADERS}"
    try:
        return run(source, name, [*arguments, host_headers], name_expressions)
    except CompileError as error:
        headers = bundled_headers() if MISSING_HEADER in str(error) else None
        if headers is None:
            raise
    bundled = [f"--include-path={headers}", f"--include-path={headers / 'cccl'}"]
    return run(source, name, [*arguments, *bundled, host_headers], name_expressions)


def hint_for(source: str, name: str) -> str:
    """What to do with a whole program: NVRTC compiles kernels alone."""
    if not re.search(r"\bmain\s*\(", source):
        return ""
    return f"\nThis is a whole program, with host code: `simtlab nvcc {name} -o app` compiles it, and `simtlab exec ./app` runs it."


def run(source: str, name: str, arguments: list[str], name_expressions: Sequence[str]) -> CompiledCuda:
    """One compilation; what a source that stands alone gave lately is known."""
    given = source, name, tuple(arguments), tuple(name_expressions)
    if NOT_ALONE.search(source) or any(map(FROM_FILES.match, arguments)):
        return compile_once(*given)
    nvrtc()  # which must be there all the same
    known = _compile_alone(*given, os.getcwd())
    return replace(known, names=dict(known.names))


@functools.lru_cache(maxsize=64)
def _compile_alone(source: str, name: str, arguments: tuple[str, ...], expressions: tuple[str, ...], _folder: str) -> CompiledCuda:
    return compile_once(source, name, arguments, expressions)


def compile_once(source: str, name: str, arguments: Sequence[str], name_expressions: Sequence[str]) -> CompiledCuda:
    """From program to PTX, and to a cubin where the architecture is a real GPU's."""
    given = source, name, tuple(arguments), tuple(name_expressions)
    return in_another_process(given) if WITHOUT_OPTIMISATION.intersection(arguments) else compile_here(*given)


def in_another_process(given: tuple) -> CompiledCuda:
    """NVRTC 13.4 compiles everything later in a process without optimisation once it was asked to do so."""
    nvrtc()  # which must be there all the same
    done = subprocess.run([sys.executable, "-c", COMPILE_GIVEN], input=pickle.dumps((sys.path, given)), capture_output=True)
    if done.returncode:
        raise CompileError(done.stderr.decode(errors="replace").strip() or f"the compiler ended with status {done.returncode}")
    found = pickle.loads(done.stdout)
    if isinstance(found, Exception):
        raise found
    return found


def answer_for(given: tuple) -> bytes:
    """What `in_another_process` reads: what was compiled, or the error."""
    try:
        return pickle.dumps(compile_here(*given))
    except CompileError as error:
        return pickle.dumps(CompileError(str(error)))


def compile_here(source: str, name: str, arguments: Sequence[str], name_expressions: Sequence[str]) -> CompiledCuda:
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
            raise CompileError((log.strip() or error_text(library, status)) + hint_for(source, name))
        ptx = without_working_directory(output(library, program, "PTX"), name)
        cubin = raw_output(library, program, "CUBIN") if hasattr(library, "nvrtcGetCUBIN") else b""
        names = lowered_names(library, program, name_expressions)
        return CompiledCuda(ptx, names, log, counted(cubin, ptx), cubin)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def counted(cubin: bytes, ptx: str) -> RegisterCounts:
    """The register counts in the cubin, if one was made."""
    target = TARGET.search(ptx)
    if not cubin or target is None:
        return RegisterCounts(why_none="NVRTC made no cubin")
    try:
        return RegisterCounts(register_counts(cubin), target[1])
    except UnreadableCubin as problem:
        return RegisterCounts(why_none=str(problem))


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
    """Fetches the "PTX" or the "ProgramLog", up to the NUL that ends it."""
    text, _, _ = raw_output(library, program, what).partition(b"\0")
    return text.decode("utf-8", "replace")


def raw_output(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    """The same as it is, or the "CUBIN"; empty if none was made."""
    size = ctypes.c_size_t()
    check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    if size.value:
        check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw[: size.value]


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
    """Where the package keeps its library; the folder differs between CUDA versions. The newest comes first, of equally new ones
    that which Python's path has first."""
    return sorted(nvidia_files("*/lib/libnvrtc.so.*"), key=lambda path: path.suffix)[::-1]


def bundled_headers() -> Path | None:
    """The folder with cuda_fp16.h, cooperative_groups.h and their like, which newer NVRTC carries inside itself.

    NVRTC unpacks them once for each of its versions; a lock of its own guards against two processes doing so at a time.
    """
    library = nvrtc()
    if not hasattr(library, "nvrtcInstallBundledHeaders"):
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    folder = cache_directory() / f"cuda-headers-{major.value}.{minor.value}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    status = library.nvrtcInstallBundledHeaders(encoded(folder), 0, None)
    return folder if status == SUCCESS else None
