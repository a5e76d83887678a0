"""Where a thread's registers lie in the warp's register window, and the numbers they have as operands."""

from simtlab.isa.lanes import ROW_BYTES
from simtlab.isa.shape import ADDRESS_64, PAIR, SCALAR_64
from simtlab.program.operand import NO_REGISTER, Operand
from simtlab.program.registers import Allocation

FIRST_PREDICATE, FIRST_UNIFORM_PREDICATE, FIRST_UNIFORM = 256, 264, 272  # numbers of P0, UP0, UR0; Rn has n
N_UNIFORM = 256
N_NAMED = FIRST_UNIFORM + N_UNIFORM
PREDICATE_BYTES = UNIFORM_BYTES = 4
UNIFORM_PREDICATES_AT, UNIFORMS_AT = 32, 64
REGISTERS_AT = -(-(UNIFORMS_AT + UNIFORM_BYTES * N_UNIFORM) // ROW_BYTES) * ROW_BYTES


def registers_of(operand: Operand) -> list[int]:
    """The numbers of the registers that an operand names: two for a pair."""
    if operand.register == NO_REGISTER:
        return []
    return [operand.register, operand.register + 1] if operand.kind in (PAIR, SCALAR_64, ADDRESS_64) else [operand.register]


def number_of(file: str, number: int) -> int:
    return number + {"R": 0, "P": FIRST_PREDICATE, "UP": FIRST_UNIFORM_PREDICATE, "UR": FIRST_UNIFORM}[file]


def storage_of(number: int) -> int:
    """Where a register's lanes, a predicate's mask or a uniform register begins."""
    if number >= FIRST_UNIFORM:
        return UNIFORMS_AT + UNIFORM_BYTES * (number - FIRST_UNIFORM)
    if number >= FIRST_UNIFORM_PREDICATE:
        return UNIFORM_PREDICATES_AT + PREDICATE_BYTES * (number - FIRST_UNIFORM_PREDICATE)
    if number >= FIRST_PREDICATE:
        return PREDICATE_BYTES * (number - FIRST_PREDICATE)
    return REGISTERS_AT + ROW_BYTES * number


def allocation_of(registers: int) -> Allocation:
    """The compiler has allocated them: every register is where its number says."""
    first = {FIRST_UNIFORM: FIRST_UNIFORM, FIRST_UNIFORM_PREDICATE: FIRST_UNIFORM_PREDICATE, FIRST_PREDICATE: FIRST_PREDICATE}
    place = [number - next((f for f in first if number >= f), 0) for number in range(N_NAMED)]
    storage = [storage_of(number) for number in range(N_NAMED)]
    return Allocation(place, storage, registers, 7, REGISTERS_AT + ROW_BYTES * max(registers, 1), registers)
