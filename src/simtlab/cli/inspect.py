"""`simtlab inspect`: what a kernel needs, how its blocks follow each other, which PTX each CUDA line became."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.source import check_source, choose_kernel, open_module, registers_in_words, short_names
from simtlab.cli.tables import show_facts, show_table
from simtlab.frontend.listing import statement_texts

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.frontend.ast import Position
    from simtlab.host.module import Kernel
    from simtlab.program.cfg import ControlFlowGraph
    from simtlab.program.function import FunctionCode


@dataclass(frozen=True)
class ParameterView:
    type: str
    bytes: int
    offset: int
    name: str


@dataclass(frozen=True)
class BlockView:
    """A basic block. `reconvergence` is its immediate post-dominator; None stands for the function's end."""

    number: int
    instructions: int
    successors: list[int]
    immediate_dominator: int | None
    dominators: list[int]
    reconvergence: int | None


@dataclass(frozen=True)
class PtxView:
    """One PTX instruction, the block it is in, and the CUDA line it came from."""

    block: int
    line: int
    text: str
    source_file: str | None
    source_line: int | None


@dataclass(frozen=True)
class FunctionView:
    """A function; its registers are simtlab's own allocation, for ptxas counts whole kernels."""

    name: str
    registers: int
    most_live_registers: int
    predicates: int
    blocks: list[BlockView]
    ptx: list[PtxView]


@dataclass(frozen=True)
class KernelView:
    """A kernel; its own function comes first among the functions it can reach.

    `registers` decide how many CTAs fit in a core; `registers_from` says whose count they are.
    """

    name: str
    full_name: str
    parameters: list[ParameterView]
    registers: int
    registers_from: str
    own_registers: int
    static_shared_bytes: int
    local_bytes: int
    recursive: bool
    functions: list[FunctionView]


def look_into(
    path: Path, kernel: str | None, with_ptx: bool, options: Sequence[str], include: Sequence[Path]
) -> InspectAnswer:
    """Compile or load a file and describe its kernels, or one of them."""
    check_source(path, include)
    from simtlab.host.gpu import Gpu

    module = open_module(Gpu(), path, [kernel], options, include)
    names = [kernel] if kernel is not None or not module.kernels else short_names(module)
    views = [view_kernel(name, choose_kernel(module, name, path)) for name in names]
    return InspectAnswer(path, views, with_ptx)


def view_kernel(name: str | None, kernel: Kernel) -> KernelView:
    program = kernel.program
    parameters = [
        ParameterView(f".{p.type}" if p.count is None else f".{p.type}[{p.count}]", p.size,
                      program.parameter_offsets[p.name], p.name)
        for p in program.kernel.parameters
    ]  # fmt: skip
    text = program.module.text
    return KernelView(
        name or kernel.name, kernel.name, parameters, program.registers, program.registers_from, program.own_registers,
        kernel.shared_bytes, program.depth.local_bytes, program.depth.recursive,
        [view_function(code, text) for code in program.functions.values()],
    )  # fmt: skip


def view_function(code: FunctionCode, text: str) -> FunctionView:
    graph, allocation = code.graph, code.allocation
    ptx = list_ptx(code, text)
    reachable = set(graph.order()) | {instruction.block for instruction in ptx}
    blocks = [view_block(graph, number) for number in sorted(reachable)]
    return FunctionView(
        code.function.name, allocation.registers, allocation.most_live, allocation.predicates, blocks, ptx
    )


def view_block(graph: ControlFlowGraph, number: int) -> BlockView:
    from simtlab.program.cfg import EXIT

    block = graph.blocks[number]
    above, after = graph.immediate_dominator[number], graph.immediate_post_dominator[number]
    dominators = [number]
    while graph.immediate_dominator[dominators[-1]] != dominators[-1]:
        dominators.append(graph.immediate_dominator[dominators[-1]])
    return BlockView(
        number, block.end - block.first, block.successors, None if above == number else above, sorted(dominators),
        None if after == EXIT else after,
    )  # fmt: skip


def list_ptx(code: FunctionCode, text: str) -> list[PtxView]:
    """The function's instructions in order; what the lowering added at its borders is left out."""
    first: dict[Position, int] = {}
    for number, lowered in enumerate(code.instructions):
        first.setdefault(lowered.origin.position, number)
    listed = []
    for (position, number), statement in zip(first.items(), statement_texts(text, first), strict=True):
        source = code.instructions[number].origin.source
        place = (source.file, source.line) if source else (None, None)
        listed.append(PtxView(code.graph.block_of[number], position.line, statement, *place))
    return listed


@dataclass(frozen=True)
class InspectAnswer:
    """The kernels of a file."""

    path: Path
    kernels: list[KernelView]
    with_ptx: bool

    def as_json(self) -> dict[str, Any]:
        return {"source": str(self.path), "kernels": [asdict(kernel) for kernel in self.kernels]}

    def show(self, console: Console) -> None:
        for number, kernel in enumerate(self.kernels):
            if number:
                console.print()
            show_kernel(console, kernel)
            for function in kernel.functions:
                show_blocks(console, function, kernel)
                if self.with_ptx:
                    console.print()
                    show_ptx(console, function.ptx, self.path.parent)


def show_kernel(console: Console, kernel: KernelView) -> None:
    recursive = ", and a stack for the recursive calls" if kernel.recursive else ""
    facts = [("kernel", kernel.name)]
    if kernel.full_name != kernel.name:
        facts.append(("in the PTX", kernel.full_name))
    facts += [
        ("registers", registers_in_words(kernel.registers, kernel.registers_from, kernel.own_registers)),
        ("live at once", f"{kernel.functions[0].most_live_registers} registers at most"),
        ("static shared", f"{kernel.static_shared_bytes} bytes a block"),
        ("local", f"{kernel.local_bytes} bytes a thread{recursive}"),
    ]
    show_facts(console, facts)
    if kernel.parameters:
        console.print()
        rows = [[str(k), p.type, str(p.bytes), str(p.offset), p.name] for k, p in enumerate(kernel.parameters)]
        show_table(console, ["parameter", "type", "bytes", "offset", "name"], rows, right=(0, 2, 3))


def show_blocks(console: Console, function: FunctionView, kernel: KernelView) -> None:
    console.print()
    if function.name != kernel.full_name:
        live = f"{function.registers} registers, {function.most_live_registers} live at once"
        console.print(f"function {function.name}: {live}", soft_wrap=True)
    rows = []
    for block in function.blocks:
        lines = sorted({p.source_line for p in function.ptx if p.block == block.number and p.source_line})
        after = "end" if block.reconvergence is None else f"B{block.reconvergence}"
        rows.append([
            f"B{block.number}",
            str(block.instructions),
            _ranges(lines),
            " ".join(f"B{number}" for number in block.successors) or "end",
            "" if block.immediate_dominator is None else f"B{block.immediate_dominator}",
            after,
        ])  # fmt: skip
    header = ["block", "instructions", "source lines", "successors", "dominator", "reconverges at"]
    show_table(console, header, rows, right=(1,))


def _ranges(numbers: Sequence[int]) -> str:
    """3-5, 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def show_ptx(console: Console, ptx: Sequence[PtxView], folder: Path) -> None:
    """One row a CUDA line, with all the PTX it became; PTX that no line is known for comes first."""
    groups: dict[tuple[str, int], list[PtxView]] = {}
    for instruction in ptx:
        groups.setdefault((instruction.source_file or "", instruction.source_line or 0), []).append(instruction)
    texts = {file: read_lines(file, folder) for file, _ in groups}
    several = len([file for file in texts if file]) > 1
    rows = []
    for (file, line), members in sorted(groups.items()):
        text = texts[file][line - 1].rstrip() if 0 < line <= len(texts[file]) else ""
        place = f"{Path(file).name}:{line}" if several and file else str(line or "")
        rows.append([place, text, "\n".join(f"B{p.block:<3} {p.text}" for p in members)])
    show_table(console, ["line", "source", "block and PTX"], rows, right=(0,))


def read_lines(file: str, folder: Path) -> list[str]:
    """A CUDA file's lines, if it is still there: as it was named, or beside the PTX."""
    for path in (Path(file), folder / Path(file).name):
        if os.path.isfile(path):
            return path.read_text(encoding="utf-8", errors="replace").expandtabs(4).splitlines()
    return []
