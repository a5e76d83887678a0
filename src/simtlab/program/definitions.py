"""Which instructions define what an instruction reads: definitions that reach a use, found backwards from the use.

A variable is a register (counted from 0) or a byte of the frame through which calls pass arguments and results: a
function's own formals, and the place past its frame where it puts arguments and finds results. Other memory is no variable.
"""

from collections.abc import Iterator

from simtlab.isa.shape import FRAME
from simtlab.program.action import Action
from simtlab.program.encode import access_bytes, address_at
from simtlab.program.frame import Signature
from simtlab.program.function import FunctionCode
from simtlab.program.lower import Lowered
from simtlab.program.operand import NO_REGISTER, Operand

ENTRY = -1  # in place of an instruction: what the variable held when the function was called


def slot(byte: int) -> int:
    """The variable that stands for a byte of the frame; `slot` of a slot is the byte again."""
    return ~byte


def is_slot(variable: int) -> bool:
    return variable < 0


class Definitions:
    """The definitions of one function. Instructions are counted from the function's first."""

    def __init__(self, code: FunctionCode):
        self.code = code
        self.instructions = code.instructions
        kernel = code.function.is_kernel
        self.formals = range(0 if kernel else Signature.of(code.function).size)
        self.slots = [self._slots_of(instruction) for instruction in code.instructions]
        self.outgoing = self._outgoing()
        self.through_address: set[int] = set()  # loads that may read any formal, by an address in a register
        self._reachable = set(code.graph.order())
        self._writers: dict[tuple[int, int], list[int]] = {}
        for k in range(len(code.instructions)):
            for variable in self._written(k):
                self._writers.setdefault((code.graph.block_of[k], variable), []).append(k)
        self._at_start: dict[tuple[int, int], tuple[int, ...]] = {}

    def reaching(self, k: int, variable: int) -> tuple[int, ...]:
        """The instructions, or ENTRY, that may have given `variable` the value it has just before instruction k."""
        block = self.code.graph.block_of[k]
        found, open_end = self._backwards((block, variable), k, self._guard_since(block, k))
        return (*found, *self._reaching_start(block, variable)) if open_end else tuple(found)

    def sources(self, k: int, variable: int) -> list[int]:
        """The variables that instruction k makes `variable` from; its guard too, which decides whether it does."""
        instruction = self.instructions[k]
        guard = [] if instruction.guard is None else [instruction.guard.register]
        if k in self.through_address:
            return [*sorted(self.code.usages[k].reads), *map(slot, self.formals)]
        if not self.slots[k]:
            return sorted(self.code.usages[k].reads)
        parts = moved(instruction)
        size = len(self.slots[k]) // len(parts)
        if instruction.action == Action.STORE:
            part = parts[(slot(variable) - self.slots[k].start) // size]
            return guard if part.register == NO_REGISTER else [part.register, *guard]
        place = next(j for j, part in enumerate(parts) if part.register == variable)
        start = self.slots[k].start + place * size
        return [*map(slot, range(start, start + size)), *guard]

    def _slots_of(self, instruction: Lowered) -> range:
        """The bytes of formals, arguments or results that an instruction reads or writes by their names."""
        if not is_in_frame(instruction):
            return range(0)
        start = instruction.operands[address_at(instruction) + 1].value
        in_variables = len(self.formals) <= start < self.code.lowering.frame.size
        return range(0) if in_variables else range(start, start + access_bytes(instruction))

    def _outgoing(self) -> range:
        size = self.code.lowering.frame.size
        return range(size, max((slots.stop for slots in self.slots), default=size))

    def _written(self, k: int) -> Iterator[int]:
        yield from sorted(self.code.usages[k].writes)
        action = self.instructions[k].action
        if action == Action.STORE:
            yield from map(slot, self.slots[k])
        elif action in (Action.CALL, Action.INDIRECT_CALL, Action.SERVICE):
            yield from map(slot, self.outgoing)

    def _guard_since(self, block: int, k: int) -> tuple[Operand | None, int]:
        """The guard of instruction k, and from where in its block on the predicate is what it is at k."""
        guard = self.instructions[k].guard
        if guard is None:
            return None, k
        written = [w for w in self._writers.get((block, guard.register), ()) if w < k]
        return guard, written[-1] + 1 if written else self.code.graph.blocks[block].first

    def _backwards(
        self, place: tuple[int, int], before: int, under: tuple[Operand | None, int] = (None, 0)
    ) -> tuple[list[int], bool]:
        """The writers of (block, variable) before an instruction, last first, and whether what came in may be left.

        A write under a guard overwrites for a reader under the same guard.
        """
        guard, since = under
        found = []
        for k in reversed(self._writers.get(place, ())):
            if k < before:
                found.append(k)
                own = self.instructions[k].guard
                if own is None or (own == guard and k >= since):
                    return found, False
        return found, True

    def _reaching_start(self, block: int, variable: int) -> tuple[int, ...]:
        known = self._at_start.get((block, variable))
        if known is not None:
            return known
        graph = self.code.graph
        found: dict[int, None] = {}
        seen, pending = {block}, [block]
        while pending:
            current = pending.pop()
            if current == 0:
                found[ENTRY] = None
            for before in graph.blocks[current].predecessors:
                if before not in self._reachable:
                    continue
                writers, open_end = self._backwards((before, variable), len(self.instructions))
                found.update(dict.fromkeys(writers))
                if open_end and before not in seen:
                    seen.add(before)
                    pending.append(before)
        self._at_start[block, variable] = tuple(found)
        return self._at_start[block, variable]


def is_in_frame(instruction: Lowered) -> bool:
    """Whether a load or a store names its place in the thread's frame."""
    return instruction.action in (Action.LOAD, Action.STORE) and base_of(instruction).kind == FRAME


def base_of(instruction: Lowered) -> Operand:
    """The base of an access's address."""
    return instruction.operands[address_at(instruction)]


def moved(instruction: Lowered) -> list[Operand]:
    """What a load writes, or what a store or an atomic reads besides its address."""
    at = address_at(instruction)
    return instruction.operands[:at] if instruction.action == Action.LOAD else instruction.operands[at + 2 :]
