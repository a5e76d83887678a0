"""One function lowered and analysed: its instructions, graph, registers and frame; and how deep its calls go."""

from dataclasses import dataclass, field

from simtlab.frontend import ast
from simtlab.program.action import Action
from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.convergence import add_barriers
from simtlab.program.frame import Frame, align_up
from simtlab.program.inline import inline_calls
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

BRANCHES = (Action.BRANCH, Action.INDIRECT_BRANCH, Action.SPLIT, Action.JUMP)
ENDS = (Action.EXIT, Action.TRAP, Action.RETURN, Action.END)


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
    function: ast.Function,
    module: ast.Module,
    symbols: Symbols,
    parameters: tuple[dict[str, int], int],
    first: int,
    yield_after: int = 0,
) -> FunctionCode:
    """Lower a function's statements and analyse what comes out. `parameters` says where a kernel's stand, and where they end;
    with `yield_after` its lanes meet at convergence barriers, and what it calls becomes a part of it."""
    lowering = lower_statements(function, module, symbols, parameters)
    if yield_after:
        inline_calls(lowering, lambda name: lower_statements(module.functions[name], module, symbols, ({}, 0)), (function.name,))
        add_barriers(lowering, _graph, yield_after)
    instructions = lowering.lowered
    graph = _graph(lowering)
    usages = [_usage(instruction) for instruction in instructions]
    allocation = allocate(graph, usages, [register_kind(type) for type in lowering.types])
    callees = {instruction.callee for instruction in instructions if instruction.callee}
    return FunctionCode(function, lowering, graph, usages, allocation, first, callees)


def lower_statements(
    function: ast.Function, module: ast.Module, symbols: Symbols, parameters: tuple[dict[str, int], int]
) -> FunctionLowering:
    """The instructions of a function, its labels and registers, before anything is known of its flow."""
    lowering = FunctionLowering(function, module, symbols, Frame.of(function), *parameters)
    plan_outgoing(lowering)
    if not function.is_kernel:
        load_register_formals(lowering)
    for statement in function.body or ():
        if isinstance(statement, ast.Label):
            lowering.labels[statement.name] = len(lowering.lowered)
        else:
            lower_statement(lowering, statement)
    _close(lowering)
    return lowering


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


def _graph(lowering: FunctionLowering) -> ControlFlowGraph:
    return ControlFlowGraph([_flow(lowering, instruction) for instruction in lowering.lowered])


def _flow(lowering: FunctionLowering, instruction: Lowered) -> Flow:
    guarded = instruction.guard is not None
    if instruction.action in BRANCHES:
        for target in instruction.targets:
            if target not in lowering.labels:
                raise lowering.error(instruction.origin, f"no label '{target}'")
        targets = tuple(lowering.labels[target] for target in instruction.targets)
        return Flow(targets, falls_through=guarded)
    if instruction.action in ENDS:
        return Flow((), falls_through=guarded, leaves=True)
    return Flow()


def _usage(instruction: Lowered) -> Usage:
    named = [operand for operand in instruction.operands if operand.register != NO_REGISTER]
    reads = [operand.register for operand in named if not operand.written]
    if instruction.guard is not None:
        reads.append(instruction.guard.register)
    writes = frozenset(operand.register for operand in named if operand.written)
    return Usage(frozenset(reads), writes, always=instruction.guard is None)


@dataclass
class Depth:
    """What the deepest chain of calls needs; recursion (or a call by address) has no deepest chain."""

    registers: int
    window_bytes: int
    local_bytes: int
    recursive: bool


def depth_of(kernel: str, functions: dict[str, FunctionCode]) -> Depth:
    """Registers and bytes add up along a chain of calls; the deepest counts."""
    found: dict[str, Depth] = {}
    callers: set[str] = set()  # functions on the chain from the kernel to the one that is looked at
    pending = [kernel]
    while pending:
        name = pending[-1]
        callees = sorted(functions[name].callees)
        new = [callee for callee in callees if callee not in found and callee not in callers]
        if name not in callers and new:
            callers.add(name)
            pending += new
            continue
        pending.pop()
        callers.discard(name)
        if name not in found:
            found[name] = _depth_above(functions[name], [found.get(callee) for callee in callees])
    return found[kernel]


def _depth_above(code: FunctionCode, callees: list[Depth | None]) -> Depth:
    """A function on top of its callees; one without a depth yet is still being called: the chain is a loop."""
    below = [depth for depth in callees if depth is not None]
    by_address = any(i.action == Action.INDIRECT_CALL for i in code.instructions)
    return Depth(
        max((depth.registers for depth in below), default=0) + code.allocation.registers,
        max((depth.window_bytes for depth in below), default=0) + code.window_bytes,
        max([_service_bytes(code), *(depth.local_bytes for depth in below)]) + code.lowering.frame.size,
        by_address or None in callees or any(depth.recursive for depth in below),
    )


def _service_bytes(code: FunctionCode) -> int:
    """Arguments of services are written past the frame too."""
    ends = [max(i.values[1:], default=0) + 8 for i in code.instructions if i.action == Action.SERVICE]
    return align_up(max((end - code.lowering.frame.size for end in ends), default=0), 16)
