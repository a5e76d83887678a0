"""What the core must know of an instruction beside what it computes: its unit, its latency, its registers."""

import re
from enum import IntEnum
from typing import Any

import numpy as np

from simtlab.compiled import reader_of
from simtlab.isa.shape import (
    ADDRESS,
    ADDRESS_64,
    CONSTANT,
    CONSTANT_64,
    DOUBLE,
    NOT_PREDICATE,
    PAIR,
    PREDICATE,
    SCALAR,
    SCALAR_64,
    UNIFORM_PREDICATE,
    WORD,
)
from simtlab.machine.core.collector_record import MAX_SOURCES
from simtlab.machine.core.kinds import Pending, Unit
from simtlab.machine.core.state import (
    FIRST_PREDICATE,
    LANE_CLASSES,
    MAX_DESTINATIONS,
    N_REGISTERS,
    N_SLOTS,
    NO_BARRIER,
    REGISTER_WORDS,
)
from simtlab.machine.record import new_records, record_in_order
from simtlab.program.action import Action, Space
from simtlab.program.encode import INDEXED_CONSTANT, MAX_INSTRUCTIONS
from simtlab.program.lower import Lowered
from simtlab.program.operand import NO_REGISTER
from simtlab.program.program import Program


class Memory(IntEnum):
    """Which way a memory instruction goes."""

    NONE = 0
    GLOBAL = 1
    LOCAL = 2
    SHARED = 3
    CONSTANT = 4
    TEXTURE = 5
    GENERIC = 6  # decided by the address
    SURFACE = 7  # an image, read and written as global memory is
    EXCHANGE = 8  # none: lanes exchange registers on the way of shared memory


# Small types, and first what every instruction is asked for: a row is three lines of the host's cache, of which PTX needs two.
timing_t = record_in_order(
    [
        ("unit", "i1"),
        ("lane_class", "i1"),  # a place in LANE_CLASSES
        ("memory", "i1"),
        ("waits_for", "i1"),  # Pending: what a register that this instruction writes waits for
        ("is_store", "i1"),
        ("is_atomic", "i1"),
        ("is_branch", "i1"),
        ("is_fence", "i1"),
        ("switches", "i1"),  # another split may go on behind it, as behind a branch
        ("resolve", "i2"),  # cycles until it is known what is fetched behind it, if that is not the next instruction
        ("strong", "i1"),  # a load that must see what other cores have written
        ("uses_memory", "i1"),  # it reads or writes what other cores may write or read
        ("deterministic", "i1"),  # class of a global load, see program/load_classes.py; -1: none
        ("sources", "i1"),
        ("destinations", "i1"),
        ("registers_read", "i1"),  # sources and destinations without the predicates
        ("registers_written", "i1"),
        ("latency", "i4"),
        ("initiation", "i4"),
        ("source", "i2", (MAX_SOURCES,)),
        ("destination", "i2", (MAX_DESTINATIONS,)),
        ("uses", "u8", (REGISTER_WORDS,)),  # sets of registers: all it reads and writes,
        ("writes", "u8", (REGISTER_WORDS,)),  # … and those it writes
        ("is_fixed", "i1"),  # machine code: stall counts alone wait for its result
        ("stall", "i1"),  # … what the compiler's control bits say (control_bits.py),
        ("yields", "i1"),
        ("write_barrier", "i1"),
        ("read_barrier", "i1"),
        ("wait", "i1"),
        ("counter", "i1"),  # … a barrier of which so many may still be up, or NO_BARRIER
        ("at_most", "i1"),
        ("reuse", "i1"),  # … and which operand slots stay in the reuse cache (register_ports.py)
        ("slot_count", "i1", (N_SLOTS,)),
        ("slot_register", "i2", (N_SLOTS,)),  # the first register of each slot, or -1
        ("constant", "i8"),  # where in the constant banks it reads, or NO_CONSTANT or BY_INDEX
        ("passes", "i2"),  # of an exchange between lanes
        ("value_at", "i1"),  # … for each different value in this operand, or -1
        ("value_rows", "i1"),  # of which it has one or two words
        ("load", "i4"),  # its number among the program's global loads
    ]
)

# One record, like the instructions themselves (program/encode.py), for the same reason.
timing_table_t = np.dtype([("row", timing_t, (MAX_INSTRUCTIONS,))])
timing_at = reader_of(timing_table_t)

SPACES = {
    Space.GLOBAL: Memory.GLOBAL, Space.LOCAL: Memory.LOCAL, Space.SHARED: Memory.SHARED, Space.CONST: Memory.CONSTANT,
    Space.GENERIC: Memory.GENERIC,
}  # fmt: skip
CONTROL_ACTIONS = (
    Action.BRANCH, Action.EXIT, Action.BARRIER, Action.CALL, Action.RETURN, Action.INDIRECT_BRANCH,
    Action.INDIRECT_CALL, Action.NOTHING, Action.FENCE, Action.TRAP, Action.SERVICE, Action.WARP_BARRIER,
    *(action for action in Action if action >= Action.SPLIT),
)  # fmt: skip
TRANSFERS = (
    Action.BRANCH, Action.CALL, Action.RETURN, Action.INDIRECT_BRANCH, Action.INDIRECT_CALL, Action.SPLIT, Action.JUMP,
    Action.LIBRARY_CALL,
)  # fmt: skip
SWITCHES = (
    *TRANSFERS, Action.CONVERGE, Action.YIELD, Action.WARP_SYNC, Action.COLLECTIVE, Action.EXCLUSIVE, Action.END_COLLECTIVE,
    Action.END,
)  # fmt: skip
INDIRECT = (Action.JUMP, Action.RETURN, Action.INDIRECT_BRANCH, Action.INDIRECT_CALL)
COLLECTIVES = (Action.COLLECTIVE, Action.END_COLLECTIVE)
SPECIAL = frozenset(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"))
BY_OPCODE = {
    **dict.fromkeys(("and", "or", "xor", "not", "cnot", "lop3"), "logic"),
    **dict.fromkeys(("mov", "pack", "unpack", "cvta", "ld"), "move"),
    **dict.fromkeys(("setp", "set", "selp", "slct", "testp", "isspacep"), "compare"),
    **dict.fromkeys(("shl", "shr", "shf", "bfe", "bfi", "prmt", "brev", "popc", "clz", "bfind", "bmsk", "fns", "szext"), "shift"),
    **dict.fromkeys(("vote", "match", "activemask", "redux", "elect"), "vote"),
    "shfl": "shuffle", "cvt": "convert",
    # Machine code, where it has rows of its own.
    **dict.fromkeys(("LOP3", "PLOP3"), "logic"),
    **dict.fromkeys(("LDC", "R2UR", "R2P", "P2R"), "move"),
    **dict.fromkeys(("ISETP", "FSETP", "DSETP", "HSETP2", "FSET", "HSET2", "FCHK"), "compare"),
    **dict.fromkeys(("SHF", "SGXT"), "shift"),
    **dict.fromkeys(("IADD3", "LEA"), "int_add"), **dict.fromkeys(("VIMNMX", "VIMNMX3", "VIADDMNMX"), "int_max"),
    "IMAD": "int_mad", "VOTE": "vote", "MUFU": "sfu",
}  # fmt: skip
UNIFORM_KINDS = (SCALAR, SCALAR_64, ADDRESS, ADDRESS_64, UNIFORM_PREDICATE)
# Machine code by its own names, where its pipe is not that of the row it has in common with PTX.
BY_NAME = {
    **dict.fromkeys(("MUFU", "POPC", "FLO", "BREV", "F2I", "I2F", "F2F", "FRND", "FCHK"), "sfu"),
    **dict.fromkeys(("IADD3", "LEA", "IABS"), "int_add"), **dict.fromkeys(("IMAD", "IDP", "VIADD"), "int_mad"),
    **dict.fromkeys(("FSEL", "SEL"), "compare"), **dict.fromkeys(("PRMT", "BMSK"), "shift"), "MOV": "move",
    "FMNMX": "sp_max", **dict.fromkeys(("SHFL", "MATCH", "REDUX"), "shuffle"),
    **dict.fromkeys(("S2R", "S2UR"), "convert"), **dict.fromkeys(("HADD2", "HMUL2", "HFMA2"), "half"),
}  # fmt: skip
NO_CONSTANT, BY_INDEX = -1, -2
BY_THEMSELVES = (Unit.LDST, Unit.TEX, Unit.CONTROL)  # units whose instructions end when they do
CONSTANTS = ("LDC",)  # loads of constants that take as long as they take
FIRST_UNIFORM, N_UNIFORM = FIRST_PREDICATE + 8, N_REGISTERS - FIRST_PREDICATE - 8  # scoreboard entries behind the predicates'
MULTIPLY_ADD = frozenset(("mad", "fma", "mad24", "madc", "dp4a", "dp2a", "sad"))


def class_of(instruction: Lowered) -> str:
    """The class of operation that decides latency and unit: a section of the machine's `units`."""
    opcode = instruction.origin.opcode
    if instruction.hints is None:
        return operation_class(instruction.spelling)
    if opcode == "IMAD" and "HI" in instruction.origin.modifiers:
        return "int_mul"
    return BY_NAME.get(opcode) or operation_class(instruction.spelling)


def operation_class(spelling: str) -> str:
    """The class of operation that decides latency and unit: a section of the machine's `units`."""
    opcode, *parts = spelling.split(".")
    if opcode in BY_OPCODE:
        return BY_OPCODE[opcode]
    if opcode.isupper():
        return of_machine_code(opcode)
    kind = next((part for part in reversed(parts) if re.fullmatch(r"[usbf]\d+(x2)?|bf16(x2)?|pred", part)), "b32")
    if kind in ("f16", "f16x2", "bf16", "bf16x2"):
        return "sfu" if opcode in SPECIAL else "half"
    prefix = "dp" if kind == "f64" else "sp" if kind == "f32" else "int"
    if opcode in SPECIAL and "approx" in parts and kind != "f64":
        return "sfu"
    if opcode in SPECIAL or opcode in ("div", "rem"):
        return f"{prefix}_div"
    if opcode in MULTIPLY_ADD:
        return f"{prefix}_mad"
    if opcode.startswith("mul"):
        return f"{prefix}_mul"
    return f"{prefix}_max" if opcode in ("min", "max") else f"{prefix}_add"


def of_machine_code(opcode: str) -> str:
    """The class of a row that only machine code has, by its first letter: F2F converts, DADD is double precision."""
    if re.match(r"[FI]2|FRND", opcode):
        return "convert"
    prefix = {"F": "sp", "D": "dp", "H": "half"}.get(opcode.lstrip("U")[:1], "int")
    if prefix == "half":
        return prefix
    kind = "mad" if "FMA" in opcode else "mul" if "MUL" in opcode else "max" if "MNMX" in opcode else "add"
    return f"{prefix}_{kind}"


def timing_table(program: Program, units: Any, issue: Any, warp_passes: int) -> np.ndarray:
    """One row for each instruction. `units` and `issue` are the machine's sections; a narrow SIMD takes several passes."""
    record = new_records(1, timing_table_t)
    table = record["row"][0]
    bases = register_bases(program)
    number = 0
    for name, function in program.functions.items():
        for instruction in function.instructions:
            row = table[number]
            _fill_unit(row, instruction, units, warp_passes)
            _fill_hints(row, instruction)
            row["resolve"] = resolve_cycles(instruction, issue)
            _fill_registers(row, instruction, function.allocation.place, bases[name])
            number += 1
    table["deterministic"][:number] = program.load_classes
    table["load"][:number] = np.cumsum(program.load_classes >= 0) - 1
    return record


def resolve_cycles(instruction: Lowered, issue: Any) -> int:
    """How long a transfer of control keeps its warp from what follows."""
    cycles = issue.branch_resolve_cycles
    if cycles and instruction.hints is not None:
        cycles += issue.indirect_branch_cycles * (instruction.action in INDIRECT)
        cycles += issue.collective_cycles * (instruction.action in COLLECTIVES)
    return int(cycles)


def register_bases(program: Program) -> dict[str, int]:
    """Where each function's registers begin among the thread's: past those of the deepest chain of its callers."""
    bases = dict.fromkeys(program.functions, 0)
    for _ in range(len(bases)):
        for name, function in program.functions.items():
            for callee in function.callees:
                if callee != name:
                    below = bases[name] + function.allocation.registers
                    bases[callee] = min(max(bases[callee], below), FIRST_PREDICATE // 2)
    return bases


def _fill_unit(row: np.void, instruction: Lowered, units: Any, warp_passes: int) -> None:
    action = instruction.action
    row["is_branch"] = action in TRANSFERS
    row["value_at"] = -1
    row["is_fence"], row["switches"] = action == Action.FENCE, action in SWITCHES
    row["waits_for"] = Pending.FIXED
    if action in CONTROL_ACTIONS:
        row["unit"], row["latency"], row["initiation"] = Unit.CONTROL, 1, 1
        row["lane_class"] = LANE_CLASSES.index("branch")
        return
    if action in (Action.COMPUTE, Action.TIME) and not is_constant_load(instruction):
        name = class_of(instruction)
        chosen = getattr(units, name)
        row["unit"], row["lane_class"] = Unit[units.executed_on(name).upper()], LANE_CLASSES.index(name)
        if units.uniform_units and is_uniform(instruction):
            row["unit"] = Unit.UNIFORM
        row["latency"] = chosen.latency_cycles + (warp_passes - 1)
        row["initiation"] = chosen.initiation_cycles * warp_passes
        if instruction.hints is not None:
            row["latency"] += units.special_register_cycles * (instruction.origin.opcode == "S2R")
            row["latency"] += units.uniform_special_cycles * (instruction.origin.opcode == "S2UR")
        if row["unit"] in (Unit.SFU, Unit.LDST):
            row["waits_for"] = Pending.SHORT
        if row["unit"] == Unit.LDST:
            row["memory"], row["passes"] = Memory.EXCHANGE, 1
            if instruction.origin.opcode in ("MATCH", "REDUX"):
                longer = instruction.origin.opcode.lower()
                row["passes"] = getattr(units, f"{longer}_passes")
                row["latency"] += getattr(units, f"{longer}_cycles")
            if instruction.spelling.startswith("match.any") and instruction.operands[1].kind in (WORD, PAIR):
                row["value_at"], row["value_rows"] = 1, 1 + (instruction.operands[1].kind == PAIR)
        return
    row["unit"], row["latency"], row["initiation"] = Unit.LDST, 1, 1
    row["lane_class"] = LANE_CLASSES.index("texture" if action == Action.TEXTURE else "memory")
    row["is_store"] = action == Action.STORE or instruction.origin.opcode in ("sust", "SUST")
    row["is_atomic"], row["uses_memory"] = action == Action.ATOMIC, action != Action.COMPUTE
    row["strong"] = action == Action.LOAD and is_strong(instruction)
    row["memory"] = Memory.SURFACE if action == Action.SURFACE else SPACES[instruction.space]
    if action == Action.COMPUTE:
        row["memory"] = Memory.CONSTANT
    if action == Action.TEXTURE:
        row["unit"], row["memory"] = Unit.TEX, Memory.TEXTURE
    row["waits_for"] = Pending.SHORT if row["memory"] == Memory.SHARED else Pending.LONG
    if row["memory"] == Memory.CONSTANT:
        row["waits_for"] = Pending.CONSTANT


def is_strong(instruction: Lowered) -> bool:
    """A load that a core's cache must not answer: .cg, .cv, volatile and what is ordered beyond the CTA; STRONG.GPU or .SYS."""
    parts = set(instruction.origin.modifiers)
    if instruction.hints is not None:
        return "STRONG" in parts and bool(parts & {"GPU", "SYS"})
    return bool(parts & {"cg", "cv", "volatile", "mmio"}) or (bool(parts & {"relaxed", "acquire"}) and "cta" not in parts)


def is_constant_load(instruction: Lowered) -> bool:
    return instruction.hints is not None and instruction.origin.opcode in CONSTANTS


def is_uniform(instruction: Lowered) -> bool:
    """Whether an instruction of machine code computes once for the warp: ULOP3, UIADD3, and so on."""
    return instruction.hints is not None and instruction.origin.opcode.startswith("U")


def _fill_hints(row: np.void, instruction: Lowered) -> None:
    """What the compiler tells the core; nothing of it in PTX."""
    row["write_barrier"] = row["read_barrier"] = row["counter"] = NO_BARRIER
    row["slot_register"], row["constant"] = -1, NO_CONSTANT
    if instruction.hints is None:
        return
    control = instruction.hints.control
    row["stall"], row["yields"], row["wait"] = control.stall, control.yields, control.wait
    if row["unit"] != Unit.CONTROL:  # what is dealt with at issue holds nothing up
        row["write_barrier"], row["read_barrier"] = control.write_barrier, control.read_barrier
    row["is_fixed"] = row["write_barrier"] == row["read_barrier"] == NO_BARRIER and row["unit"] not in BY_THEMSELVES
    if instruction.hints.counter is not None:
        row["counter"], row["at_most"] = instruction.hints.counter, instruction.hints.at_most
    for k, slot in enumerate(instruction.hints.slots):
        if slot is not None and row["unit"] not in (Unit.LDST, Unit.TEX, Unit.CONTROL):
            row["slot_register"][k], row["slot_count"][k] = slot.register, slot.count
            row["reuse"] |= slot.reused << k
    places = [operand.value for operand in instruction.operands if operand.kind in (CONSTANT, CONSTANT_64)]
    if instruction.spelling.startswith("ld.param"):
        places = [instruction.operands[-1].value]
    if places:
        row["constant"] = places[0]
    elif instruction.spelling.startswith(INDEXED_CONSTANT):
        row["constant"] = BY_INDEX


def _fill_registers(row: np.void, instruction: Lowered, place: list[int], base: int) -> None:
    reads: list[int] = []
    writes: list[int] = []
    for operand in [*instruction.operands, *([instruction.guard] if instruction.guard else [])]:
        if operand.register == NO_REGISTER:
            continue
        first = place[operand.register]
        if operand.kind in (PREDICATE, NOT_PREDICATE):
            numbers = [FIRST_PREDICATE + first % (N_REGISTERS - FIRST_PREDICATE)]
        elif operand.kind in UNIFORM_KINDS:
            numbers = [FIRST_UNIFORM + first % N_UNIFORM]
        else:
            numbers = [(base + first) % FIRST_PREDICATE]
            if operand.kind in (DOUBLE, PAIR):
                numbers.append((base + first + 1) % FIRST_PREDICATE)
        target = writes if operand.written else reads
        target += [number for number in numbers if number not in target]
    reads, writes = reads[:MAX_SOURCES], writes[:MAX_DESTINATIONS]
    row["sources"], row["destinations"] = len(reads), len(writes)
    row["registers_read"] = sum(register < FIRST_PREDICATE for register in reads)
    row["registers_written"] = sum(register < FIRST_PREDICATE for register in writes)
    row["source"][: len(reads)] = reads
    row["destination"][: len(writes)] = writes
    for register in writes:
        row["writes"][register // 64] |= np.uint64(1 << register % 64)
    for register in (*reads, *writes):
        row["uses"][register // 64] |= np.uint64(1 << register % 64)
