"""Program files: CUDA C++ or PTX by their suffix, and the choice of a kernel in them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simtlab.cli.answer import BadInput
from simtlab.errors import CompileError, SimtlabError

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.module import Kernel, Module


def check_source(path: Path, include: Iterable[Path]) -> None:
    """Refuse what cannot be a program, before anything slow is imported."""
    if path.suffix not in (".cu", ".ptx"):
        raise BadInput(f"{path}: a program ends in .cu (CUDA C++) or .ptx")
    if not os.path.exists(path):
        raise BadInput(f"cannot read {path}: No such file or directory")
    for folder in include:
        if not os.path.isdir(folder):
            raise BadInput(f"the include folder {folder} does not exist")


def open_module(
    gpu: Gpu, path: Path, kernels: Iterable[str | None], options: Sequence[str], include: Iterable[Path]
) -> Module:
    """Compile or load a program, with the template instances that `kernels` name."""
    if path.suffix == ".ptx":
        return gpu.load(path)
    expressions = dict.fromkeys(name for name in kernels if name and any(mark in name for mark in "<:("))
    folders = [str(folder) for folder in include]
    try:
        return gpu.compile(path, options=options, include_paths=folders, names=[*expressions])
    except CompileError:
        if not (is_whole_program(path) and has_nvcc()):
            raise
    return gpu.load(kernels_of_program(path, options, folders))


def is_whole_program(path: Path) -> bool:
    """Whether a CUDA file has host code with a main function."""
    return path.suffix == ".cu" and re.search(r"\bmain\s*\(", path.read_text(errors="replace")) is not None


def has_nvcc() -> bool:
    from simtlab.runtime.nvcc import find_nvcc

    try:
        return bool(find_nvcc())
    except SimtlabError:
        return False


def kernels_of_program(path: Path, options: Sequence[str], folders: Sequence[str]) -> str:
    """The PTX of a whole program's kernels, by nvcc."""
    with tempfile.TemporaryDirectory(prefix="simtlab-") as folder:
        made = Path(folder) / f"{path.stem}.ptx"
        build_program(path, options, folders, ["-ptx"], made)
        return made.read_text()


def build_program(path: Path, options: Sequence[str], folders: Sequence[str], more: Sequence[str], made: Path) -> None:
    """Compile a whole program with nvcc; what it says of mistakes is on stderr."""
    from simtlab.runtime.nvcc import compile_program

    if compile_program([*more, *options, *(f"-I{folder}" for folder in folders), str(path), "-o", str(made)]) != 0:
        raise CompileError(f"nvcc cannot compile {path}")


def choose_kernel(module: Module, name: str | None, path: Path) -> Kernel:
    """The kernel of that name, or the only one."""
    if name is not None:
        return module[name]
    if len(module.kernels) == 1:
        return module[module.kernels[0]]
    if not module.kernels:
        raise BadInput(f"{path} has no kernel; an instance of a template must be named, such as 'scale<float>'")
    known = ", ".join(f"'{short}'" for short in short_names(module))
    raise BadInput(f"{path} has {len(module.kernels)} kernels, so one must be named: {known}")


def registers_in_words(registers: int, source: str, own: int) -> str:
    """The count that decides how many CTAs fit in a core, and simtlab's own where that is another one."""
    beside = "" if source.startswith("simtlab") else f"; simtlab's own allocation has {own}"
    return f"{registers} a thread, by {source}{beside}"


def short_names(module: Module) -> list[str]:
    """Names that `--kernel` takes: the C++ name where it is enough, else the one in the PTX."""
    from simtlab.host.module import plain_name

    plain = [plain_name(name) for name in module.kernels]
    return [short if plain.count(short) == 1 else full for short, full in zip(plain, module.kernels, strict=True)]
