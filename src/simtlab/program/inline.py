"""Calls replaced by what they call: lanes that have parted have no register windows of their own to call in.

A copy of the callee has registers of its own, and its frame where the call would have put it.
"""

from collections.abc import Callable
from dataclasses import replace

from simtlab.isa.shape import FRAME, NOT_PREDICATE, PREDICATE, UNIFORM_64
from simtlab.program import context
from simtlab.program.action import Action
from simtlab.program.frame import ALIGN, align_up
from simtlab.program.lower import FunctionLowering, Lowered
from simtlab.program.operand import NO_REGISTER, Operand, immediate

INSTEAD = "; use reconvergence = 'stack', or machine code (isa = 'sm_90')"
FRAME_START = Operand(UNIFORM_64, value=context.offset("frame"))


def inline_calls(lowering: FunctionLowering, lower: Callable[[str], FunctionLowering], callers: tuple[str, ...] = ()) -> None:
    """Replace each call of a function; `lower` gives a function's instructions."""
    laid: list[Lowered] = []
    names: dict[int, list[str]] = {}
    for name, k in lowering.labels.items():
        names.setdefault(k, []).append(name)
    end = lowering.frame.size
    for k, one in enumerate(lowering.lowered):
        for name in names.get(k, ()):
            lowering.labels[name] = len(laid)
        if one.action == Action.INDIRECT_CALL:
            problem = "a function is called by its address, and with reconvergence = 'barriers' calls are inlined"
            raise lowering.error(one.origin, problem + INSTEAD)
        if one.action != Action.CALL:
            laid.append(one)
            continue
        if one.callee in callers:
            problem = f"'{one.callee}' calls itself, and with reconvergence = 'barriers' calls are inlined"
            raise lowering.error(one.origin, problem + INSTEAD)
        callee = lower(one.callee)
        inline_calls(callee, lower, (*callers, one.callee))
        end = max(end, one.values[0] + callee.frame.size)
        _lay(lowering, laid, one, callee)
    lowering.lowered[:] = laid
    lowering.frame.size = align_up(end, ALIGN)


def _lay(lowering: FunctionLowering, laid: list[Lowered], call: Lowered, callee: FunctionLowering) -> None:
    """A copy of the callee in place of one call. Its only return is its last instruction: it ends there."""
    place = f"%call{len(laid)}."
    if call.guard is not None:
        inverse = PREDICATE if call.guard.kind == NOT_PREDICATE else NOT_PREDICATE
        guard = replace(call.guard, kind=inverse)
        laid.append(Lowered(Action.BRANCH, "", [], call.origin, guard, targets=(f"{place}%behind",)))
    first, registers, base = len(laid), len(lowering.types), call.values[0]
    lowering.types += callee.types
    lowering.labels |= {place + name: first + k for name, k in callee.labels.items()}
    laid += [_moved(one, registers, base, place) for one in callee.lowered[:-1]]
    laid.append(Lowered(Action.NOTHING, "", [], call.origin))  # where its returns lead to
    lowering.labels[f"{place}%behind"] = len(laid)


def _moved(one: Lowered, registers: int, base: int, place: str) -> Lowered:
    """An instruction of a callee in its caller: other registers, the frame further on, labels of its own."""
    operands = [_renumbered(operand, registers) for operand in one.operands]
    for k, operand in enumerate(operands[:-1]):
        if operand.kind == FRAME or operand == FRAME_START:
            operands[k + 1] = immediate(operands[k + 1].value + base)
    values = one.values
    if one.action == Action.SERVICE:
        values = (values[0], *(offset + base for offset in values[1:]))
    guard = one.guard and _renumbered(one.guard, registers)
    return replace(one, operands=operands, guard=guard, values=values, targets=tuple(place + name for name in one.targets))


def _renumbered(operand: Operand, registers: int) -> Operand:
    return operand if operand.register == NO_REGISTER else replace(operand, register=operand.register + registers)
