"""`simtlab inspect --sass`: the machine code of a file's kernels, with control bits, under the CUDA lines it came from, and the
PTX of each line beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.source import check_source, open_module, short_names

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.frontend.ast import SourceLine
    from simtlab.program.program import Program
    from simtlab.program.sass.listing import Listed


Ptx = list[tuple["SourceLine | None", str]]  # a kernel's instructions, with the CUDA line of each
WIDTH = 78  # of the columns before PTX


@dataclass
class MachineCodeAnswer:
    """The listing of some kernels for one architecture, and the PTX of the same source."""

    architecture: str
    kernels: dict[str, list[Listed]]
    ptx: dict[str, Ptx]

    def as_json(self) -> dict[str, Any]:
        def row(one: Listed) -> dict[str, Any]:
            return {"address": one.address, "text": one.text, "source_file": one.source.file if one.source else None,
                    "source_line": one.source.line if one.source else None, "control": asdict(one.control)}  # fmt: skip

        def ptx_row(source: SourceLine | None, text: str) -> dict[str, Any]:
            return {"text": text, "source_file": source.file if source else None, "source_line": source.line if source else None}

        return {"isa": self.architecture, "kernels": {name: [*map(row, listing)] for name, listing in self.kernels.items()},
                "ptx": {name: [ptx_row(*one) for one in lines] for name, lines in self.ptx.items()}}  # fmt: skip

    def show(self, console: Console) -> None:
        from simtlab.program.sass.listing import control_text

        def line(text: str) -> None:
            console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)

        for name, listing in self.kernels.items():
            line(f"{name}, {self.architecture}: {len(listing)} instructions")
            line(f"{'address  stall, yield, write and read barrier, waits for, reuse':{WIDTH}}PTX of the line")
            ptx = by_line(self.ptx.get(name, []))
            for source, rows in groupby(listing, key=lambda one: one.source):
                if source is not None:
                    line(f"{source.file}:{source.line}  {source_text(source.file, source.line)}")
                left = [f"  {one.address:#06x} {control_text(one.control)}  {one.text}" for one in rows]
                for machine_code, beside in zip_longest(left, ptx.pop(source, []), fillvalue=""):
                    line(f"{machine_code:{WIDTH}}{beside}")


def by_line(ptx: Ptx) -> dict[SourceLine | None, list[str]]:
    """Shown where a line's machine code begins: the compiler may have spread that."""
    found: dict[SourceLine | None, list[str]] = {}
    for source, text in ptx:
        found.setdefault(source, []).append(text)
    return found


def source_text(file: str, line: int) -> str:
    """A line of a CUDA file, if it can be read."""
    try:
        return Path(file).read_text(errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        return ""


def look_at_machine_code(
    path: Path, kernel: str | None, isa: str, options: Sequence[str], include: Sequence[Path]
) -> MachineCodeAnswer:
    """Compile or link a file for an architecture and list its kernels, or one of them."""
    check_source(path, include)
    from simtlab.host.gpu import Gpu
    from simtlab.program.sass.listing import listed

    module = open_module(Gpu(isa=isa), path, [kernel], options, include)
    assert module.cubin is not None
    full = {name: module.full_name(name) for name in ([kernel] if kernel else short_names(module))}
    listings = {name: listed(module.cubin, value) for name, value in full.items()}
    as_ptx = open_module(Gpu(), path, [kernel], options, include)
    return MachineCodeAnswer(isa, listings, {name: ptx_of(as_ptx[name].program) for name in full})


def ptx_of(program: Program) -> Ptx:
    from simtlab.frontend.listing import statement_texts

    origins = list(dict.fromkeys(one.origin for one in program.lowered))
    texts = statement_texts(program.module.text, (origin.position for origin in origins))
    return [(origin.source, text) for origin, text in zip(origins, texts, strict=True)]
