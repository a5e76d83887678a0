"""Liveness: which registers hold a value that some later instruction reads. Sets of registers are bits of an int."""

from collections.abc import Sequence
from dataclasses import dataclass

from simtlab.program.cfg import ControlFlowGraph


@dataclass(frozen=True, slots=True)
class Usage:
    """The registers one instruction reads and writes. A guarded write leaves the old value in some lanes."""

    reads: int
    writes: int
    always: bool  # the writes happen in every active lane


def live_out(graph: ControlFlowGraph, usages: Sequence[Usage]) -> list[int]:
    """For each instruction, the registers live right after it."""
    needed = [0] * len(graph.blocks)  # live at the start of each block
    order = graph.order()[::-1]
    effects = [_block_effect(block.first, block.end, usages) for block in graph.blocks]
    changed = True
    while changed:
        changed = False
        for number in order:
            out = 0
            for successor in graph.blocks[number].successors:
                out |= needed[successor]
            reads, kills = effects[number]
            new = reads | (out & ~kills)
            if new != needed[number]:
                needed[number] = new
                changed = True
    after = [0] * len(usages)
    for block in graph.blocks:
        live = 0
        for successor in block.successors:
            live |= needed[successor]
        for k in range(block.end - 1, block.first - 1, -1):
            after[k] = live
            live = before(usages[k], live)
    return after


def before(usage: Usage, after: int) -> int:
    """What is live before an instruction, from what is live after it."""
    return usage.reads | (after & ~usage.writes if usage.always else after)


def _block_effect(first: int, end: int, usages: Sequence[Usage]) -> tuple[int, int]:
    """What the block reads before writing it, and what it surely overwrites."""
    reads = kills = 0
    for k in range(end - 1, first - 1, -1):
        usage = usages[k]
        if usage.always:
            reads &= ~usage.writes
            kills |= usage.writes
        reads |= usage.reads
    return reads, kills
