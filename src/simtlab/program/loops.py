"""The loops of a function: for each a header that dominates all of it, and the blocks from which it goes back there."""

from dataclasses import dataclass

from simtlab.program.cfg import ControlFlowGraph


@dataclass(frozen=True)
class Loop:
    """A natural loop; `blocks` are all of it, those of loops within it too."""

    header: int
    blocks: frozenset[int]
    back_edges: tuple[int, ...]  # the blocks that lead back to the header


def loops_of(graph: ControlFlowGraph) -> list[Loop]:
    """Every loop, those within others after them. A cycle that can be entered at two places is none."""
    back: dict[int, list[int]] = {}
    for number in graph.order():
        for successor in graph.blocks[number].successors:
            if graph.dominates(successor, number):
                back.setdefault(successor, []).append(number)
    loops = []
    for header, sources in back.items():
        inside, pending = {header}, list(sources)
        while pending:
            block = pending.pop()
            if block not in inside:
                inside.add(block)
                pending += graph.blocks[block].predecessors
        loops.append(Loop(header, frozenset(inside), tuple(sources)))
    return sorted(loops, key=lambda loop: (-len(loop.blocks), loop.header))
