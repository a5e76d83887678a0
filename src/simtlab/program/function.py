"""One function lowered and analysed: its instructions, graph, registers and frame; and how deep its calls go."""

from dataclasses import dataclass, field

from simtlab.frontend import ast
from simtlab.program.action import Action
from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.frame import Frame, align_up
from simtlab.program.liveness import Usage
from simtlab.program.lower import FunctionLowering, Lowered, Symbols
from simtlab.program.operand import NO_REGISTER, register_kind
from simtlab.program.registers import Allocation, allocate
from simtlab.program.special_forms import (
    entry_origin,
    load_register_formals,
    lower_statement,
    plan_outgoing,
    store_register_results,
)


@dataclass
class FunctionCode:
    """A function laid out; `first` is where its instructions begin in the program."""

    function: ast.Function
    lowering: FunctionLowering
    graph: ControlFlowGraph
    usages: list[Usage]
    allocation: Allocation
    first: int
    callees: set[str] = field(default_factory=set)

    @property
    def window_bytes(self) -> int:
        return self.allocation.window_bytes

    @property
    def instructions(self) -> list[Lowered]:
        return self.lowering.lowered


def lower_function(
    function: ast.Function, module: ast.Module, symbols: Symbols, parameter_offsets: dict[str, int], first: int
) -> FunctionCode:
    """Lower a function's statements and analyse what comes out."""
    lowering = FunctionLowering(function, module, symbols, Frame.of(function), parameter_offsets)
    plan_outgoing(lowering)
    if not function.is_kernel:
        load_register_formals(lowering)
    for statement in function.body or ():
        if isinstance(statement, ast.Label):
            lowering.labels[statement.name] = len(lowering.lowered)
        else:
            lower_statement(lowering, statement)
    _close(lowering)
    instructions = lowering.lowered
    graph = ControlFlowGraph([_flow(lowering, instruction) for instruction in instructions])
    usages = [_usage(instruction) for instruction in instructions]
    allocation = allocate(graph, usages, [register_kind(type) for type in lowering.types])
    callees = {instruction.callee for instruction in instructions if instruction.callee}
    return FunctionCode(function, lowering, graph, usages, allocation, first, callees)


def _close(lowering: FunctionLowering) -> None:
    """A kernel's returns end the thread; a function's returns all lead to one last instruction."""
    function, last = lowering.function, "%return"
    for instruction in lowering.lowered:
        if instruction.action == Action.RETURN:
            instruction.action = Action.EXIT if function.is_kernel else Action.BRANCH
            instruction.targets = () if function.is_kernel else (last,)
    origin = entry_origin(function)
    if function.is_kernel:
        lowering.emit(Action.EXIT, "", [], origin)
    else:
        lowering.labels[last] = len(lowering.lowered)
        store_register_results(lowering)
        lowering.emit(Action.RETURN, "", [], origin)


def _flow(lowering: FunctionLowering, instruction: Lowered) -> Flow:
    guarded = instruction.guard is not None
    if instruction.action in (Action.BRANCH, Action.INDIRECT_BRANCH):
        for target in instruction.targets:
            if target not in lowering.labels:
                raise lowering.error(instruction.origin, f"no label '{target}'")
        targets = tuple(lowering.labels[target] for target in instruction.targets)
        return Flow(targets, falls_through=guarded)
    if instruction.action in (Action.EXIT, Action.TRAP, Action.RETURN):
        return Flow((), falls_through=guarded, leaves=True)
    return Flow()


def _usage(instruction: Lowered) -> Usage:
    reads = writes = 0
    for operand in instruction.operands:
        if operand.register != NO_REGISTER:
            if operand.written:
                writes |= 1 << operand.register
            else:
                reads |= 1 << operand.register
    if instruction.guard is not None:
        reads |= 1 << instruction.guard.register
    return Usage(reads, writes, always=instruction.guard is None)


@dataclass
class Depth:
    """What the deepest chain of calls needs; recursion (or a call by address) has no deepest chain."""

    registers: int
    window_bytes: int
    local_bytes: int
    recursive: bool


def depth_of(name: str, functions: dict[str, FunctionCode], path: frozenset[str] = frozenset()) -> Depth:
    """Registers and bytes add up along a chain of calls; the deepest counts."""
    code = functions[name]
    recursive = any(i.action == Action.INDIRECT_CALL for i in code.instructions)
    below = Depth(0, 0, _service_bytes(code), recursive)
    for callee in sorted(code.callees):
        if callee == name or callee in path:
            below.recursive = True
            continue
        inner = depth_of(callee, functions, path | {name})
        below = Depth(
            max(below.registers, inner.registers),
            max(below.window_bytes, inner.window_bytes),
            max(below.local_bytes, inner.local_bytes),
            below.recursive or inner.recursive,
        )
    return Depth(
        below.registers + code.allocation.registers,
        below.window_bytes + code.window_bytes,
        below.local_bytes + code.lowering.frame.size,
        below.recursive,
    )


def _service_bytes(code: FunctionCode) -> int:
    """Arguments of services are written past the frame too."""
    ends = [max(i.values[1:], default=0) + 8 for i in code.instructions if i.action == Action.SERVICE]
    return align_up(max((end - code.lowering.frame.size for end in ends), default=0), 16)
