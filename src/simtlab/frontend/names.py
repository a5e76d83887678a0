"""Which declaration a name means: scopes, numbered registers and the special registers.

The module is the outermost scope, a function's body the next, and each nested `{ }` one more. Names of a nested scope get
its number as a suffix (`%r1@2`), so that two declarations never share a name within a function.
"""

from simtlab.frontend.ast import Register, Symbol

MAX_REGISTERS = 1 << 24  # of one `.reg` declaration; they cost nothing until used, but a larger count is a mistake


def special_register_names() -> frozenset[str]:
    vectors = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    names = {f"{vector}.{component}" for vector in vectors for component in "xyzw"}
    names.update("laneid warpid nwarpid smid nsmid gridid clock clock_hi clock64".split())
    names.update("globaltimer globaltimer_lo globaltimer_hi current_graph_exec".split())
    names.update(f"lanemask_{relation}" for relation in "eq le lt ge gt".split())
    names.update("dynamic_smem_size total_smem_size aggr_smem_size is_explicit_cluster".split())
    names.update("cluster_ctarank cluster_nctarank".split())
    names.update(f"reserved_smem_offset_{part}" for part in "begin end cap 0 1".split())
    names.update(f"pm{number}{suffix}" for number in range(8) for suffix in ("", "_64"))
    names.update(f"envreg{number}" for number in range(32))
    return frozenset(names)


SPECIAL_REGISTERS = special_register_names()


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

    def declare(self, name: str, meaning: Register | Symbol) -> None:
        if name in self.names or self.numbered(name) is not None:
            raise Redeclared(name)
        self.names[name] = meaning

    def declare_register(self, name: str, type: str) -> Register:
        register = Register(name + self.suffix, type, name)
        self.declare(name, register)
        self.registers[register.name] = register
        return register

    def declare_symbol(self, name: str) -> str:
        """Declares a variable or a label and gives its unique name."""
        unique = name + self.suffix
        self.declare(name, Symbol(unique))
        return unique

    def declare_range(self, prefix: str, count: int, type: str) -> None:
        """Declares `prefix0` to `prefix(count-1)` without making them."""
        if prefix in self.ranges or (count and self.numbered(prefix + "0") is not None):
            raise Redeclared(prefix)
        self.ranges[prefix] = (count, type)
        for name in (*self.names, *(other + "0" for other in self.ranges if other != prefix and self.ranges[other][0])):
            if self.in_range(prefix, name):
                del self.ranges[prefix]
                raise Redeclared(name)

    def in_range(self, prefix: str, name: str) -> bool:
        """Whether `name` is one of the numbered registers of `prefix`."""
        if not name.startswith(prefix):
            return False
        digits = name[len(prefix) :]
        canonical = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
        return canonical and len(digits) <= 9 and int(digits) < self.ranges[prefix][0]

    def numbered(self, name: str) -> Register | None:
        """The register a range declares under this name."""
        if not self.ranges or not name[-1].isdigit():
            return None
        shortest = len(name.rstrip("0123456789"))
        for length in range(max(shortest, len(name) - 9), len(name)):
            prefix = name[:length]
            if prefix in self.ranges and self.in_range(prefix, name):
                return Register(name + self.suffix, self.ranges[prefix][1], name)
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
