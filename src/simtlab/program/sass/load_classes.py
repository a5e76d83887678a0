"""The rule of LOADS for machine code: a global load is deterministic unless a value read at run time goes into its address."""

from collections import deque

from simtlab.isa.shape import ADDRESS, ADDRESS_64, UNIFORM, UNIFORM_64, VARYING
from simtlab.program.action import Action, Space
from simtlab.program.definitions import ENTRY, Definitions
from simtlab.program.encode import address_at
from simtlab.program.function import FunctionCode
from simtlab.program.load_classes import DECIDED_AT_RUN_TIME, READ_BY_ACTION, Load
from simtlab.program.lower import Lowered
from simtlab.program.sass.registers import registers_of

MEMORY = {Space.GLOBAL: "global memory", Space.GENERIC: "global memory", Space.SHARED: "shared memory", Space.LOCAL: "local memory"}


def classify_machine_code(code: FunctionCode) -> list[Load]:
    """Every global load of a kernel, in order."""
    definitions = Definitions(code)
    return [_load(definitions, k) for k, one in enumerate(code.instructions)
            if one.action == Action.LOAD and one.space in (Space.GLOBAL, Space.GENERIC)]  # fmt: skip


def _load(definitions: Definitions, pc: int) -> Load:
    """Search backwards from the address for an instruction that read something at run time."""
    came_from: dict[int, int] = {}
    pending = deque((pc, variable) for variable in _address_registers(definitions.instructions[pc]))
    seen = set(pending)
    while pending:
        k, variable = pending.popleft()
        for definition in definitions.reaching(k, variable):
            if definition == ENTRY:
                continue
            came_from.setdefault(definition, k)
            reason = read_at_run_time(definitions.instructions[definition])
            if reason:
                return Load(pc, False, _chain(came_from, definition, pc), reason)
            for source in definitions.code.usages[definition].reads:
                if (definition, source) not in seen:
                    seen.add((definition, source))
                    pending.append((definition, source))
    return Load(pc, deterministic=True)


def _chain(came_from: dict[int, int], first: int, last: int) -> tuple[int, ...]:
    chain = [first]
    while chain[-1] != last and chain[-1] in came_from and came_from[chain[-1]] not in chain:
        chain.append(came_from[chain[-1]])
    return tuple(chain)


def _address_registers(instruction: Lowered) -> list[int]:
    at = address_at(instruction)
    uniform = [operand for operand in instruction.operands if operand.kind in (ADDRESS, ADDRESS_64)]
    return [number for operand in (instruction.operands[at], *uniform) for number in registers_of(operand)]


def read_at_run_time(instruction: Lowered) -> str:
    """What an instruction reads that was not known at the launch; nothing ("") if it only passes values on."""
    if instruction.action == Action.LOAD:
        return MEMORY.get(instruction.space, "")
    for operand in instruction.operands:
        if operand.kind in (UNIFORM, UNIFORM_64, VARYING) and operand.value in DECIDED_AT_RUN_TIME:
            return DECIDED_AT_RUN_TIME[operand.value]
    return READ_BY_ACTION.get(instruction.action, "")
