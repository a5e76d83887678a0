"""Lowering: from a parsed function to instructions whose operands are virtual registers, numbers and frame offsets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simtlab.errors import PtxError, UnknownInstruction
from simtlab.frontend import ast
from simtlab.isa import build  # noqa: F401  fills the table
from simtlab.isa.lanes import bits_of
from simtlab.isa.shape import DOUBLE, FRAME, NOT_PREDICATE, PREDICATE, SINK, UNIFORM_64, WORD
from simtlab.isa.table import Modifiers, Operation, find
from simtlab.program import context
from simtlab.program.action import Action, Space
from simtlab.program.frame import Frame
from simtlab.program.operand import ABSENT_OPERAND, Operand, assign, error, immediate, literal_bits, register_kind

CARRY = "%CC"
LOOSE_WIDTH = frozenset(("ld", "ldu", "st", "cvt", "atom", "red", "mov", "tex", "suld", "sust", "shfl"))
MEMORY_ACTIONS = {"ld": Action.LOAD, "ldu": Action.LOAD, "st": Action.STORE, "atom": Action.ATOMIC, "red": Action.ATOMIC}
PLAIN_ACTIONS = {
    "compute": Action.COMPUTE, "parameter": Action.COMPUTE, "branch": Action.BRANCH,
    "indirect branch": Action.INDIRECT_BRANCH, "return": Action.RETURN, "exit": Action.EXIT, "trap": Action.TRAP,
    "barrier": Action.BARRIER, "nothing": Action.NOTHING, "fence": Action.FENCE, "texture": Action.TEXTURE,
    "surface": Action.SURFACE, "warp barrier": Action.WARP_BARRIER,
}  # fmt: skip
SPACES = {
    "global": Space.GLOBAL, "shared": Space.SHARED, "shared::cta": Space.SHARED, "shared::cluster": Space.SHARED,
    "local": Space.LOCAL, "const": Space.CONST, "param": Space.LOCAL,
}  # fmt: skip


@dataclass
class Lowered:
    """One executable instruction. `targets` are label names until the function is laid out."""

    action: Action
    spelling: str  # of the native function; "" where there is none
    operands: list[Operand]
    origin: ast.Instruction
    guard: Operand | None = None
    targets: tuple[str, ...] = ()
    space: Space = Space.GENERIC
    values: tuple[int, ...] = ()  # numbers the executor needs beside the operands
    callee: str = ""

    @property
    def kinds(self) -> str:
        return "".join(operand.kind for operand in self.operands)


@dataclass
class Symbols:
    """Addresses of what is declared outside the function: variables by name, and which space each lives in."""

    addresses: Mapping[str, int]
    spaces: Mapping[str, str]


@dataclass
class FunctionLowering:
    """Lowers one function; `lowered` fills up as it goes."""

    function: ast.Function
    module: ast.Module
    symbols: Symbols
    frame: Frame
    parameter_offsets: Mapping[str, int]  # of a kernel's parameters
    lowered: list[Lowered] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    outgoing: dict[str, int] = field(default_factory=dict)  # offsets of call arguments, past the frame
    takes_parameter_address: bool = False

    # Registers --------------------------------------------------------------------------------------------------------

    def register(self, name: str, type: str) -> int:
        number = self.ids.get(name)
        if number is None:
            number = self.ids[name] = len(self.types)
            self.types.append(type)
        return number

    def register_operand(self, register: ast.Register, written: bool) -> Operand:
        return Operand(register_kind(register.type), self.register(register.name, register.type), written=written)

    def temporary(self, type: str) -> ast.Register:
        name = f"%temporary{len(self.types)}"
        return ast.Register(name, type, name)

    def carry(self, written: bool) -> Operand:
        return Operand(PREDICATE, self.register(CARRY, "pred"), written=written)

    # Instructions -----------------------------------------------------------------------------------------------------

    def emit(
        self, action: Action, spelling: str, operands: list[Operand], origin: ast.Instruction, **more: Any
    ) -> Lowered:
        guard = None
        if origin.guard is not None:
            kind = NOT_PREDICATE if origin.guard.negated else PREDICATE
            guard = Operand(kind, self.register(origin.guard.register.name, "pred"))
        instruction = Lowered(action, spelling, operands, origin, guard, **more)
        self.lowered.append(instruction)
        return instruction

    def lower_plain(self, instruction: ast.Instruction) -> None:
        """An instruction that is not a call, a move or a parameter access: its row says what to do."""
        row, m = self.row_of(instruction), Modifiers(instruction.spelling)
        if row.action in ("memory", "atomic"):
            self.lower_access(instruction, row, m)
            return
        action = PLAIN_ACTIONS[row.action]
        if action in (Action.BRANCH, Action.INDIRECT_BRANCH):
            self.lower_branch(instruction, action)
            return
        if action in (Action.NOTHING, Action.FENCE, Action.EXIT, Action.RETURN, Action.TRAP):
            assign(instruction, row, m, self.module.source_name)
            self.emit(action, "", [], instruction)
            return
        operands = self.flatten(instruction, row, m)
        spelling = instruction.spelling if row.build else ""
        if action == Action.COMPUTE and self.reads_time(instruction):
            action = Action.TIME
        self.emit(action, spelling, operands, instruction)

    def row_of(self, instruction: ast.Instruction) -> Operation:
        row = find(instruction.spelling)
        if row is None:
            place = instruction.position
            problem = f"unknown instruction '{instruction.spelling}' in '{self.function.name}'"
            raise UnknownInstruction(problem, place.line, place.column, self.module.source_name)
        return row

    def lower_branch(self, instruction: ast.Instruction, action: Action) -> None:
        operands = instruction.operands
        label = operands[-1] if operands else None
        if not isinstance(label, ast.Symbol) or len(operands) != (1 if action == Action.BRANCH else 2):
            raise self.error(instruction, f"{instruction.spelling} needs a label")
        if action == Action.BRANCH:
            self.emit(action, "", [], instruction, targets=(label.name,))
            return
        targets = self.function.branch_targets.get(label.name)
        if targets is None:
            raise self.error(instruction, f"'{label.name}' is not a .branchtargets list")
        self.emit(action, "", [self.source(operands[0], "u32", instruction)], instruction, targets=targets.targets)

    # Memory -----------------------------------------------------------------------------------------------------------

    def lower_access(self, instruction: ast.Instruction, row: Operation, m: Modifiers) -> None:
        """Spell the access without its space: the executor picks the window (see isa/access.py)."""
        vector = m.first_of("v2", "v4", "v8")
        name = m.first_of("and", "or", "xor", "add", "inc", "dec", "min", "max", "exch", "cas")
        parts = [m.opcode if m.opcode != "ldu" else "ld", name, "noftz" if "noftz" in m else None, vector, m.type]
        if row.action == "memory":
            parts[1] = parts[2] = None
        space = self.space_of(instruction, m)
        operands = self.flatten(instruction, row, m)
        spelling = ".".join(part for part in parts if part)
        self.emit(MEMORY_ACTIONS[m.opcode], spelling, operands, instruction, space=space)

    def space_of(self, instruction: ast.Instruction, m: Modifiers) -> Space:
        named = m.first_of(*SPACES)
        if named is not None:
            return SPACES[named]
        address = next((o for o in instruction.operands if isinstance(o, ast.Address)), None)
        if address is not None and isinstance(address.base, ast.Symbol):
            return SPACES.get(self.space_of_symbol(address.base.name), Space.GENERIC)
        return Space.GENERIC

    def space_of_symbol(self, name: str) -> str:
        if name in self.function.variables:
            return self.function.variables[name].space
        return self.symbols.spaces.get(name, "")

    def address(self, address: ast.Address, instruction: ast.Instruction) -> list[Operand]:
        base, offset = address.base, address.offset
        if isinstance(base, ast.Register):
            if register_kind(base.type) not in (WORD, DOUBLE):
                raise self.error(instruction, f"address register {base.spelling} must have 32 or 64 bits")
            return [self.register_operand(base, written=False), immediate(offset)]
        if base is None:
            return [immediate(0), immediate(offset)]
        offset += base.offset
        in_frame = self.frame_offset(base.name)
        if in_frame is not None:
            return [Operand(FRAME), immediate(in_frame + offset)]
        if base.name not in self.symbols.addresses:
            raise self.error(instruction, f"'{base.name}' has no address")
        return [immediate(0), immediate(self.symbols.addresses[base.name] + offset)]

    def frame_offset(self, name: str) -> int | None:
        found = self.frame.offsets.get(name)
        return self.outgoing.get(name) if found is None else found

    # Operands ---------------------------------------------------------------------------------------------------------

    def flatten(self, instruction: ast.Instruction, row: Operation, m: Modifiers) -> list[Operand]:
        operands: list[Operand] = []
        for slot in assign(instruction, row, m, self.module.source_name):
            if slot.token == "CC":
                operands.append(self.carry(slot.written))
            elif slot.operand is None:
                operands.append(ABSENT_OPERAND)
            elif slot.token == "M":
                if not isinstance(slot.operand, ast.Address):
                    raise self.error(instruction, f"{instruction.spelling} needs an address in brackets")
                operands += self.address(slot.operand, instruction)
            elif slot.token == "TEX":
                operands += self.texture_address(slot.operand, instruction, m)
            elif slot.token in ("V", "QUAD"):
                operands += self.elements(slot.operand, slot.token, slot.written, instruction, m)
            elif slot.written:
                operands.append(self.destination(slot.operand, m.resolve(slot.token), instruction))
            else:
                operands.append(self.source(slot.operand, m.resolve(slot.token), instruction))
        return operands

    def elements(
        self, operand: ast.Operand, token: str, written: bool, instruction: ast.Instruction, m: Modifiers
    ) -> list[Operand]:
        type = m.types[0] if token == "QUAD" else m.type
        count = 4 if token == "QUAD" else m.lanes_per_access
        parts = operand.elements if isinstance(operand, ast.Vector) else (operand,)
        if len(parts) != count:
            raise self.error(instruction, f"{instruction.spelling} needs {count} elements, not {len(parts)}")
        give = self.destination if written else self.source
        return [give(part, type, instruction) for part in parts]

    def texture_address(self, operand: ast.Operand, instruction: ast.Instruction, m: Modifiers) -> list[Operand]:
        if not isinstance(operand, ast.TextureAddress):
            raise self.error(instruction, f"{instruction.spelling} needs a texture address [texture, {{x, …}}]")
        if isinstance(operand.texture, ast.Symbol):
            handle = immediate(self.symbols.addresses[operand.texture.name])
        else:
            handle = self.register_operand(operand.texture, written=False)
        type = m.type if instruction.opcode == "tex" else "s32"
        coordinates = [self.source(part, type, instruction) for part in operand.coordinates]
        return [handle, *coordinates, *[ABSENT_OPERAND] * (4 - len(coordinates))]

    def destination(self, operand: ast.Operand, type: str, instruction: ast.Instruction) -> Operand:
        if isinstance(operand, ast.Sink):
            return Operand(SINK)
        if not isinstance(operand, ast.Register):
            raise self.error(instruction, f"a destination of {instruction.spelling} must be a register")
        self.check_width(operand, type, instruction)
        return self.register_operand(operand, written=True)

    def source(self, operand: ast.Operand, type: str, instruction: ast.Instruction) -> Operand:
        if isinstance(operand, ast.Register):
            self.check_width(operand, type, instruction)
            return self.register_operand(operand, written=False)
        if isinstance(operand, ast.Negated) and isinstance(operand.operand, ast.Register) and type == "pred":
            return Operand(NOT_PREDICATE, self.register(operand.operand.name, "pred"))
        if isinstance(operand, ast.Integer | ast.Float):
            return immediate(literal_bits(operand, type))
        if isinstance(operand, ast.SpecialRegister):
            return self.special(operand, type, instruction)
        if isinstance(operand, ast.Symbol):
            return self.symbol(operand, instruction)
        raise self.error(instruction, f"{instruction.spelling} cannot take this operand")

    def symbol(self, operand: ast.Symbol, instruction: ast.Instruction) -> Operand:
        """A symbol as a value: its address where that is a number; frame addresses are computed into a register."""
        in_frame = self.frame_offset(operand.name)
        if in_frame is not None:
            return self.computed("frame", in_frame + operand.offset, instruction)
        if operand.name in self.parameter_offsets:
            self.takes_parameter_address = True
            return self.computed("parameter_address", self.parameter_offsets[operand.name] + operand.offset, instruction)
        if operand.name in self.symbols.addresses:
            return immediate(self.symbols.addresses[operand.name] + operand.offset)
        raise self.error(instruction, f"'{operand.name}' cannot be used as a value")

    def computed(self, field: str, offset: int, instruction: ast.Instruction) -> Operand:
        result = self.register_operand(self.temporary("u64"), written=True)
        start = Operand(UNIFORM_64, value=context.offset(field))
        self.emit(Action.COMPUTE, "add.u64", [result, start, immediate(offset)], instruction)
        return Operand(DOUBLE, result.register)

    def special(self, operand: ast.SpecialRegister, type: str, instruction: ast.Instruction) -> Operand:
        found = context.special(operand.name)
        if found is None:
            raise self.error(instruction, f"special register '%{operand.name}' is not supported")
        kind, offset = found
        place = Operand(kind, value=offset)
        if instruction.opcode in (*MEMORY_ACTIONS, "tex", "suld", "sust"):
            width = "u64" if kind == UNIFORM_64 else "u32"
            register = self.register_operand(self.temporary(width), written=True)
            self.emit(Action.COMPUTE, f"mov.{width}", [register, place], instruction)
            return Operand(register.kind, register.register)
        return place

    def check_width(self, register: ast.Register, type: str, instruction: ast.Instruction) -> None:
        has, needs = bits_of(register.type), bits_of(type)
        narrow_ok = instruction.opcode in LOOSE_WIDTH
        if has == needs or (needs == 8 and has == 16) or (narrow_ok and has > needs and needs > 1):
            return
        what = "a predicate" if needs == 1 else f"{needs} bits"
        raise self.error(instruction, f"{register.spelling} ({register.type}) where {instruction.spelling} needs {what}")

    def reads_time(self, instruction: ast.Instruction) -> bool:
        return any(isinstance(o, ast.SpecialRegister) and context.reads_time(o.name) for o in instruction.operands)

    def error(self, instruction: ast.Instruction, problem: str) -> PtxError:
        return error(instruction, f"{problem} (in '{self.function.name}')", self.module.source_name)
