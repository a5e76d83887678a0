"""The typed syntax tree of a PTX module, as the parser gives it and `simtlab.program` takes it.

Names are resolved as far as PTX scoping decides them: a register used in a nested `{ }` scope is the `RegisterName` of
the innermost declaration, made unique by its scope, so that two registers of one name never meet.
"""

from dataclasses import dataclass, field

SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared", "tex")
TYPE_BYTES = {
    "u8": 1, "s8": 1, "b8": 1, "u16": 2, "s16": 2, "b16": 2, "f16": 2, "bf16": 2,
    "u32": 4, "s32": 4, "b32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4,
    "u64": 8, "s64": 8, "b64": 8, "f64": 8, "b128": 16,
    "pred": 1, "texref": 8, "samplerref": 8, "surfref": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in the PTX text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The CUDA line an instruction came from, by the `.loc` and `.file` directives."""

    file: str
    line: int


# Operands ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register. `name` is unique in its function (inner scopes give a suffix); `spelling` is the text."""

    name: str
    type: str
    spelling: str


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """`%tid.x`, `%laneid`, `%clock64`, `%lanemask_lt`, … with the component, if any, in the name: "tid.x"."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal or constant expression, as a Python int (negative if the text was)."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating literal. `bits` and `width` hold 0f…/0d… exactly; a decimal literal is a 64-bit one."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A module or function variable, a function, a kernel parameter or a label used as a value, with a byte offset.

    In an initialiser, `generic(x)` asks for x's generic address, and `0xFF00(x)` for the one byte of it under the mask.
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p`, or `-%r` where PTX allows it."""

    operand: "Operand"


@dataclass(frozen=True, slots=True)
class Vector:
    """`{%r1, %r2}`; elements may be the sink `_`."""

    elements: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`%p|%q`: two destinations."""

    first: "Operand"
    second: "Operand"


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination nobody reads."""


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`. `base` is a Register, a Symbol (its offset 0; it is here) or None for an absolute address."""

    base: "Register | Symbol | None"
    offset: int


@dataclass(frozen=True, slots=True)
class TextureAddress:
    """`[texture, {x, y}]` and `[texture, sampler, {x, y}]`; also surfaces. `texture` is a Register or a Symbol."""

    texture: "Register | Symbol"
    sampler: "Register | Symbol | None"
    coordinates: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parenthesised list in a call: `(retval0)` or `(param0, param1)`."""

    values: tuple["Operand", ...]


Operand = (
    Register | SpecialRegister | Integer | Float | Symbol | Negated | Vector | Pair | Sink | Address | TextureAddress
    | Arguments
)  # fmt: skip


# Statements ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guard:
    """`@%p` or `@!%p`."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction: `@%p add.rn.f32 %f1, %f2, %f3;` has opcode "add" and modifiers ("rn", "f32").

    The modifiers keep the spelling, `::` parts included ("L2::128B"). A label operand is a Symbol.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    position: Position
    source: SourceLine | None

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    """`L1:`. The name is unique in its function, as registers' are; branches use the same unique name."""

    name: str
    position: Position


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in `.global`, `.const`, `.shared`, `.local` or `.param` space.

    `count` is None for a scalar, the number of elements for an array (dimensions multiplied), 0 for `[]`.
    `initial` lists (byte offset, value): bytes for data, a Symbol for an address to fill in when the module is loaded.
    """

    space: str
    name: str
    type: str
    align: int
    count: int | None
    initial: tuple[tuple[int, "bytes | Symbol"], ...]
    position: Position
    extern: bool = False
    pointer_space: str | None = None  # of a parameter declared `.ptr .global .align 4`

    @property
    def size(self) -> int:
        return TYPE_BYTES[self.type] * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """`name: .branchtargets L1, L2;` for brx.idx, and `.calltargets` for indirect calls."""

    name: str
    targets: tuple[str, ...]
    kind: str  # "branch" or "call"
    position: Position


@dataclass(frozen=True, slots=True)
class CallPrototype:
    """`name: .callprototype (.param .b32 _) _ (.param .b64 _);`"""

    name: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    position: Position


Statement = Instruction | Label


@dataclass(slots=True)
class Function:
    """An `.entry` (kernel) or a `.func`; `body` is None for a declaration."""

    name: str
    is_kernel: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    position: Position
    body: list[Statement] | None = None
    registers: dict[str, Register] = field(default_factory=dict)  # by unique name
    variables: dict[str, Variable] = field(default_factory=dict)  # .shared/.local/.param/.const/.global in the body
    branch_targets: dict[str, BranchTargets] = field(default_factory=dict)
    prototypes: dict[str, CallPrototype] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # {"maxntid": (256, 1, 1), "minnctapersm": …}
    pragmas: tuple[str, ...] = ()
    extern: bool = False


@dataclass(slots=True)
class Module:
    """A parsed PTX text."""

    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    functions: dict[str, Function]
    variables: dict[str, Variable]
    files: dict[int, str]
    text: str
    source_name: str
    sources: dict[str, str] = field(default_factory=dict)  # the CUDA texts that it was compiled from, where they are known
