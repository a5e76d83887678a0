"""What an operand must be: the class and width of registers, literals, packed moves, parameters, arguments of calls.

Each check gives the problem in words, or nothing; the lowering says where. The native functions and the executor rely on them:
a register narrower than its operand would be read or written past its end.
"""

from functools import cache

from simtlab.frontend import ast
from simtlab.isa.lanes import bits_of
from simtlab.isa.shape import KIND_OF_BITS
from simtlab.program.action import Service
from simtlab.program.frame import Signature

LOOSE_WIDTH = frozenset(("ld", "ldu", "st", "cvt", "atom", "red", "mov", "tex", "suld", "sust", "shfl"))
TENSOR_CORES = frozenset(("wmma", "mma", "wgmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05"))
PACKED_PARTS = {32: (2, 4), 64: (2, 4)}  # of a register's bits: into how many equal parts mov can take it
# The bytes of what each service gives back and takes.
SERVICE_BYTES = {
    Service.VPRINTF: ((4,), (8, 8)),
    Service.ASSERT_FAIL: ((), (8, 8, 4, 8, 8)),
    Service.MALLOC: ((8,), (8,)),
    Service.FREE: ((), (8,)),
}


@cache
def width(type: str) -> int:
    return bits_of(type)


def register_problem(register: ast.Register) -> str | None:
    """Registers have 1, 16, 32 or 64 bits here; one of 8 bits takes the room of 16."""
    if register.type == "pred" or width(register.type) in KIND_OF_BITS:
        return None
    return f"{register.spelling} is a .{register.type} register; registers of {width(register.type)} bits are not supported"


def width_problem(register: ast.Register, type: str, instruction: ast.Instruction) -> str | None:
    """A register must be as wide as its operand; moves, conversions and accesses take a wider one too."""
    has, needs = width(register.type), width(type)
    narrow_ok = instruction.opcode in LOOSE_WIDTH
    if has == needs or (needs == 8 and has == 16) or (narrow_ok and has > needs > 1):
        return None
    what = "a predicate" if needs == 1 else f"{needs} bits"
    return f"{register.spelling} ({register.type}) where {instruction.spelling} needs {what}"


def address_problem(register: ast.Register) -> str | None:
    if register.type != "pred" and width(register.type) in (32, 64):
        return None
    return f"address register {register.spelling} must have 32 or 64 bits"


def immediate_problem(literal: ast.Integer | ast.Float, type: str, instruction: ast.Instruction) -> str | None:
    if type == "pred" and isinstance(literal, ast.Float):
        return f"a floating-point literal where {instruction.spelling} needs a predicate"
    return None


def packed_problem(whole: str | None, parts: int, instruction: ast.Instruction) -> str | None:
    """`mov.b64 d, {lo, hi}`: of which type, and into how many parts."""
    if whole is None:
        return f"{instruction.spelling} with a vector needs a type: .b32 or .b64"
    allowed = PACKED_PARTS.get(bits_of(whole))
    if allowed is None:
        return f"{instruction.spelling} with a vector is not supported; its type must have 32 or 64 bits"
    if parts not in allowed:
        return f"{instruction.spelling} takes a vector of 2 or 4 elements, not {parts}"
    return None


def parameter_problem(offset: int, size: int, parameter_bytes: int, instruction: ast.Instruction) -> str | None:
    """A kernel's parameters are read without another check."""
    if 0 <= offset <= parameter_bytes - size:
        return None
    place = f"bytes {offset} to {offset + size - 1}"
    return f"{instruction.spelling} reads {place} of the parameters, which have {parameter_bytes} bytes"


def by_value_problem(formal: ast.Variable) -> str | None:
    """Whether a parameter can be passed in a register."""
    if formal.count is not None:
        return f"'{formal.name}' has {formal.size} bytes: pass it in a .param variable, not in a register"
    if formal.type in ("pred", "texref", "samplerref", "surfref") or bits_of(formal.type) not in KIND_OF_BITS:
        return f"a .{formal.type} cannot be passed in a register"
    return None


def variable_problem(name: str, variable: ast.Variable | None, formal: ast.Variable) -> str | None:
    """Whether a .param variable of the caller fits the callee's parameter."""
    if variable is None or variable.space != "param":
        return f"'{name}' cannot be passed: an argument is a register, a number or a .param variable of the caller"
    if variable.size != formal.size:
        return f"'{name}' has {variable.size} bytes where the callee has {formal.size}"
    return None


def service_problem(service: Service, name: str, signature: Signature) -> str | None:
    """The host reads a service's arguments where the declaration puts them, so the declaration must be as the device's."""
    sizes = tuple(tuple(v.size for v, _ in part) for part in (signature.returns, signature.parameters))
    if sizes == SERVICE_BYTES[service]:
        return None
    results, arguments = SERVICE_BYTES[service]
    return f"'{name}' must be declared with parameters of {list(arguments)} bytes and results of {list(results)}"


def unknown_instruction(instruction: ast.Instruction, function: str) -> str:
    """The problem with an instruction that the table has not."""
    if instruction.opcode in TENSOR_CORES:
        return (
            f"'{instruction.spelling}' in '{function}': simtlab has no tensor-core instructions; use the program's path without "
            "them (for architectures before sm_70, or plain multiplication and addition)"
        )
    return f"unknown instruction '{instruction.spelling}' in '{function}'"
