"""Liveness: which registers hold a value that some later instruction reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from simtlab.program.cfg import ControlFlowGraph

NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Usage:
    """The registers one instruction reads and writes. A guarded write leaves the old value in some lanes."""

    reads: frozenset[int]
    writes: frozenset[int]
    always: bool  # the writes happen in every active lane


def live_out(graph: ControlFlowGraph, usages: Sequence[Usage]) -> list[frozenset[int]]:
    """For each instruction, the registers live right after it."""
    needed = [NONE] * len(graph.blocks)  # live at the start of each block
    order = graph.order()[::-1]
    effects = [_block_effect(block.first, block.end, usages) for block in graph.blocks]
    changed = True
    while changed:
        changed = False
        for number in order:
            reads, kills = effects[number]
            new = reads | (_at_end(graph, number, needed) - kills)
            if new != needed[number]:
                needed[number] = new
                changed = True
    after = [NONE] * len(usages)
    for number, block in enumerate(graph.blocks):
        live = _at_end(graph, number, needed)
        for k in range(block.end - 1, block.first - 1, -1):
            after[k] = live
            live = before(usages[k], live)
    return after


def _at_end(graph: ControlFlowGraph, number: int, needed: Sequence[frozenset[int]]) -> frozenset[int]:
    """What is live where a block ends."""
    return NONE.union(*(needed[successor] for successor in graph.blocks[number].successors))


def before(usage: Usage, after: frozenset[int]) -> frozenset[int]:
    """What is live before an instruction, from what is live after it."""
    kept = after - usage.writes if usage.always and usage.writes else after
    return kept | usage.reads if usage.reads else kept


def _block_effect(first: int, end: int, usages: Sequence[Usage]) -> tuple[frozenset[int], frozenset[int]]:
    """What the block reads before writing it, and what it surely overwrites."""
    reads: set[int] = set()
    kills: set[int] = set()
    for k in range(end - 1, first - 1, -1):
        usage = usages[k]
        if usage.always:
            reads -= usage.writes
            kills |= usage.writes
        reads |= usage.reads
    return frozenset(reads), frozenset(kills)
