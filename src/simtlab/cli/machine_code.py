"""`simtlab inspect --sass`: the machine code of a file's kernels, with control bits, under the CUDA lines it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.source import check_source, open_module, short_names

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.program.sass.listing import Listed


@dataclass
class MachineCodeAnswer:
    """The listing of some kernels for one architecture."""

    architecture: str
    kernels: dict[str, list[Listed]]

    def as_json(self) -> dict[str, Any]:
        def row(one: Listed) -> dict[str, Any]:
            return {"address": one.address, "text": one.text, "source_file": one.source.file if one.source else None,
                    "source_line": one.source.line if one.source else None, "control": asdict(one.control)}  # fmt: skip

        return {"isa": self.architecture, "kernels": {name: [*map(row, listing)] for name, listing in self.kernels.items()}}

    def show(self, console: Console) -> None:
        from simtlab.program.sass.listing import control_text

        def line(text: str) -> None:
            console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)

        for name, listing in self.kernels.items():
            line(f"{name}, {self.architecture}: {len(listing)} instructions")
            line("address  stall, yield, write and read barrier, waits for, reuse")
            before = None
            for one in listing:
                if one.source is not None and one.source != before:
                    line(f"{one.source.file}:{one.source.line}  {source_text(one.source.file, one.source.line)}")
                before = one.source
                line(f"  {one.address:#06x} {control_text(one.control)}  {one.text}")


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
    return MachineCodeAnswer(isa, {name: listed(module.cubin, value) for name, value in full.items()})
