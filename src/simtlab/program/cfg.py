"""The control-flow graph of a function, its dominators and its post-dominators.

Post-dominators decide where lanes that took different ways meet again (BOOK 3.1.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

EXIT = -1  # the virtual block all ways out lead to


@dataclass
class Block:
    """Instructions `first` up to but not including `end`, and the blocks that may come next."""

    first: int
    end: int
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Flow:
    """What one instruction does to control: where it may jump (instruction numbers), whether it may go on to the next.

    `leaves` is true where it may leave the function.
    """

    targets: tuple[int, ...] = ()
    falls_through: bool = True
    leaves: bool = False


class ControlFlowGraph:
    """Blocks in text order; block 0 is the entry. `immediate_post_dominator[b]` is a block or EXIT."""

    def __init__(self, flows: Sequence[Flow]):
        self.blocks = _split(flows)
        self.block_of = [0] * len(flows)
        for number, block in enumerate(self.blocks):
            for k in range(block.first, block.end):
                self.block_of[k] = number
        self._exits = self._connect(flows)
        self.immediate_dominator = _dominators(self.order(), [b.predecessors for b in self.blocks])
        self.immediate_post_dominator = self._post_dominators()

    def _connect(self, flows: Sequence[Flow]) -> list[int]:
        exits = []
        for number, block in enumerate(self.blocks):
            flow = flows[block.end - 1]
            following = [self.block_of[target] for target in flow.targets]
            if flow.falls_through and block.end < len(flows):
                following.append(self.block_of[block.end])
            block.successors = list(dict.fromkeys(following))
            for successor in block.successors:
                self.blocks[successor].predecessors.append(number)
            if flow.leaves or not block.successors:
                exits.append(number)
        return exits

    def order(self) -> list[int]:
        """Blocks reachable from the entry in reverse post-order."""
        return _reverse_post_order(0, [block.successors for block in self.blocks])

    def _post_dominators(self) -> list[int]:
        """Dominators of the reversed graph from the virtual exit, which also follows every loop without a way out."""
        count = len(self.blocks)
        virtual = count
        forward = [list(block.successors) for block in self.blocks]
        for number in self._exits:
            forward[number].append(virtual)
        self._lead_endless_loops_out(forward, virtual)
        backward: list[list[int]] = [[] for _ in range(count + 1)]
        for number, successors in enumerate(forward):
            for successor in successors:
                backward[successor].append(number)
        order = _reverse_post_order(virtual, backward)
        found = _dominators(order, [*forward, []], root=virtual)
        return [EXIT if found[number] == virtual else found[number] for number in range(count)]

    def _lead_endless_loops_out(self, forward: list[list[int]], virtual: int) -> None:
        reaches = {virtual}
        pending = [virtual]
        into: dict[int, list[int]] = {}
        for number, successors in enumerate(forward):
            for successor in successors:
                into.setdefault(successor, []).append(number)
        left = len(forward)  # blocks from here on have a way out
        while True:
            while pending:
                for number in into.get(pending.pop(), ()):
                    if number not in reaches:
                        reaches.add(number)
                        pending.append(number)
            while left and left - 1 in reaches:
                left -= 1
            if not left:
                return
            forward[left - 1].append(virtual)
            reaches.add(left - 1)
            pending.append(left - 1)

    def dominates(self, above: int, below: int) -> bool:
        while below != above and self.immediate_dominator[below] != below:
            below = self.immediate_dominator[below]
        return above == below


def _split(flows: Sequence[Flow]) -> list[Block]:
    starts = {0}
    for number, flow in enumerate(flows):
        if flow.targets or flow.leaves or not flow.falls_through:
            starts.update(flow.targets)
            starts.add(number + 1)
    cuts = sorted(start for start in starts if start < len(flows))
    return [Block(first, end) for first, end in zip(cuts, [*cuts[1:], len(flows)], strict=True)]


def _reverse_post_order(root: int, successors: Sequence[Sequence[int]]) -> list[int]:
    order: list[int] = []
    seen = {root}
    path = [(root, iter(successors[root]))]
    while path:
        node, following = path[-1]
        child = next((c for c in following if c not in seen), None)
        if child is None:
            order.append(node)
            path.pop()
        else:
            seen.add(child)
            path.append((child, iter(successors[child])))
    return order[::-1]


def _dominators(order: Sequence[int], predecessors: Sequence[Sequence[int]], root: int = 0) -> list[int]:
    """Cooper, Harvey and Kennedy's simple algorithm. A node that the root does not reach is its own dominator."""
    rank = {node: position for position, node in enumerate(order)}
    dominator = list(range(len(predecessors)))
    done = {root}
    changed = True
    while changed:
        changed = False
        for node in order:
            if node == root:
                continue
            known = [p for p in predecessors[node] if p in done]
            new = known[0]
            for other in known[1:]:
                new = _meet(new, other, dominator, rank)
            if node not in done or dominator[node] != new:
                dominator[node] = new
                done.add(node)
                changed = True
    return dominator


def _meet(a: int, b: int, dominator: Sequence[int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = dominator[a]
        while rank[b] > rank[a]:
            b = dominator[b]
    return a
