"""Lowering: from a parsed function to instructions whose operands are virtual registers, numbers and frame offsets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simtlab.errors import PtxError, UnknownInstruction
from simtlab.frontend import ast
from simtlab.isa import build  # noqa: F401  fills the table
from simtlab.isa.shape import DOUBLE, FRAME, HALF, NOT_PREDICATE, PREDICATE, SINK, UNIFORM_64, WORD, Shape
from simtlab.isa.table import Modifiers, Operation, find
from simtlab.program import context
from simtlab.program.action import Action, Space
from simtlab.program.frame import Frame
from simtlab.program.operand import ABSENT_OPERAND, Operand, assign, error, immediate, literal_bits, register_kind
from simtlab.program.operand_checks import address_problem, immediate_problem, register_problem, unknown_instruction, width_problem
from simtlab.program.sass.hints import Hints

CARRY = "%CC"
MEMORY_ACTIONS = {"ld": Action.LOAD, "ldu": Action.LOAD, "st": Action.STORE, "atom": Action.ATOMIC, "red": Action.ATOMIC}
PLAIN_ACTIONS = {
    "compute": Action.COMPUTE, "parameter": Action.COMPUTE, "branch": Action.BRANCH,
    "indirect branch": Action.INDIRECT_BRANCH, "return": Action.RETURN, "exit": Action.EXIT, "trap": Action.TRAP,
    "barrier": Action.BARRIER, "nothing": Action.NOTHING, "fence": Action.FENCE, "texture": Action.TEXTURE,
    "surface": Action.SURFACE, "warp barrier": Action.WARP_BARRIER,
}  # fmt: skip
# The executor reads these instructions' operands itself, or native code one lane at a time: from registers, not from the context.
READ_FROM_REGISTERS = frozenset((*MEMORY_ACTIONS, "tex", "suld", "sust", "bar", "barrier", "brx", "call"))
NOT_IN_PTX = ("pack", "unpack")  # names in the table for packed moves
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
    form: str = ""  # of a texture or surface access of machine code, as PTX would spell it; "" where its origin says it
    hints: Hints | None = None  # machine code: what the compiler tells the core

    @property
    def kinds(self) -> str:
        return "".join(operand.kind for operand in self.operands)

    @property
    def shape(self) -> Shape:
        """Of its native function."""
        marks = tuple(operand.mark for operand in self.operands)
        return Shape(self.spelling, self.kinds, marks if any(marks) else ())


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
    parameter_bytes: int
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

    def register_operand(self, register: ast.Register, type: str | None, instruction: ast.Instruction, written: bool) -> Operand:
        """A register of the text as an operand of `type`; None where any width that registers have will do."""
        self.refuse(instruction, register_problem(register) or (type and width_problem(register, type, instruction)))
        return Operand(register_kind(register.type), self.register(register.name, register.type), written=written)

    def temporary(self, type: str) -> Operand:
        """A new register, to be written."""
        return Operand(register_kind(type), self.register(f"%temporary{len(self.types)}", type), written=True)

    def guard(self, instruction: ast.Instruction) -> Operand | None:
        if instruction.guard is None:
            return None
        register, negated = instruction.guard.register, instruction.guard.negated
        if register.type != "pred":
            problem = f"the guard {register.spelling} is a .{register.type} register; a guard must be a .pred one"
            raise self.error(instruction, problem)
        return Operand(NOT_PREDICATE if negated else PREDICATE, self.register(register.name, "pred"))

    def carry(self, written: bool) -> Operand:
        return Operand(PREDICATE, self.register(CARRY, "pred"), written=written)

    # Instructions -----------------------------------------------------------------------------------------------------

    def emit(
        self, action: Action, spelling: str, operands: list[Operand], origin: ast.Instruction, **more: Any
    ) -> Lowered:
        instruction = Lowered(action, spelling, operands, origin, self.guard(origin), **more)
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
        if row is None or instruction.opcode in NOT_IN_PTX:
            place = instruction.position
            problem = unknown_instruction(instruction, self.function.name)
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
        index = self.in_register(self.source(operands[0], "u32", instruction), "u32", instruction)
        self.emit(action, "", [index], instruction, targets=targets.targets)

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
        if space not in (Space.LOCAL, Space.GENERIC) and any(operand.kind == FRAME for operand in operands):
            raise self.error(instruction, f"{instruction.spelling} names a variable in local memory")
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
            self.refuse(instruction, address_problem(base))
            return [self.register_operand(base, None, instruction, written=False), immediate(offset)]
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
        if len(operand.coordinates) > 4:
            raise self.error(instruction, f"{instruction.spelling} takes at most 4 coordinates, not {len(operand.coordinates)}")
        type = m.type if instruction.opcode == "tex" else "s32"
        coordinates = [self.source(part, type, instruction) for part in operand.coordinates]
        handle = self.texture_handle(operand.texture, instruction)
        return [handle, *coordinates, *[ABSENT_OPERAND] * (4 - len(coordinates))]

    def texture_handle(self, texture: ast.Register | ast.Symbol, instruction: ast.Instruction) -> Operand:
        """A handle in a 64-bit register, or the name of a texture reference of the module."""
        if isinstance(texture, ast.Register):
            return self.register_operand(texture, "b64", instruction, written=False)
        if texture.name in self.parameter_offsets:
            raise self.error(instruction, f"'{texture.name}' is a parameter: load the handle (ld.param.u64) into a register first")
        if texture.name not in self.symbols.addresses:
            raise self.error(instruction, f"'{texture.name}' is no texture or surface reference of this module")
        return immediate(self.symbols.addresses[texture.name])

    def destination(self, operand: ast.Operand, type: str, instruction: ast.Instruction) -> Operand:
        if isinstance(operand, ast.Sink):
            return Operand(SINK)
        if not isinstance(operand, ast.Register):
            raise self.error(instruction, f"a destination of {instruction.spelling} must be a register")
        return self.register_operand(operand, type, instruction, written=True)

    def source(self, operand: ast.Operand, type: str, instruction: ast.Instruction) -> Operand:
        if isinstance(operand, ast.Register):
            return self.register_operand(operand, type, instruction, written=False)
        if isinstance(operand, ast.Negated) and isinstance(operand.operand, ast.Register) and type == "pred":
            return Operand(NOT_PREDICATE, self.register_operand(operand.operand, type, instruction, written=False).register)
        if isinstance(operand, ast.Integer | ast.Float):
            self.refuse(instruction, immediate_problem(operand, type, instruction))
            return immediate(literal_bits(operand, type))
        if type == "pred" and isinstance(operand, ast.SpecialRegister | ast.Symbol):
            raise self.error(instruction, f"'{operand.name}' where {instruction.spelling} needs a predicate")
        if isinstance(operand, ast.SpecialRegister):
            return self.special(operand, type, instruction)
        if isinstance(operand, ast.Symbol):
            return self.symbol(operand, type, instruction)
        raise self.error(instruction, f"{instruction.spelling} cannot take this operand")

    def symbol(self, operand: ast.Symbol, type: str, instruction: ast.Instruction) -> Operand:
        """A symbol as a value: its address where that is a number; frame addresses are computed into a register."""
        in_frame = self.frame_offset(operand.name)
        if in_frame is not None:
            return self.computed("frame", in_frame + operand.offset, type, instruction)
        if operand.name in self.parameter_offsets:
            self.takes_parameter_address = True
            place = self.parameter_offsets[operand.name] + operand.offset
            return self.computed("parameter_address", place, type, instruction)
        if operand.name in self.symbols.addresses:
            return immediate(self.symbols.addresses[operand.name] + operand.offset)
        raise self.error(instruction, f"'{operand.name}' cannot be used as a value")

    def computed(self, field: str, offset: int, type: str, instruction: ast.Instruction) -> Operand:
        start = Operand(UNIFORM_64, value=context.offset(field))
        operands = [self.temporary("u64"), start, immediate(offset)]
        self.emit(Action.COMPUTE, "add.u64", operands, instruction)
        return self.in_register(replace(operands[0], written=False), type, instruction)

    def special(self, operand: ast.SpecialRegister, type: str, instruction: ast.Instruction) -> Operand:
        found = context.special(operand.name)
        if found is None:
            raise self.error(instruction, f"special register '%{operand.name}' is not supported")
        place = Operand(found[0], value=found[1])
        if instruction.opcode not in READ_FROM_REGISTERS:
            return place
        action = Action.TIME if context.reads_time(operand.name) else Action.COMPUTE
        return self.in_register(place, type, instruction, action)

    def in_register(
        self, operand: Operand, type: str, instruction: ast.Instruction, action: Action = Action.COMPUTE
    ) -> Operand:
        """The operand, moved into a new register unless it is in one as wide as `type`."""
        kind = register_kind(type)
        if operand.kind == kind:
            return operand
        spelling = {HALF: "mov.b16", WORD: "mov.b32", DOUBLE: "mov.b64"}[kind]
        moved = self.temporary(spelling.removeprefix("mov."))
        self.emit(action, spelling, [moved, operand], instruction)
        return replace(moved, written=False)

    def reads_time(self, instruction: ast.Instruction) -> bool:
        return any(isinstance(o, ast.SpecialRegister) and context.reads_time(o.name) for o in instruction.operands)

    def refuse(self, instruction: ast.Instruction, problem: str | None) -> None:
        """An error at the instruction, if there is a problem."""
        if problem:
            raise self.error(instruction, problem)

    def error(self, instruction: ast.Instruction, problem: str) -> PtxError:
        return error(instruction, f"{problem} (in '{self.function.name}')", self.module.source_name)
