"""NVIDIA's compiler for whole programs, found on this machine or as wheels, and called so that simtlab can run what it makes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from simtlab.errors import SimtlabError
from simtlab.runtime.library_file import library_folder
from simtlab.storage import nvidia_files

OLDEST = 75  # the first architecture that CUDA 13 compiles for
HEADER = Path(__file__).parent / "compatible.h"
REFERENCES_HEADER = Path(__file__).parent / "texture_references.h"
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
RELOCATABLE = ("-rdc", "--relocatable-device-code")
COMPILE_ONLY = {"-dc": "-c", "--device-c": "-c"}
OF_AN_ARCHITECTURE = ("-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code", "-cudart", "--cudart")
GET_IT = "install a CUDA toolkit, or `pip install 'simtlab[nvcc]'`"


def compile_program(given: Sequence[str]) -> int:
    """Call nvcc with its own options, changed where need be. Gives its exit code."""
    nvcc = find_nvcc()
    if shutil.which("g++") is None and not any(option.startswith(("-ccbin", "--compiler-bindir")) for option in given):
        raise SimtlabError("nvcc needs a C++ compiler for the host's part of a program: install g++, or name one with -ccbin")
    command = [nvcc, *options_for(given, cuda_version(nvcc))]
    return subprocess.run(command).returncode


def find_nvcc() -> str:
    """$NVCC, the one on the PATH, in a toolkit, or of the wheels."""
    toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [shutil.which("nvcc"), *(str(Path(folder) / "bin" / "nvcc") for folder in toolkits if folder)]
    candidates += [str(path) for path in reversed(nvidia_files("cu*/bin/nvcc"))]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise SimtlabError(f"there is no nvcc on this machine, which compiles whole CUDA programs: {GET_IT}")


def cuda_version(nvcc: str) -> int:
    """Its major version."""
    told = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release (\d+)\.", told)
    if found is None:
        raise SimtlabError(f"{nvcc} --version does not say which CUDA it is of; {GET_IT}")
    return int(found[1])


def options_for(given: Sequence[str], cuda: int) -> list[str]:
    """PTX in the binary and not packed, the runtime shared, simtlab's library for the linker, a header for older programs; device
    code of each file by itself, for PTX of several is not linked."""
    kept, architectures, named = [], [OLDEST], False
    for option in given:
        if named:  # the value of an option before it
            architectures += numbers_in(option)
            named = False
        elif option in OF_AN_ARCHITECTURE or option in RELOCATABLE:
            named = True
        elif option.partition("=")[0] in RELOCATABLE:
            continue
        elif option in COMPILE_ONLY:
            kept.append(COMPILE_ONLY[option])
        elif option.partition("=")[0] in OF_AN_ARCHITECTURE or re.match(r"-arch=|-gencode", option):
            architectures += numbers_in(option)
        else:
            kept.append(option)
    folder = library_folder(min(cuda, 13))
    headers = [HEADER, *([REFERENCES_HEADER] if has_references(kept) else [])] if cuda >= 12 else []
    return [f"-arch=compute_{max(architectures)}", "--cudart=shared", "-no-compress", "-lineinfo", f"-L{folder}",
            *(option for header in headers for option in ("-include", str(header))), *kept]  # fmt: skip


def has_references(given: Sequence[str]) -> bool:
    """Whether a source among the options, or a file of the program's that one includes, has a `texture<>` or `surface<>`."""
    folders = [Path(option.removeprefix("-I")) for option in given if option.startswith("-I") and len(option) > 2]
    folders += [Path(given[k + 1]) for k, option in enumerate(given[:-1]) if option in ("-I", "--include-path")]
    waiting, seen = [Path(option) for option in given if option.endswith(SOURCES)], set()
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        text = path.read_text(errors="replace")
        if re.search(r"^[ \t]*(static[ \t]+)?(texture|surface)[ \t]*<", text, re.MULTILINE):
            return True
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+)[">]', text, re.MULTILINE):
            waiting += [folder / name for folder in (path.parent, *folders)]
    return False


def numbers_in(option: str) -> list[int]:
    """Architectures that an option names, such as 90 of `sm_90a`."""
    return [int(number) for number in re.findall(r"(?:sm|compute)_(\d+)", option)]
