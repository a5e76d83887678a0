"""`simtlab loads`: which global loads of a program have an address that is known at the launch, and why others have not.

`python -m simtlab.cli.loads` prints the table of the workloads for docs/loads.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import BadInput
from simtlab.cli.inspect import read_lines
from simtlab.cli.source import check_source, choose_kernel, open_module, short_names
from simtlab.cli.tables import show_facts, show_table
from simtlab.cli.workloads import is_workload
from simtlab.frontend.listing import statement_texts

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.host.module import Kernel, Module
    from simtlab.program.program import Program

CLASSES = {True: "deterministic", False: "non-deterministic"}


@dataclass(frozen=True)
class Place:
    """One instruction: where it is in the program, in the PTX and in the CUDA source."""

    pc: int
    function: str
    ptx_line: int
    ptx: str
    source_file: str | None
    source_line: int | None
    source: str  # the CUDA line's text, where the file is there

    @property
    def line(self) -> str:
        """The line to look at, with its text."""
        return f"{self.source_line}  {self.source}" if self.source_line else f"PTX {self.ptx_line}  {self.ptx}"


@dataclass(frozen=True)
class LoadView:
    """A global load. The chain leads from what was read at run time to the load; it is empty where nothing was."""

    load: Place
    deterministic: bool
    reads: str
    chain: list[Place]

    def why(self) -> str:
        """The instruction that read something at run time, then the lines that its value went through."""
        if self.deterministic:
            return ""
        lines = list(dict.fromkeys(place.line for place in self.chain))
        return "\n".join([f"{self.reads}, read by {self.chain[0].ptx}", *lines])


@dataclass(frozen=True)
class KernelLoads:
    name: str
    full_name: str
    loads: list[LoadView]

    @property
    def deterministic(self) -> int:
        return sum(view.deterministic for view in self.loads)


def find_loads(file: Path, kernel: str | None, options: Sequence[str], include: Sequence[Path]) -> LoadsAnswer:
    """Compile what is named (a program, a file of launches, a workload) and classify the loads of its kernels."""
    if is_workload(file):
        kernels, folder = _of_workload(file, kernel, options, include)
    elif file.suffix == ".toml":
        kernels, folder = _of_launches(file, kernel, options, include)
    else:
        check_source(file, include)
        module = _open(file, [kernel], options, include)
        kernels, folder = _chosen(module, [kernel] if kernel else _names(module), file), file.parent
    return LoadsAnswer(str(file), [view_loads(name, kernel.program, folder) for name, kernel in kernels.items()])


def _of_workload(
    name: Path, kernel: str | None, options: Sequence[str], include: Sequence[Path]
) -> tuple[dict[str, Kernel], Path]:
    _refuse(options, include, "cannot be used with a workload, which says this itself")
    from simtlab.host.gpu import Gpu
    from simtlab.workloads.frame import workload
    from simtlab.workloads.loading import find, load

    folder = find(name)
    definition = load(folder)
    module = workload(name, next(iter(definition.SIZES))).compile(Gpu())
    instances = {module[expression].name: expression for expression in definition.KERNEL_NAMES}
    names = [instances.get(full, short) for full, short in zip(module.kernels, short_names(module), strict=True)]
    return _chosen(module, [kernel] if kernel else names, folder), folder


def _of_launches(
    file: Path, kernel: str | None, options: Sequence[str], include: Sequence[Path]
) -> tuple[dict[str, Kernel], Path]:
    _refuse(options, include, "cannot be used with a .toml file, which says this itself")
    from simtlab.cli.launches import read_launches

    plan = read_launches(file, seed=0)
    check_source(plan.source, plan.include)
    launched = [launch.kernel for launch in plan.launches]
    module = _open(plan.source, [kernel, *launched], plan.options, plan.include)
    return _chosen(module, [kernel] if kernel else launched, plan.source), plan.source.parent


def _refuse(options: Sequence[str], include: Sequence[Path], why: str) -> None:
    for name, given in (("option", options), ("include", include)):
        if given:
            raise BadInput(f"--{name} {why}")


def _open(path: Path, kernels: Iterable[str | None], options: Sequence[str], include: Sequence[Path]) -> Module:
    from simtlab.host.gpu import Gpu

    return open_module(Gpu(), path, kernels, options, include)


def _names(module: Module) -> list[str | None]:
    return [*short_names(module)] or [None]


def _chosen(module: Module, names: Iterable[str | None], path: Path) -> dict[str, Kernel]:
    """Kernels by the names they were asked for, or by their own."""
    chosen = [(name, choose_kernel(module, name, path)) for name in names]
    return {name or kernel.name: kernel for name, kernel in chosen}


# Views ----------------------------------------------------------------------------------------------------------------


def view_loads(name: str, program: Program, folder: Path) -> KernelLoads:
    places = _Places(program, folder)
    views = [
        LoadView(places.of(load.pc), load.deterministic, load.reason, [places.of(pc) for pc in load.chain])
        for load in program.loads
    ]
    return KernelLoads(name, program.name, views)


class _Places:
    """Finds the text of instructions."""

    def __init__(self, program: Program, folder: Path):
        self.program, self.folder = program, folder
        places = [lowered.origin.position for lowered in program.lowered]
        self.statements = statement_texts(program.module.text, places)
        self.sources: dict[str, list[str]] = {}

    def of(self, pc: int) -> Place:
        origin = self.program.lowered[pc].origin
        position, source = origin.position, origin.source
        text = ""
        if source is not None:
            if source.file not in self.sources:
                self.sources[source.file] = read_lines(source.file, self.folder)
            lines = self.sources[source.file]
            text = lines[source.line - 1].strip() if source.line <= len(lines) else ""
        functions = self.program.functions.items()
        function = next(name for name, code in functions if 0 <= pc - code.first < len(code.instructions))
        return Place(
            pc, function, position.line, self.statements[pc],
            source.file if source else None, source.line if source else None, text,
        )  # fmt: skip


@dataclass(frozen=True)
class LoadsAnswer:
    """The loads of a program, kernel by kernel."""

    source: str
    kernels: list[KernelLoads]

    def as_json(self) -> dict[str, Any]:
        return {"source": self.source, "kernels": [asdict(kernel) for kernel in self.kernels]}

    def show(self, console: Console) -> None:
        for number, kernel in enumerate(self.kernels):
            if number:
                console.print()
            loads = f"{kernel.deterministic} deterministic, {len(kernel.loads) - kernel.deterministic} not"
            show_facts(console, [("kernel", kernel.name), ("global loads", loads if kernel.loads else "none")])
            if kernel.loads:
                console.print()
                rows = [
                    [str(view.load.source_line or view.load.ptx_line), view.load.source, view.load.ptx,
                     CLASSES[view.deterministic], view.why()]
                    for view in kernel.loads
                ]  # fmt: skip
                show_table(console, ["line", "source", "load", "class", "because of"], rows, right=(0,))


# The page -------------------------------------------------------------------------------------------------------------


def workload_table() -> str:
    """How many loads of each class the workloads' kernels have, as Markdown."""
    from simtlab.workloads.loading import workloads

    known = unknown = 0
    lines = ["| workload | kernel | deterministic | non-deterministic | where those are |", "|---|---|--:|--:|---|"]
    for name in workloads():
        for kernel in find_loads(Path(name), None, (), ()).kernels:
            others = len(kernel.loads) - kernel.deterministic
            known, unknown = known + kernel.deterministic, unknown + others
            where = {view.load.source: None for view in kernel.loads if not view.deterministic}
            shown = "<br>".join(f"`{source.replace('|', chr(92) + '|')}`" for source in where)
            lines.append(f"| {name} | `{kernel.name}` | {kernel.deterministic} | {others} | {shown} |")
    lines.append(f"| all | | {known} | {unknown} | |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(workload_table(), end="")
