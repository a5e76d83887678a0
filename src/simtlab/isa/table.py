"""The one table of semantics: which spellings there are, what operands they take, and who builds their code.

A spelling pattern is literal text with `{a,b}` for exactly one of and `[a,b]` for at most one of:
`add[.rn,.rz,.rm,.rp][.ftz][.sat].f32` stands for twenty spellings; `#` is a hexadecimal digit.
An operand signature lists destinations, `=`, sources:

    T        the instruction's (last) type             T0 T1    its first, second type
    W        twice as wide as T                        u32 f64 … that type
    P        a predicate                               X|P      a pair, the second part optional
    M        a memory address                          X?       an optional operand
    V        as many T as .v2/.v4 says                 TEX      a texture or surface address
    CC       the carry flag, not written in the text   QUAD     {a, b, c, d} of the first type
    E…       two or four equal parts of a T
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

TYPES = frozenset(
    ("u8", "s8", "b8", "u16", "s16", "b16", "f16", "bf16", "u32", "s32", "b32", "f32", "f16x2", "bf16x2", "u16x2", "s16x2", "tf32",
     "u64", "s64", "b64", "f64", "pred", "b128")
)  # fmt: skip
ROUNDINGS = {"rn": 1, "rz": 0, "rm": 3, "rp": 2}  # the argument of llvm.set.rounding
_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "b16": "b32", "b32": "b64"}


class Modifiers:
    """The dotted parts of a spelling after the opcode, asked by name: `"ftz" in m`, `m.type`, `m.rounding`."""

    def __init__(self, spelling: str):
        self.spelling = spelling
        self.opcode, *self.parts = spelling.split(".")
        self.types = [part for part in self.parts if part in TYPES]

    def __contains__(self, part: str) -> bool:
        return part in self.parts

    @property
    def type(self) -> str:
        return self.types[-1]

    @property
    def rounding(self) -> str:
        """rn, rz, rm or rp; rn where the instruction leaves it out."""
        return next((part for part in self.parts if part in ROUNDINGS), "rn")

    @property
    def lanes_per_access(self) -> int:
        """2 for .v2, 4 for .v4, else 1."""
        return next((int(part[1:]) for part in self.parts if part in ("v2", "v4", "v8")), 1)

    def first_of(self, *parts: str) -> str | None:
        return next((part for part in self.parts if part in parts), None)

    def resolve(self, token: str) -> str:
        """The type a signature token stands for."""
        if token == "T":
            return self.type
        if token in ("T0", "T1", "T2"):
            return self.types[int(token[1])]
        if token == "W":
            return _WIDER[self.type]
        return "pred" if token in ("P", "CC") else token


@dataclass(frozen=True, slots=True)
class Operation:
    """One row: a pattern of spellings, their operands, the builder of their code, and the family it belongs to.

    `build(lanes, modifiers, *sources)` returns the destination's value, or a tuple of them; a `raw` operation is given
    the `Lanes` alone and reads and writes by itself.
    """

    pattern: str
    signature: str
    build: Callable | None
    family: str
    raw: bool
    action: str  # what the machine does with it: "compute", "memory", "atomic", "branch", …
    note: str
    own_marks: bool = False  # of machine code: the builder itself looks whether operands are negated

    @property
    def opcode(self) -> str:
        match = re.match(r"\w+", self.pattern)
        assert match
        return match[0]

    @property
    def destinations(self) -> list[str]:
        return self.signature.split("=")[0].split() if "=" in self.signature else []

    @property
    def sources(self) -> list[str]:
        return self.signature.split("=")[-1].split()


_operations: dict[str, list[Operation]] = {}


def operation(
    pattern: str, signature: str, raw: bool = False, action: str = "compute", note: str = "", own_marks: bool = False
) -> Callable:
    """Declare a builder for the spellings of `pattern`. Several may stand on one builder."""

    def declare(build: Callable) -> Callable:
        family = build.__module__.rpartition(".")[2]
        row = Operation(pattern, signature, build, family, raw, action, note or (build.__doc__ or "").strip(), own_marks)
        _operations.setdefault(row.opcode, []).append(row)
        return build

    return declare


def control(pattern: str, signature: str, action: str, note: str) -> None:
    """Declare spellings that have no native function: the executor carries out their action."""
    row = Operation(pattern, signature, None, "control", True, action, note)
    _operations.setdefault(row.opcode, []).append(row)


@cache
def _as_expression(pattern: str) -> re.Pattern:
    """Made when a spelling of the opcode is first looked for: for all rows it takes longer than the rest of the import."""
    text = ""
    for group in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\[{]+", pattern):
        if group[0] in "{[":
            choices = "|".join(re.escape(choice) for choice in group[1:-1].split(","))
            text += f"(?:{choices})" + ("?" if group[0] == "[" else "")
        else:
            text += re.escape(group).replace(r"\#", "[0-9A-F]")
    return re.compile(text)


@cache
def find(spelling: str) -> Operation | None:
    """The row that covers a spelling, or None."""
    opcode = spelling.partition(".")[0]
    for row in _operations.get(opcode, ()):
        if _as_expression(row.pattern).fullmatch(spelling):
            return row
    return None


def rows() -> list[Operation]:
    """The rows of PTX, in order of declaration."""
    return [row for row in _all_rows() if not row.opcode.isupper()]


def rows_of_machine_code() -> list[Operation]:
    """The rows that only machine code has."""
    return [row for row in _all_rows() if row.opcode.isupper()]


def _all_rows() -> list[Operation]:
    return [row for group in _operations.values() for row in group]
