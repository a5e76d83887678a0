"""A kernel's machine code as a program: every instruction lowered, registers where the compiler put them, banks laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.cubin import RegisterCounts
from simtlab.frontend.sass.cubin import Cubin
from simtlab.frontend.sass.disassemble import instructions_of
from simtlab.frontend.sass.text import SassInstruction
from simtlab.isa.build import provide
from simtlab.isa.shape import CONSTANT, CONSTANT_64, Shape
from simtlab.program.action import SERVICE_BASE, SERVICE_STEP, SERVICES, Action, Condition, Members
from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.encode import encode
from simtlab.program.frame import Frame, align_up
from simtlab.program.function import Depth, FunctionCode
from simtlab.program.liveness import Usage
from simtlab.program.lower import Lowered
from simtlab.program.operand import Operand, immediate
from simtlab.program.program import MAX_LOCAL_BYTES, Program, at
from simtlab.program.sass import convert, floating, flow, half, integer, memory, texture, warp  # noqa: F401  fill the table of lowerings
from simtlab.program.sass.constants import ConstantBanks, banks_of
from simtlab.program.sass.given import NOTHING, Given, UnknownSass, lower_instruction
from simtlab.program.sass.hints import hints_of
from simtlab.program.sass.registers import FIRST_PREDICATE, allocation_of, registers_of

SERVICE_ADDRESSES = {name: SERVICE_BASE + SERVICE_STEP * number for name, number in SERVICES.items()}
ENDS = (Action.END, Action.TRAP, Action.JUMP)
LEAST_STACK_BYTES = 1024  # of a thread, where functions are called: as CUDA's limit is if nobody sets it
FAR_BEYOND = 1 << 40  # bytes from the program's start; a register's 32 bits are added to it
OF_THE_COMPILER = "$__internal"  # functions that it adds, for divisions and the like: they have no frame


@dataclass
class SassLowering:
    """What the rest of a program asks of a function's lowering."""

    module: ast.Module
    lowered: list[Lowered]
    labels: dict[str, int]
    frame: Frame
    takes_parameter_address: bool = False
    ids: dict[str, int] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)

    def error(self, instruction: ast.Instruction, problem: str) -> SimtlabError:
        return UnknownSass(f"{instruction.spelling}: {problem}")

    def refuse(self, instruction: ast.Instruction, problem: str | None) -> None:
        if problem:
            raise self.error(instruction, problem)


def build_sass_program(cubin: Cubin, tree: ast.Module, kernel: str, addresses: Mapping[str, int]) -> Program:
    """Lower and lay out a kernel. `addresses` gives the variables' device addresses."""
    image, instructions = cubin.kernel(kernel), instructions_of(cubin, kernel)
    banks = banks_of(cubin, image, addresses, SERVICE_ADDRESSES)
    listing = "\n".join(f"{i.text};" for i in instructions)
    module = replace(tree, text=listing, source_name=f"{tree.source_name}, {cubin.architecture}")
    sources = [cubin.line_of(image, i.section, i.address) for i in instructions]
    functions = {one.name: one.start for one in image.functions}
    lowered = lowered_of(instructions, kernel, sources, banks, functions, addresses)
    for i, one in zip(instructions, lowered, strict=True):
        if problem := beyond(one, image.registers, len(banks.image)):
            raise UnknownSass(f"kernel '{kernel}' is damaged: '{i.text}' at {i.address:#x} {problem}")
    close(lowered, kernel)
    labels = {flow.label(i.address): k for k, i in enumerate(instructions)}
    lowering = SassLowering(module, lowered, labels, Frame({}, 0))
    graph = ControlFlowGraph([_flow(one, labels) for one in lowered])
    code = FunctionCode(tree.functions[kernel], lowering, graph, [_usage(one) for one in lowered],  # type: ignore[arg-type]
                        allocation_of(image.registers), 0)  # fmt: skip
    native = native_code(lowered, kernel)
    table, targets = encode({kernel: code}, native)
    has_calls = any(one.name != kernel and not one.name.startswith(OF_THE_COMPILER) for one in image.functions)
    stack = max(image.stack_bytes, LEAST_STACK_BYTES if has_calls else 0)
    depth = Depth(image.registers, code.window_bytes, align_up(stack, 16), recursive=not image.stack_is_known)
    if depth.local_bytes > MAX_LOCAL_BYTES:
        raise at(tree, kernel, f"kernel '{kernel}' needs {depth.local_bytes} bytes of local memory a thread")
    counts = RegisterCounts({kernel: image.registers}, cubin.architecture)
    parameters = tree.functions[kernel].parameters
    offsets = {variable.name: parameter.offset for variable, parameter in zip(parameters, image.parameters, strict=True)}
    return Program(
        kernel=tree.functions[kernel], module=module, functions={kernel: code}, table=table, targets=targets,
        entries=np.full(1, -1, np.int32), lowered=lowered, parameter_offsets=offsets, parameter_bytes=image.parameter_bytes,
        static_shared_bytes=image.shared_bytes, depth=depth, count_registers=lambda: counts, constants=banks,
    )  # fmt: skip


def native_code(lowered: list[Lowered], kernel: str) -> dict[Shape, int]:
    try:
        return provide({one.shape for one in lowered if one.spelling})
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UnknownSass(f"kernel '{kernel}' has an instruction with operands of a kind that it does not take") from problem


def lowered_of(
    instructions: list[SassInstruction],
    kernel: str,
    sources: list[ast.SourceLine | None],
    banks: ConstantBanks,
    functions: dict[str, int],
    addresses: Mapping[str, int],
) -> list[Lowered]:
    """Every instruction lowered; UnknownSass, with the first few, if simtlab does not execute some."""
    found: list[Lowered] = []
    unknown: list[str] = []
    places = {i.address for i in instructions}
    for k, i in enumerate(instructions):
        origin = ast.Instruction(i.opcode, i.parts, (), None, ast.Position(k + 1, 1), sources[k])
        result = flow.result_behind(instructions, k) if i.opcode == "BAR" and "RED" in i.parts else NOTHING
        given = Given(i, origin, banks.starts, banks.sizes, functions, addresses, result)
        try:
            found.append(replace(lower_instruction(given), hints=hints_of(i)))
        except UnknownSass as problem:
            unknown.append(str(problem))
            continue
        if given.i.opcode == "B2R" and is_in_use(found, flow.result_of(i)):
            unknown.append(str(given.unknown("its register is in use between the barrier and it")))
    if not unknown:
        unknown = [f"'{i.text}' at {i.address:#x}: its target is nowhere in this kernel"
                   for i, one in zip(instructions, found, strict=True)
                   if any(int(target, 0) not in places for target in one.targets)]  # fmt: skip
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise UnknownSass(f"kernel '{kernel}' has machine code that simtlab does not execute: {'; '.join(unknown[:3])}{more}")
    return found


def is_in_use(found: list[Lowered], result: Operand) -> bool:
    """Whether something between a barrier, which writes its result at once, and the B2R that ends a list has to do with it."""
    for one in reversed(found[:-1]):
        if one.action == Action.CTA_BARRIER:
            return False
        usage = _usage(one)
        if result.register in usage.reads | usage.writes:
            return True
    return False


def beyond(one: Lowered, registers: int, constant_bytes: int) -> str:
    """What an instruction touches that the kernel does not have; nothing, as a rule."""
    for operand in (*one.operands, *([one.guard] if one.guard else [])):
        for number in registers_of(operand):
            if registers <= number < FIRST_PREDICATE:
                return f"names R{number}, and the kernel has {registers} registers"
        if operand.kind in (CONSTANT, CONSTANT_64) and not 0 <= operand.value <= constant_bytes - 8:
            return "reads beyond the constant banks"
    if one.spelling.startswith("ld.param") and not 0 <= one.operands[-1].value <= constant_bytes - 16:
        return "reads beyond the constant banks"
    return ""


def close(lowered: list[Lowered], kernel: str) -> None:
    """See that nothing is executed behind the last instruction. A compiler ends code with a branch to itself and fills up with
    NOPs: the last of them becomes a jump out of the program, which is a fault."""
    if lowered and not _flow(lowered[-1], {}).falls_through:
        return
    if not lowered or lowered[-1].action != Action.NOTHING:
        raise UnknownSass(f"kernel '{kernel}' is damaged: control runs past the end of its code")
    out = [immediate(0), immediate(FAR_BEYOND)]
    lowered[-1] = replace(lowered[-1], action=Action.JUMP, operands=out, guard=None, values=(Members.UNIFORM,))


def _flow(one: Lowered, labels: dict[str, int]) -> Flow:
    guarded = one.guard is not None
    if one.action == Action.SPLIT:
        sure = not guarded and one.values[0] == Condition.NONE and one.origin.opcode != "CALL"
        return Flow(tuple(labels[target] for target in one.targets if target in labels), falls_through=not sure)
    if one.action in ENDS:
        guarded = guarded or (one.action == Action.END and one.values[0] != Condition.NONE)
        returns = one.action == Action.JUMP and one.origin.opcode == "CALL"
        return Flow((), falls_through=guarded or returns, leaves=not returns)
    return Flow()


def _usage(one: Lowered) -> Usage:
    operands = [*one.operands, *([one.guard] if one.guard else [])]
    reads = frozenset(number for operand in operands if not operand.written for number in registers_of(operand))
    writes = frozenset(number for operand in operands if operand.written for number in registers_of(operand))
    return Usage(reads, writes, always=one.guard is None)
