"""Which declaration a name means: scopes, numbered registers and the special registers.

The module is the outermost scope, a function's body the next, and each nested `{ }` one more. Names of a nested scope
get its number as a suffix (`%r1@2`), so that two declarations never share a name within a function.
"""

from simtlab.frontend.ast import Register, Symbol

MAX_REGISTERS = 1 << 24  # of one `.reg` declaration; they cost nothing until used, but a larger count is a mistake


VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
SCALARS = (
    "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "current_graph_exec",
    "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt",
    "dynamic_smem_size", "total_smem_size", "aggr_smem_size", "is_explicit_cluster",
    "cluster_ctarank", "cluster_nctarank", "reserved_smem_offset_begin", "reserved_smem_offset_end",
    "reserved_smem_offset_cap", "reserved_smem_offset_0", "reserved_smem_offset_1",
)  # fmt: skip
SPECIAL_REGISTERS = frozenset(
    [
        *(f"{vector}.{component}" for vector in VECTORS for component in "xyzw"),
        *SCALARS,
        *(f"pm{number}{suffix}" for number in range(8) for suffix in ("", "_64")),
        *(f"envreg{number}" for number in range(32)),
    ]
)
LONGEST_NUMBER = 9  # digits of a register's number


def splits(name: str) -> list[tuple[str, int]]:
    """Every way to read a name as a prefix and a number written without leading zeros."""
    stem = len(name.rstrip("0123456789"))
    shortest = max(stem, len(name) - LONGEST_NUMBER, 1)
    return [
        (name[:cut], int(name[cut:])) for cut in range(shortest, len(name)) if name[cut] != "0" or cut == len(name) - 1
    ]


class Redeclared(Exception):
    """Turned into a PtxError where the place is known."""


class Scope:
    """The names declared between one pair of braces (or in the module) and the way outwards."""

    def __init__(self, outer: "Scope | None", suffix: str = "", registers: dict[str, Register] | None = None):
        self.outer = outer
        self.suffix = suffix
        self.registers = {} if registers is None else registers  # of the whole function, by unique name
        self.names: dict[str, Register | Symbol] = {}
        self.ranges: dict[str, tuple[int, str]] = {}  # `.reg .b32 %r<10>` is {"%r": (10, "b32")}
        self.lowest_numbers: dict[str, int] = {}  # the least number any declared name has after this prefix

    def declare(self, name: str, meaning: Register | Symbol) -> None:
        if name in self.names or self.numbered(name) is not None:
            raise Redeclared(name)
        self.names[name] = meaning
        self.note_number(name)

    def declare_register(self, name: str, type: str) -> None:
        register = Register(name + self.suffix, type, name)
        self.declare(name, register)
        self.registers[register.name] = register

    def declare_symbol(self, name: str) -> str:
        """Declares a variable or a label and gives its unique name."""
        unique = name + self.suffix
        self.declare(name, Symbol(unique))
        return unique

    def declare_range(self, prefix: str, count: int, type: str) -> None:
        """Declares `prefix0` to `prefix(count-1)` without making them."""
        taken = self.lowest_numbers.get(prefix, count)
        if prefix in self.ranges or taken < count or (count and self.numbered(prefix + "0") is not None):
            raise Redeclared(prefix + str(min(taken, max(count - 1, 0))))
        self.ranges[prefix] = (count, type)
        if count:
            self.note_number(prefix + "0")

    def note_number(self, name: str) -> None:
        """Remembers `x12` as number 12 of `x` and 2 of `x1`, so that a later range over it is noticed."""
        for prefix, number in splits(name):
            self.lowest_numbers[prefix] = min(number, self.lowest_numbers.get(prefix, number))

    def numbered(self, name: str) -> Register | None:
        """The register a range declares under this name."""
        if not self.ranges or not name[-1:].isdigit():
            return None
        for prefix, number in splits(name):
            count, type = self.ranges.get(prefix, (0, ""))
            if number < count:
                return Register(name + self.suffix, type, name)
        return None

    def find(self, name: str) -> Register | Symbol | None:
        """What the name means here; a numbered register comes into being on its first use."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is None and (found := scope.numbered(name)) is not None:
                scope.names[name] = scope.registers[found.name] = found
            if found is not None:
                return found
            scope = scope.outer
        return None
