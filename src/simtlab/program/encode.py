"""The executable form: one record per instruction, operands as offsets into the register window."""

from enum import IntEnum

import numpy as np

from simtlab.address_space import untouched_bytes
from simtlab.compiled import reader_of
from simtlab.errors import SimtlabError
from simtlab.frontend import ast
from simtlab.isa.access import SCALES
from simtlab.isa.shape import ADDRESS, ADDRESS_64, DOUBLE, FRAME, NOT_PREDICATE, PAIR, SCALAR, SINK, WORD, Shape
from simtlab.program.action import Action
from simtlab.program.cfg import EXIT
from simtlab.program.forms import encode_barrier, encode_surface, encode_texture
from simtlab.program.function import FunctionCode
from simtlab.program.lower import Lowered
from simtlab.program.operand import NO_REGISTER, Operand

MAX_OPERANDS = 18
NO_RECONVERGENCE = -1
NO_GUARD = -1
INDEXED_CONSTANT = "LDC."  # how rows of machine code are spelled that read one


class AddressBase(IntEnum):
    """What an access adds its offset to."""

    NONE = 0
    WORD = 1  # a 32-bit register
    DOUBLE = 2  # a 64-bit register
    FRAME = 3  # the thread's local frame
    PAIR = 4  # machine code: two 32-bit registers, and perhaps a uniform register
    WORD_AND_UNIFORM = 5  # … a 32-bit register, perhaps shifted, and perhaps a uniform one
    UNIFORM = 6  # … a uniform register alone


instruction_t = np.dtype(
    [
        ("function", "i8"),  # address of the native function
        ("operands", "i8", (MAX_OPERANDS,)),
        ("guard", "i4"),  # byte offset of the guard predicate, or NO_GUARD
        ("negated", "i4"),
        ("action", "i4"),
        ("space", "i4"),
        ("target", "i4"),  # branch or call target; first entry of the target table for an indirect branch
        ("target_count", "i4"),
        ("reconverge", "i4"),  # where lanes meet that this branch parts
        ("access_bytes", "i4"),
        ("address_at", "i4"),  # which operand is the address's base; its offset follows
        ("address_base", "i4"),
        ("uniform_at", "i4"),  # machine code: which operand is a uniform register that is added to the address
        ("uniform_base", "i4"),  # AddressBase.WORD, DOUBLE or NONE
        ("address_shift", "i4"),  # of the register: [R2.X4]
        ("detail", "i4"),  # barrier kind, service number, texture form
        ("window_bytes", "i4"),  # of the function this instruction is in: how far a call moves the register window
    ],
    align=True,
)


MAX_INSTRUCTIONS = 1 << 17
# The instructions as one record: compiled code passes its address around, where an array would cost reference counts.
code_t = np.dtype([("row", instruction_t, (MAX_INSTRUCTIONS,))])
code_at = reader_of(code_t)


def encode(functions: dict[str, FunctionCode], native: dict[Shape, int]) -> tuple[np.ndarray, np.ndarray]:
    """The table of all functions' instructions and the target table of indirect branches."""
    count = sum(len(code.instructions) for code in functions.values())
    if count > MAX_INSTRUCTIONS:
        raise SimtlabError(f"a kernel of {count} instructions is too long; at most {MAX_INSTRUCTIONS} are possible")
    table = untouched_bytes(code_t.itemsize, sparse=True).view(code_t).view(np.recarray)
    code = table["row"][0]
    targets: list[int] = []
    for function in functions.values():
        for k, instruction in enumerate(function.instructions):
            row = code[function.first + k]
            _encode_common(row, instruction, function, native)
            _encode_targets(row, instruction, k, function, targets)
            _encode_particular(row, instruction, function, functions)
    return table, np.array(targets or [0], np.int32)


def _encode_common(row: np.void, instruction: Lowered, function: FunctionCode, native: dict[Shape, int]) -> None:
    row["action"] = instruction.action
    row["space"] = instruction.space
    row["window_bytes"] = function.window_bytes
    row["guard"] = NO_GUARD
    if instruction.guard is not None:
        row["guard"] = _offset(instruction.guard, function)
        row["negated"] = instruction.guard.kind == NOT_PREDICATE
    if instruction.spelling:
        row["function"] = native[instruction.shape]
    values = [_offset(operand, function) for operand in instruction.operands]
    if len(values) > MAX_OPERANDS:
        raise function.lowering.error(instruction.origin, f"{len(values)} operands are too many")
    row["operands"][: len(values)] = values


def _encode_targets(
    row: np.void, instruction: Lowered, k: int, function: FunctionCode, targets: list[int]
) -> None:
    row["reconverge"] = NO_RECONVERGENCE
    if not instruction.targets:
        return
    if instruction.action == Action.SPLIT:
        row["target"] = function.first + function.lowering.labels[instruction.targets[0]]
        return
    graph, labels = function.graph, function.lowering.labels
    block = graph.immediate_post_dominator[graph.block_of[k]]
    if block != EXIT:
        row["reconverge"] = function.first + graph.blocks[block].first
    row["target"] = function.first + labels[instruction.targets[0]]
    if instruction.action in (Action.INDIRECT_BRANCH, Action.JUMP):
        row["target"] = len(targets)
        row["target_count"] = len(instruction.targets)
        targets.extend(function.first + labels[target] for target in instruction.targets)


def _encode_particular(
    row: np.void, instruction: Lowered, function: FunctionCode, functions: dict[str, FunctionCode]
) -> None:
    """What calls, services, accesses, barriers and textures carry."""
    action = instruction.action
    if action == Action.CALL:
        row["target"] = functions[instruction.callee].first
        row["operands"][0] = instruction.values[0]
    elif action == Action.INDIRECT_CALL:
        row["operands"][1] = instruction.values[0]
    elif action == Action.SERVICE:
        row["detail"] = instruction.values[0]
        row["operands"][: len(instruction.values) - 1] = instruction.values[1:]
    elif action in (Action.LOAD, Action.STORE, Action.ATOMIC):
        _encode_access(row, instruction)
    elif instruction.spelling.startswith(INDEXED_CONSTANT):
        _encode_index(row, instruction)
    elif action > Action.WARP_BARRIER and action != Action.CTA_BARRIER:
        row["detail"] = instruction.values[0] if instruction.values else 0
    elif action in (Action.BARRIER, Action.CTA_BARRIER, Action.TEXTURE, Action.SURFACE):
        values = [_offset(operand, function) for operand in instruction.operands]
        form = {Action.TEXTURE: encode_texture, Action.SURFACE: encode_surface}.get(action, encode_barrier)
        form(row, instruction, values, function.lowering.refuse)


def _encode_access(row: np.void, instruction: Lowered) -> None:
    at = address_at(instruction)
    bases = {WORD: AddressBase.WORD, DOUBLE: AddressBase.DOUBLE, FRAME: AddressBase.FRAME, PAIR: AddressBase.PAIR}
    row["access_bytes"] = access_bytes(instruction)
    row["address_at"] = at
    row["address_base"] = bases.get(instruction.operands[at].kind, AddressBase.NONE)
    row["address_shift"] = SCALES.get(instruction.operands[at].mark, 0)
    if row["address_shift"]:
        row["address_base"] = AddressBase.WORD_AND_UNIFORM
    last = instruction.operands[-1].kind
    if last in (ADDRESS, ADDRESS_64):
        row["uniform_at"] = len(instruction.operands) - 1
        row["uniform_base"] = AddressBase.WORD if last == ADDRESS else AddressBase.DOUBLE
        alone = {AddressBase.NONE: AddressBase.UNIFORM, AddressBase.WORD: AddressBase.WORD_AND_UNIFORM}
        row["address_base"] = alone.get(row["address_base"], row["address_base"])


def _encode_index(row: np.void, instruction: Lowered) -> None:
    """A constant by an index: no access of memory, but the machine wants to know where the lanes look."""
    row["access_bytes"], row["address_at"] = access_bytes(instruction), address_at(instruction)
    row["address_base"] = AddressBase.WORD
    if instruction.operands[row["address_at"]].kind == SCALAR:
        row["address_base"], row["uniform_at"], row["uniform_base"] = AddressBase.UNIFORM, row["address_at"], AddressBase.WORD


def address_at(instruction: Lowered) -> int:
    """Which operand of an access is its address's base; the offset follows."""
    return next(k for k, operand in enumerate(instruction.operands) if not operand.written and operand.kind != SINK)


def access_bytes(instruction: Lowered) -> int:
    """How many bytes one lane touches."""
    _, *parts = instruction.spelling.split(".")
    count = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
    return count * ast.TYPE_BYTES[parts[-1]]


def _offset(operand: Operand, function: FunctionCode) -> int:
    """What the operand array holds: a byte offset in the register window, or the operand's own number."""
    if operand.register == NO_REGISTER:
        return operand.value
    return function.allocation.storage[operand.register]
