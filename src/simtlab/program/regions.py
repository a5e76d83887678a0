"""Where lanes that part at a branch are sure to meet, and where it begins: the regions that convergence barriers stand around.

A region ends at a reconvergence point r, the immediate post-dominator of branches (BOOK 3.1.2, Fig 3.8). It begins where its lanes
are together for the last time: before the branch, or, where a branch can be reached again without passing r, before that loop.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from simtlab.program.cfg import EXIT, ControlFlowGraph


@dataclass(frozen=True)
class Region:
    """Lanes part in the blocks of `begin`, a loop or one branch, and meet as block `end` begins; in between are `inside`."""

    begin: frozenset[int]
    end: int
    inside: frozenset[int]
    is_loop: bool


def regions_of(graph: ControlFlowGraph, branches: Iterable[int]) -> list[Region]:
    """The regions of a function, given the blocks that end in a branch at which lanes may part."""
    reached = set(graph.order())
    by_end: dict[int, list[int]] = {}
    for block in branches:
        end = graph.immediate_post_dominator[block]
        if end != EXIT and block in reached and len(graph.blocks[block].successors) > 1:
            by_end.setdefault(end, []).append(block)
    return [region for end, parting in by_end.items() for region in _regions_before(graph, end, set(parting), reached)]


def _regions_before(graph: ControlFlowGraph, end: int, parting: set[int], reached: set[int]) -> list[Region]:
    """The regions that end at one block. A branch that one leads to in any case needs no other: it has the same lanes."""
    after = _reached_from(graph, parting, end)
    components = _components(graph, sorted(parting), after)
    found: list[Region] = []
    covered: set[int] = set()
    for place, component in enumerate(components):
        if not parting & component or component <= covered:
            continue
        inside = frozenset(_reached_from(graph, component, end))
        is_loop = len(component) > 1 or any(b in graph.blocks[b].successors for b in component)
        found.append(Region(frozenset(component), end, inside, is_loop))
        held = set(component)
        for later in components[place + 1 :]:
            into = {p for block in later for p in graph.blocks[block].predecessors if p in reached} - later
            if into and into <= held and 0 not in later:
                held |= later
        covered |= held
    return found


def _reached_from(graph: ControlFlowGraph, blocks: Iterable[int], end: int) -> set[int]:
    """Blocks that can be come to from some without passing `end`, these among them."""
    found = set(blocks)
    pending = list(found)
    while pending:
        for successor in graph.blocks[pending.pop()].successors:
            if successor != end and successor not in found:
                found.add(successor)
                pending.append(successor)
    return found


def _components(graph: ControlFlowGraph, roots: list[int], among: set[int]) -> list[set[int]]:
    """The strongly connected components (Tarjan) of some blocks, those that come first in the flow first."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[set[int]] = []
    for root in roots:
        path = [] if root in index else [(root, iter(graph.blocks[root].successors))]
        while path:
            block, following = path[-1]
            if block not in index:
                index[block] = low[block] = len(index)
                stack.append(block)
                on_stack.add(block)
            child = next((c for c in following if c in among and c not in index), None)
            if child is not None:
                path.append((child, iter(graph.blocks[child].successors)))
                continue
            path.pop()
            for other in graph.blocks[block].successors:
                if other in on_stack:
                    low[block] = min(low[block], low[other])
            if low[block] == index[block]:
                cut = stack.index(block)
                component = set(stack[cut:])
                del stack[cut:]
                on_stack -= component
                found.append(component)
    return found[::-1]
