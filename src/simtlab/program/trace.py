"""Trace a value back to where it comes from, across calls: to the first instruction of a given kind, if there is one.

This is the backward search of LOADS section V: the instructions that define a register, then those that define their
sources, and so on. It follows data: registers, guards of the instructions that write them, arguments and results of calls.
Which way a branch went is not followed. A function's result is traced to the arguments of the very call it came from.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simtlab.program.calls import CallGraph, CallSite
from simtlab.program.definitions import ENTRY, is_slot, slot
from simtlab.program.fixpoint import Fixpoint

Path = tuple[int, ...]  # pcs, from the place asked about back to what was found


@dataclass(frozen=True)
class Found:
    """What a value depends on within its function and those it calls: an end of the search, or the function's formals."""

    end: Path | None
    formals: dict[int, Path]  # by byte


NOTHING = Found(None, {})


class Trace:
    """Searches of a program that end at instructions for which `ends_at(function, k)` holds."""

    def __init__(self, calls: CallGraph, ends_at: Callable[[str, int], bool]):
        self.calls, self.ends_at = calls, ends_at
        # What byte b of a function's frame depends on when it returns.
        self._results: Fixpoint[tuple[str, int], Found] = Fixpoint(self._evaluate_result, NOTHING, _grew)

    def path(self, function: str, k: int, variables: Iterable[int]) -> Path | None:
        """From what the variables hold just before instruction k back to an end of the search, or None."""
        start: Path = (self.calls.functions[function].first + k,)
        pending = deque([(function, start, self._settled(function, k, tuple(variables)))])
        seen: set[tuple[str, int]] = set()
        while pending:
            name, so_far, found = pending.popleft()
            if found.end is not None:
                return so_far + found.end
            for byte, way in found.formals.items():
                if (name, byte) not in seen:
                    seen.add((name, byte))
                    for site in self.calls.callers[name]:
                        pending.append((site.function, so_far + way + (self._pc(site),), self._argument(site, byte)))
        return None

    def _argument(self, site: CallSite, byte: int) -> Found:
        """What a byte of a callee's formals holds, seen from one of its callers."""
        return self._settled(site.function, site.k, (slot(site.base + byte),))

    def _settled(self, function: str, k: int, variables: tuple[int, ...]) -> Found:
        """Search again while the answers of calls lead on to calls that nobody had asked about."""
        while True:
            found = self._within(function, k, variables)
            if self._results.is_settled:
                return found
            self._results.settle()

    def _evaluate_result(self, key: tuple[str, int]) -> Found:
        function, byte = key
        return self._within(function, self.calls.end(function), (slot(byte),))

    def _within(self, function: str, k: int, variables: Iterable[int]) -> Found:
        return _Search(self, function).run(k, variables)

    def _pc(self, site: CallSite) -> int:
        return self.calls.functions[site.function].first + site.k


Node = tuple[int, int]  # an instruction, or ENTRY, and the variable it defines


class _Search:
    """A search within one function, breadth first, so that the shortest path is the one found."""

    def __init__(self, trace: Trace, function: str):
        self.trace, self.function = trace, function
        self.definitions = trace.calls.definitions[function]
        self.first = trace.calls.functions[function].first
        self.parent: dict[Node, tuple[Node | None, Path]] = {}  # whence the search came, and what lies between in a callee
        self.pending: deque[Node] = deque()
        self.formals: dict[int, Path] = {}

    def run(self, k: int, variables: Iterable[int]) -> Found:
        for variable in variables:
            self._push(k, variable, None)
        while self.pending:
            node = self.pending.popleft()
            end = self._visit(node)
            if end is not None:
                return Found(end, self.formals)
        return Found(None, self.formals)

    def _push(self, k: int, variable: int, parent: Node | None, between: Path = ()) -> None:
        for definition in self.definitions.reaching(k, variable):
            node = definition, variable
            if node not in self.parent:
                self.parent[node] = parent, between
                self.pending.append(node)

    def _visit(self, node: Node) -> Path | None:
        k, variable = node
        if k == ENTRY:
            if is_slot(variable) and slot(variable) in self.definitions.formals:
                self.formals[slot(variable)] = self._path(node)
            return None
        if self.trace.ends_at(self.function, k):
            return self._path(node)
        site = self.trace.calls.site(self.function, k)
        if site is not None:
            end = self._visit_call(node, site)
            if end is not None:
                return end
        for source in self.definitions.sources(k, variable):
            self._push(k, source, node)
        return None

    def _visit_call(self, node: Node, site: CallSite) -> Path | None:
        for callee in site.callees:
            byte = slot(node[1]) - site.base
            result = self.trace._results.so_far((callee, byte))
            if result.end is not None:
                return self._path(node) + result.end
            for formal, way in result.formals.items():
                self._push(site.k, slot(site.base + formal), node, way)
        return None

    def _path(self, node: Node) -> Path:
        steps: list[int] = []
        current: Node | None = node
        while current is not None:
            parent, between = self.parent[current]
            steps[:0] = between if current[0] == ENTRY else (*between, self.first + current[0])
            current = parent
        return tuple(steps)


def _grew(before: Found, after: Found) -> bool:
    """Whether more is known: another way to the same end is not more, nor are formals beside an end."""
    if before.end is not None:
        return False
    return after.end is not None or after.formals.keys() != before.formals.keys()
