"""Which memories an address may point to, where the address itself does not say.

A generic address may have been made from a shared or local variable's, a constant's or a parameter's; an address that was
passed in, loaded or computed in some other way may point anywhere, global memory included.
"""

from enum import IntFlag

from simtlab.isa.shape import DOUBLE, NOT_PREDICATE, PREDICATE, UNIFORM_64
from simtlab.program import context
from simtlab.program.action import Action, Space
from simtlab.program.calls import CallGraph
from simtlab.program.definitions import ENTRY, base_of, is_slot, moved, slot
from simtlab.program.fixpoint import Fixpoint
from simtlab.program.lower import Lowered
from simtlab.program.operand import NO_REGISTER, Operand


class Memory(IntFlag):
    """Memories that an address may point to."""

    NONE = 0
    ANY = 1  # not known, or no address at all
    SHARED = 2
    LOCAL = 4
    CONSTANT = 8
    PARAMETER = 16  # of the kernel
    FORMAL = 32  # of the function that the address is used in


NAMED = {"shared": Memory.SHARED, "local": Memory.LOCAL, "const": Memory.CONSTANT, "param": Memory.PARAMETER}
OF_SPACE = {
    Space.GLOBAL: Memory.ANY, Space.SHARED: Memory.SHARED, Space.LOCAL: Memory.LOCAL, Space.CONST: Memory.CONSTANT,
}  # fmt: skip
KEEP_ADDRESSES = frozenset(("mov", "add", "mad", "cvt", "shfl"))  # an address and a number give an address
CHOOSE = "selp"


class Pointers:
    """Answers for one program."""

    def __init__(self, calls: CallGraph):
        self.calls = calls
        self._made: Fixpoint[tuple[str, int, int], Memory] = Fixpoint(
            self._evaluate, Memory.NONE, lambda before, after: after != before
        )

    def accessed(self, function: str, k: int) -> Memory:
        """What a load, a store or an atomic may touch."""
        instruction = self.calls.functions[function].instructions[k]
        if instruction.space not in (Space.GENERIC, Space.LOCAL):
            return OF_SPACE[instruction.space]
        found = self.value(function, k, base_of(instruction))
        if instruction.space == Space.LOCAL:
            return Memory.FORMAL if found == Memory.FORMAL else Memory.LOCAL
        return found

    def kept(self, function: str, k: int) -> Memory:
        """What the values that a store or an atomic writes may point to."""
        found = Memory.NONE
        for operand in moved(self.calls.functions[function].instructions[k]):
            if operand.kind == DOUBLE:
                found |= self.value(function, k, operand)
        return found

    def value(self, function: str, k: int, operand: Operand) -> Memory:
        """What an operand of instruction k may point to."""
        if operand.register == NO_REGISTER:
            return Memory.ANY
        self._held(function, k, operand.register)
        self._made.settle()
        return self._held(function, k, operand.register) or Memory.ANY

    def _held(self, function: str, k: int, variable: int) -> Memory:
        """What a variable may point to just before instruction k, so far as is known."""
        found = Memory.NONE
        for definition in self.calls.definitions[function].reaching(k, variable):
            found |= self._made.so_far((function, definition, variable))
        return found

    def _evaluate(self, key: tuple[str, int, int]) -> Memory:
        """What an instruction gives a variable."""
        function, k, variable = key
        if k == ENTRY:
            return self._passed_in(function, variable)
        instruction = self.calls.functions[function].instructions[k]
        site = self.calls.site(function, k)
        if site is not None:
            byte, found = slot(variable) - site.base, Memory.NONE
            for callee in site.callees:
                found |= as_seen_outside(self._held(callee, self.calls.end(callee), slot(byte)))
            return found
        if self.calls.definitions[function].slots[k]:
            return self._passed(function, k, variable)
        if instruction.action != Action.COMPUTE:
            return Memory.ANY
        return self._computed(function, k, instruction)

    def _passed_in(self, function: str, variable: int) -> Memory:
        if not is_slot(variable) or slot(variable) not in self.calls.definitions[function].formals:
            return Memory.ANY
        found = Memory.NONE
        for site in self.calls.callers[function]:
            found |= as_seen_outside(self._held(site.function, site.k, slot(site.base + slot(variable))))
        return found

    def _passed(self, function: str, k: int, variable: int) -> Memory:
        """An argument or a result on its way: it is what it was."""
        definitions = self.calls.definitions[function]
        guard = definitions.instructions[k].guard
        found = Memory.NONE
        sources = [v for v in definitions.sources(k, variable) if guard is None or v != guard.register]
        for source in sources:
            found |= self._held(function, k, source)
        return found if sources else Memory.ANY

    def _computed(self, function: str, k: int, instruction: Lowered) -> Memory:
        opcode, *modifiers = instruction.spelling.split(".")
        made_here = self._taken(function, instruction)
        if made_here:
            return made_here
        sources = [o for o in instruction.operands if not o.written and o.kind not in (PREDICATE, NOT_PREDICATE)]
        held = [self._held(function, k, o.register) if o.register != NO_REGISTER else Memory.ANY for o in sources]
        together = Memory.NONE
        for memory in held:
            together |= memory
        if opcode == "cvta" and "to" not in modifiers:
            known = together & ~Memory.ANY
            return known or next((NAMED[part] for part in modifiers if part in NAMED), Memory.ANY)
        if opcode in (CHOOSE, "cvta"):
            return together
        if opcode in KEEP_ADDRESSES:
            return together if all(memory & Memory.ANY for memory in held) else together & ~Memory.ANY
        return together | Memory.ANY

    def _taken(self, function: str, instruction: Lowered) -> Memory:
        """Where an instruction takes the address of something in the frame, or of a kernel's parameter."""
        for operand, following in zip(instruction.operands, [*instruction.operands[1:], None], strict=True):
            if operand.kind == UNIFORM_64 and operand.value == context.offset("parameter_address"):
                return Memory.PARAMETER
            if operand.kind == UNIFORM_64 and operand.value == context.offset("frame"):
                assert following is not None
                return Memory.FORMAL if following.value in self.calls.definitions[function].formals else Memory.LOCAL
        return Memory.NONE


def as_seen_outside(memory: Memory) -> Memory:
    """An address that goes to another function: what it names there are not that function's formals."""
    return (memory & ~Memory.FORMAL) | Memory.LOCAL if memory & Memory.FORMAL else memory
