"""Deterministic and non-deterministic loads, by the rule of LOADS section V (Koo, Jeon, Annavaram, IISWC 2015).

A global load is deterministic if its address is made from what is known when the kernel is launched: thread and block
numbers, sizes, parameters, constants. It is non-deterministic if a value that was read while the kernel ran goes into its
address: "if a load's source register is defined from prior load instructions such as ld.global, ld.local, ld.shared or
ld.tex". docs/loads.md says what that means for every kind of instruction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from simtlab.frontend import ast
from simtlab.isa.shape import UNIFORM, UNIFORM_64, VARYING
from simtlab.program import context
from simtlab.program.action import Action
from simtlab.program.calls import CallGraph
from simtlab.program.definitions import base_of, is_in_frame, moved
from simtlab.program.function import FunctionCode
from simtlab.program.lower import Lowered
from simtlab.program.operand import NO_REGISTER
from simtlab.program.pointers import Memory, Pointers
from simtlab.program.trace import Path, Trace


class LoadClass(IntEnum):
    """As the machine keeps it with each instruction."""

    NO_GLOBAL_LOAD = -1
    NON_DETERMINISTIC = 0
    DETERMINISTIC = 1


@dataclass(frozen=True)
class Load:
    """A global load. `chain` leads from the instruction that read a value at run time to the load whose address it is in."""

    pc: int
    deterministic: bool
    chain: Path = ()
    reason: str = ""  # what the first instruction of the chain read

    @property
    def load_class(self) -> LoadClass:
        return LoadClass.DETERMINISTIC if self.deterministic else LoadClass.NON_DETERMINISTIC


KNOWN_AT_LAUNCH = Memory.CONSTANT | Memory.PARAMETER | Memory.FORMAL
DECIDED_AT_RUN_TIME = {context.offset("smid"): "the core's number", context.offset("warpid"): "the warp's place"}
ACCESSES = (Action.LOAD, Action.STORE, Action.ATOMIC)
READ_BY_ACTION = {
    Action.ATOMIC: "memory, by an atomic operation",
    Action.TEXTURE: "a texture",
    Action.SURFACE: "a surface",
    Action.TIME: "the clock",
    Action.SERVICE: "the host's answer",
}


def classify(functions: Mapping[str, FunctionCode], module: ast.Module) -> list[Load]:
    """Every global load of a program, in order."""
    return list(_Rule(CallGraph(functions, module)).loads())


class _Rule:
    """What ends the search for a load's address in one program."""

    def __init__(self, calls: CallGraph):
        self.calls = calls
        self.pointers = Pointers(calls)
        self._note_formals_read_by_address()
        self.trace = Trace(calls, lambda function, k: bool(self.read_at_run_time(function, k)))

    def loads(self) -> Iterator[Load]:
        for function, code in self.calls.functions.items():
            for k, instruction in enumerate(code.instructions):
                if self.is_global_load(function, k):
                    yield self._load(function, k, code.first + k, base_of(instruction).register)

    def _load(self, function: str, k: int, pc: int, register: int) -> Load:
        path = None if register == NO_REGISTER else self.trace.path(function, k, [register])
        if path is None:
            return Load(pc, deterministic=True)
        return Load(pc, False, path[::-1], self._reason(path[-1]))

    def _reason(self, pc: int) -> str:
        function, code = next((n, c) for n, c in self.calls.functions.items() if 0 <= pc - c.first < len(c.instructions))
        return self.read_at_run_time(function, pc - code.first)

    def is_global_load(self, function: str, k: int) -> bool:
        """ld.global and ldu, and a generic ld that may go to global memory."""
        instruction = self.calls.functions[function].instructions[k]
        if instruction.action != Action.LOAD or is_parameter_access(instruction):
            return False
        return bool(self.pointers.accessed(function, k) & Memory.ANY)

    def read_at_run_time(self, function: str, k: int) -> str:
        """What an instruction reads that was not known at the launch; nothing ("") if it only passes values on."""
        instruction = self.calls.functions[function].instructions[k]
        if instruction.action == Action.LOAD:
            return self._memory_read(function, k, instruction)
        if instruction.spelling.startswith("activemask"):
            return "which lanes are active"
        for operand in instruction.operands:
            if operand.kind in (UNIFORM, UNIFORM_64, VARYING) and operand.value in DECIDED_AT_RUN_TIME:
                return DECIDED_AT_RUN_TIME[operand.value]
        return READ_BY_ACTION.get(instruction.action, "")

    def _memory_read(self, function: str, k: int, instruction: Lowered) -> str:
        if is_parameter_access(instruction) or self.calls.definitions[function].slots[k]:
            return ""
        memory = self.pointers.accessed(function, k)
        if memory & Memory.ANY:
            return "global memory"
        if memory & Memory.SHARED:
            return "shared memory"
        if memory & Memory.LOCAL and not self._local_holds_parameters:
            return "local memory"
        if memory & Memory.FORMAL and k not in self.calls.definitions[function].through_address:
            return "local memory"
        return ""

    # Structure parameters ---------------------------------------------------------------------------------------------

    def _note_formals_read_by_address(self) -> None:
        """A load from its own function's formals by an address reads them, unless something may write there that way."""
        for function, definitions in self.calls.definitions.items():
            if not definitions.formals:
                continue
            instructions = self.calls.functions[function].instructions
            accesses = [k for k, instruction in enumerate(instructions) if instruction.action in ACCESSES]
            written = any(self._may_write_formals(function, k) for k in accesses)
            for k in accesses:
                if instructions[k].action != Action.LOAD or is_in_frame(instructions[k]):
                    continue
                by_name = is_parameter_access(instructions[k])
                if by_name or (not written and self.pointers.accessed(function, k) & Memory.FORMAL):
                    definitions.through_address.add(k)

    def _may_write_formals(self, function: str, k: int) -> bool:
        """By an address: with a store, or by giving the address away."""
        instruction = self.calls.functions[function].instructions[k]
        if instruction.action == Action.LOAD:
            return False
        if self.pointers.kept(function, k) & Memory.FORMAL:
            return True
        return not is_in_frame(instruction) and bool(self.pointers.accessed(function, k) & Memory.FORMAL)

    @cached_property
    def _local_holds_parameters(self) -> bool:
        """Whether local memory has nothing but copies of parameters: the compiler copies a structure to index into it."""
        return not any(
            self._spoils_copies(function, k, instruction)
            for function, code in self.calls.functions.items()
            for k, instruction in enumerate(code.instructions)
            if instruction.action in (Action.STORE, Action.ATOMIC)
        )

    def _spoils_copies(self, function: str, k: int, instruction: Lowered) -> bool:
        """Whether a store or an atomic puts anything else into local memory, or its address where it cannot be followed."""
        passed_on = bool(self.calls.definitions[function].slots[k])
        if self.pointers.kept(function, k) & (Memory.FORMAL if passed_on else Memory.LOCAL | Memory.FORMAL):
            return True
        if passed_on or not self.pointers.accessed(function, k) & (Memory.LOCAL | Memory.FORMAL):
            return False
        values = [value.register for value in moved(instruction) if value.register != NO_REGISTER]
        base = base_of(instruction).register
        return (
            instruction.action == Action.ATOMIC
            or self._copies.path(function, k, values) is not None
            or (base != NO_REGISTER and self._numbers.path(function, k, [base]) is not None)
        )

    @cached_property
    def _copies(self) -> Trace:
        return Trace(self.calls, self._is_no_copy)

    @cached_property
    def _numbers(self) -> Trace:
        return Trace(self.calls, self._reads_memory)

    def _reads_memory(self, function: str, k: int) -> bool:
        action = self.calls.functions[function].instructions[k].action
        return action in READ_BY_ACTION or (action == Action.LOAD and not self.calls.definitions[function].slots[k])

    def _is_no_copy(self, function: str, k: int) -> bool:
        instruction = self.calls.functions[function].instructions[k]
        if self.calls.definitions[function].slots[k] or instruction.spelling.startswith("ld.param"):
            return False
        if any(operand.kind in (UNIFORM, UNIFORM_64, VARYING) for operand in instruction.operands):
            return True
        moves = ("mov", "pack", "unpack")
        return instruction.action != Action.CALL and instruction.spelling.partition(".")[0] not in moves


def is_parameter_access(instruction: Lowered) -> bool:
    """ld.param and st.param, wherever the parameter is."""
    return "param" in instruction.origin.modifiers and instruction.origin.opcode in ("ld", "st")
