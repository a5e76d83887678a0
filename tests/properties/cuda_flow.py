"""Random control flow as CUDA C++ and, written at the same time, as Python that one thread executes.

Every number is an unsigned word, so that nothing is undefined. A thread of the Python is a generator: where lanes exchange
something it yields the lanes that take part and what it gives, and is sent what it gets.
"""

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

THREADS = 64
MASK = 0xFFFFFFFF
VARIABLES = ("a", "b", "c", "d")
PRELUDE_C = "#define FULL 0xffffffffu\ntypedef unsigned word;\n"
# C++, and the same in Python; operands are {0}, {1}, …
OPERATIONS = [
    ("({0} + {1})", "({0} + {1} & M)"), ("({0} - {1})", "({0} - {1} & M)"), ("({0} * {1})", "({0} * {1} & M)"),
    ("({0} & {1})", "({0} & {1})"), ("({0} | {1})", "({0} | {1})"), ("({0} ^ {1})", "({0} ^ {1})"),
    ("(~{0})", "({0} ^ M)"), ("({0} << ({1} & 31u))", "({0} << ({1} & 31) & M)"), ("({0} >> ({1} & 31u))", "({0} >> ({1} & 31))"),
    ("(word)((int){0} >> ({1} & 31u))", "(S({0}) >> ({1} & 31) & M)"), ("({0} / ({1} | 1u))", "({0} // ({1} | 1))"),
    ("({0} % ({1} | 1u))", "({0} % ({1} | 1))"), ("min({0}, {1})", "min({0}, {1})"), ("max({0}, {1})", "max({0}, {1})"),
    ("(word)min((int){0}, (int){1})", "(min(S({0}), S({1})) & M)"), ("(word)__popc({0})", "({0}).bit_count()"),
    ("(word)__clz({0})", "(32 - ({0}).bit_length())"), ("__umulhi({0}, {1})", "({0} * {1} >> 32)"),
    ("__funnelshift_l({0}, {1}, {2})", "((({1} << 32 | {0}) << ({2} & 31)) >> 32 & M)"),
    ("({0} < {1} ? {2} : {3})", "({2} if {0} < {1} else {3})"), ("({0} * {1} + {2})", "({0} * {1} + {2} & M)"),
    ("(word)(((unsigned long long){0} * {1} + {2}) >> 13)", "({0} * {1} + {2} >> 13 & M)"),
    ("(word)(short){0}", "((({0} & 0xFFFF) ^ 0x8000) - 0x8000 & M)"), ("(({0} & 0xffu) * 3u)", "(({0} & 0xFF) * 3)"),
]  # fmt: skip
CONDITIONS = [
    ("({0} < {1})", "({0} < {1})"), ("((int){0} < (int){1})", "(S({0}) < S({1}))"), ("({0} != {1})", "({0} != {1})"),
    ("(({0} & 7u) < ({1} & 7u))", "(({0} & 7) < ({1} & 7))"), ("({0} & 1u)", "({0} & 1)"),
    ("(({0} & 6u) == 2u)", "(({0} & 6) == 2)"), ("({0} % 5u < 2u && {1} % 3u)", "({0} % 5 < 2 and {1} % 3)"),
    ("({0} % 5u > 3u || !({1} & 12u))", "({0} % 5 > 3 or not {1} & 12)"),
]  # fmt: skip
CONSTANTS = (0, 1, 2, 3, 5, 16, 31, 0xFF, 0x12345, 0x7FFFFFFF, 0x80000000, MASK)
Text = tuple[str, str]


@dataclass
class Scope:
    """What statements at a place may do."""

    readable: tuple[str, ...] = VARIABLES
    depth: int = 0
    loops: int = 0
    breaks: bool = False  # whether `break` leaves a loop here
    converged: bool = False  # whether all lanes of the warp that have not ended are here
    alone: bool = True  # whether what is executed here may end the thread or the loop
    functions: int = 0  # that may be called


@dataclass
class Drawn:
    """Lines of C++ and of Python."""

    chances: random.Random
    size: "Size"
    ends_early: bool
    c: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    indent: int = 1
    numbers: Any = field(default_factory=count)
    result: str = ""  # what a function gives back; "" in a kernel

    def chance(self, one_in: int) -> bool:
        return self.integer(1, one_in) == one_in

    def integer(self, low: int, high: int) -> int:
        return self.chances.randint(low, high)

    def one_of(self, choices: Sequence[Any]) -> Any:
        return self.chances.choice(choices)

    def line(self, c: str, python: str) -> None:
        if c:
            self.c.append("  " * self.indent + c)
        if python:
            self.python.append("  " * self.indent + python)

    # Expressions ------------------------------------------------------------------------------------------------------

    def filled(self, table: list[Text], scope: Scope, depth: int) -> Text:
        c, python = self.one_of(table)
        operands = [self.value(scope, depth - 1) for _ in range(sum(f"{{{k}}}" in c for k in range(4)))]
        return c.format(*(one for one, _ in operands)), python.format(*(one for _, one in operands))

    def value(self, scope: Scope, depth: int = 2) -> Text:
        kind = self.integer(0, 5) if depth else self.integer(0, 2)
        if kind >= 3:
            return self.filled(OPERATIONS, scope, depth)
        if kind == 2:
            number = self.one_of(CONSTANTS)
            return f"{number}u", f"{number}"
        name = self.one_of(scope.readable)
        return name, name

    def condition(self, scope: Scope) -> Text:
        return self.filled(CONDITIONS, scope, 2)

    # Statements -------------------------------------------------------------------------------------------------------

    def block(self, scope: Scope) -> None:
        self.indent += 1
        self.python.append("  " * self.indent + "pass")
        for _ in range(self.integer(1, self.size.longest)):
            self.statement(scope)
        self.indent -= 1

    def inside(self, scope: Scope, **changes: Any) -> Scope:
        given = {**scope.__dict__, "depth": scope.depth + 1, "converged": False, **changes}
        return Scope(**given)

    def statement(self, scope: Scope) -> None:
        kinds: list[Callable[[Scope], None]] = [self.assign, self.assign, self.put, self.add]
        if scope.depth < self.size.deepest:
            kinds += [self.branch, self.branch, self.cases]
            if scope.loops < 2:
                kinds += [self.loop, self.loop, self.repeat]
        if scope.functions and scope.loops < (1 if self.result else 2):
            kinds.append(self.call)
        if scope.converged:
            kinds += [self.exchange, self.exchange, self.rounds, self.sides]
        if scope.loops and scope.alone:
            kinds += [self.leave_loop]
        if scope.depth and scope.alone and (self.ends_early or self.result):
            kinds.append(self.end)
        self.one_of(kinds)(scope)

    def target(self) -> str:
        return self.one_of(VARIABLES)

    def assign(self, scope: Scope) -> None:
        name, (c, python) = self.target(), self.value(scope, 3)
        self.line(f"{name} = {c};", f"{name} = {python}")

    def put(self, scope: Scope) -> None:
        """To and from an array that is indexed, and so lies in local memory."""
        (c, python), (value, value_python), name = self.value(scope), self.value(scope), self.target()
        self.line(f"t[{c} & 3u] = {value};", f"t[{python} & 3] = {value_python}")
        (c, python) = self.value(scope)
        self.line(f"{name} ^= t[{c} & 3u];", f"{name} ^= t[{python} & 3]")

    def add(self, scope: Scope) -> None:
        c, python = self.value(scope)
        place = self.integer(0, 1)
        self.line(f"atomicAdd(total + {place}, {c});", f"total[{place}] = total[{place}] + {python} & M")

    def branch(self, scope: Scope) -> None:
        c, python = self.condition(scope)
        self.line(f"if ({c}) {{", f"if {python}:")
        self.block(self.inside(scope))
        if self.chance(2):
            self.line("} else {", "else:")
            self.block(self.inside(scope))
        self.line("}", "")

    def cases(self, scope: Scope) -> None:
        """A switch; a case may fall into the next one."""
        (c, python), number = self.value(scope), self.integer(2, 7)
        self.line(f"switch ({c} % {number}u) {{", f"case = {python} % {number}")
        bodies: list[tuple[list[str], bool]] = []
        own = self.python
        for k in range(number - 1):
            falls = self.chance(4) and k < number - 2
            self.line(f"case {k}u: {{", "")
            self.python = []
            self.block(self.inside(scope, breaks=False))
            bodies.append((self.python, falls))
            self.line("}" if falls else "break; }", "")
        self.python = own
        self.line("}", "")
        for k in range(number - 1):
            self.line("", f"{'el' if k else ''}if case == {k}:")
            last = k
            while bodies[last][1]:
                last += 1
            for body, _ in bodies[k : last + 1]:
                self.python += body

    def loop(self, scope: Scope) -> None:
        """So many rounds as the data say."""
        i, (c, python) = f"i{next(self.numbers)}", self.value(scope)
        self.line(f"word n{i} = {c} & 7u;", "")
        self.line(f"for (word {i} = 0; {i} < n{i}; ++{i}) {{", f"for {i} in range({python} & 7):")
        self.block(self.inside(scope, readable=(*scope.readable, i), loops=scope.loops + 1, breaks=True, alone=True))
        self.line("}", "")

    def repeat(self, scope: Scope) -> None:
        """While something holds, but not too often."""
        w, (c, python), most = f"w{next(self.numbers)}", self.condition(scope), self.integer(1, 6)
        self.line(f"word {w} = 0;", f"{w} = 0")
        self.line(f"while ({c} && {w} < {most}u) {{", f"while {python} and {w} < {most}:")
        self.line(f"  ++{w};", f"  {w} += 1")
        self.block(self.inside(scope, readable=(*scope.readable, w), loops=scope.loops + 1, breaks=True, alone=True))
        self.line("}", "")

    def leave_loop(self, scope: Scope) -> None:
        c, python = self.condition(scope)
        word = "break" if scope.breaks and self.chance(2) else "continue"
        self.line(f"if ({c}) {word};", f"if {python}: {word}")

    def end(self, scope: Scope) -> None:
        c, python = self.condition(scope)
        if self.result:
            (value, value_python) = self.value(scope)
            self.line(f"if ({c}) return {value};", f"if {python}: return {value_python}")
        else:
            self.line(f"if ({c}) {{ KEEP; return; }}", f"if {python}: return keep(a, b, c, d)")

    def call(self, scope: Scope) -> None:
        (x, x_python), (y, y_python) = self.value(scope), self.value(scope)
        name, number = self.target(), self.integer(0, scope.functions - 1)
        depth = "depth - 1" if self.result else "2"
        guard = ("depth ? ", ": 0u", " if depth else 0") if self.result else ("", "", "")
        self.line(f"{name} = {guard[0]}f{number}({x}, {y}, {depth}, total) {guard[1]};",
                  f"{name} = f{number}({x_python}, {y_python}, {depth}){guard[2]}")  # fmt: skip

    # What lanes do together -------------------------------------------------------------------------------------------

    def exchange(self, scope: Scope) -> None:
        name, (c, python), distance = self.target(), self.value(scope), self.integer(1, 31)
        kind = self.integer(0, 0 if self.ends_early else 2)
        if kind == 0:
            self.line(f"s[t0] = {c}; __syncwarp(); {name} ^= s[(t0 & 32u) + (t0 + {distance}u & 31u)]; __syncwarp();",
                      f"got = yield MASK, (lane, {python})")  # fmt: skip
            self.line("", f"shared.update(got); {name} ^= shared[(lane + {distance}) & 31]")
        elif kind == 1:
            self.line(f"{name} = __shfl_xor_sync(FULL, {c}, {distance});", f"got = yield MASK, (lane, {python})")
            self.line("", f"{name} = got[lane ^ {distance}]")
        else:
            c, python = self.condition(scope)
            self.line(f"{name} = __ballot_sync(FULL, {c});", f"got = yield MASK, (lane, int(bool({python})))")
            self.line("", f"{name} = sum(bit << k for k, bit in got.items())")

    def rounds(self, scope: Scope) -> None:
        """A loop that all lanes go through together."""
        i, most = f"i{next(self.numbers)}", self.integer(1, 4)
        self.line(f"for (word {i} = 0; {i} < {most}u; ++{i}) {{", f"for {i} in range({most}):")
        inner = self.inside(scope, readable=(*scope.readable, i), loops=2, converged=scope.depth == 0, alone=False)
        self.block(inner)
        self.line("}", "")

    def sides(self, scope: Scope) -> None:
        """Lanes on one side of a branch vote among themselves."""
        m, (c, python), name = f"m{next(self.numbers)}", self.condition(scope), self.target()
        own, own_python = self.condition(scope)
        self.line(f"bool q{m} = {c}; word {m} = __ballot_sync(FULL, q{m});", f"q = bool({python}); got = yield MASK, (lane, q)")
        self.line("", f"{m} = sum(bit << k for k, bit in got.items())")
        self.line(f"if (q{m}) {{", "if q:")
        self.block(self.inside(scope, alone=False))
        self.line(f"  {name} += __popc(__ballot_sync({m}, {own}));", f"  got = yield {m}, (lane, int(bool({own_python})))")
        self.line("", f"  {name} = {name} + sum(got.values()) & M")
        self.line("} else {", "else:")
        self.block(self.inside(scope, alone=False))
        self.line("}", "")


@dataclass(frozen=True)
class Kernel:
    c: str
    python: str
    ends_early: bool = False  # whether lanes may end where others of their warp have not met again

    def __repr__(self) -> str:  # of a failing example
        return f"{self.c}\n{self.python}"


START_PYTHON = "a, b, c, d, t = n, n * 2654435761 & M, n >> 3 ^ 5, x, [1, 2, 3, 4]"
START_C = "word a = n, b = n * 2654435761u, c = n >> 3 ^ 5u, d = x, t[4] = {1, 2, 3, 4};"


def function(chances: random.Random, size: "Size", name: str, number: int) -> Kernel:
    drawn = Drawn(chances, size, ends_early=True, result="d")
    drawn.line("word t[4] = {1, 2, 3, 4}, c = a ^ 7u, d = a + b;", "t, c, d = [1, 2, 3, 4], a ^ 7, a + b & M")
    scope = Scope(functions=number + 1, depth=1)  # the last one is itself
    for _ in range(chances.randint(1, size.longest)):
        drawn.statement(scope)
    drawn.line("return d;", "return d")
    lines = "\n".join(drawn.c).replace("f0(", f"{name}0(").replace("f1(", f"{name}1(")
    head = f"__device__ __noinline__ word {name}{number}(word a, word b, word depth, word *total) {{"
    return Kernel(f"{head}\n{lines}\n}}\n", "\n".join([f"def f{number}(a, b, depth):", *drawn.python]))


def kernel(name: str, size: "Size", seed: int) -> Kernel:
    """A kernel of this name, with functions of its own."""
    chances = random.Random(seed)
    functions = [function(chances, size, f"{name}_", k) for k in range(chances.randint(0, size.functions))]
    drawn = Drawn(chances, size, ends_early=chances.random() < 0.5)
    drawn.line(START_C, START_PYTHON)
    for _ in range(chances.randint(1, size.statements)):
        drawn.statement(Scope(converged=True, functions=len(functions)))
    drawn.line("KEEP;", "keep(a, b, c, d)")
    lines = "\n".join(drawn.c).replace("f0(", f"{name}_0(").replace("f1(", f"{name}_1(")
    lines = lines.replace("KEEP", "out[4 * t0] = a, out[4 * t0 + 1] = b, out[4 * t0 + 2] = c, out[4 * t0 + 3] = d")
    head = f'extern "C" __global__ void {name}(word *out, word *total, const word *in) {{\n  __shared__ word s[{THREADS}];'
    start = "  word t0 = threadIdx.x, n = in[2 * t0], x = in[2 * t0 + 1]; s[t0] = 0; __syncwarp();"
    c = "".join(one.c for one in functions) + "\n".join([head, start, lines, "}\n"])
    python = ["def thread(lane, n, x, keep):", "  shared = dict.fromkeys(range(32), 0)", *drawn.python, "  yield from ()"]
    return Kernel(c, "\n".join([*(one.python for one in functions), *python]), drawn.ends_early)


@dataclass(frozen=True)
class Size:
    """How large a kernel may be: Hypothesis makes these smaller; what is drawn within them comes from a seed."""

    statements: int = 6
    longest: int = 4  # statements of a block
    deepest: int = 3  # blocks
    functions: int = 2


sizes = st.builds(Size, st.integers(1, 6), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2))


def kernels(name: str) -> st.SearchStrategy[Kernel]:
    return st.builds(kernel, st.just(name), sizes, st.integers(0, 1 << 62))


# What it comes to -----------------------------------------------------------------------------------------------------


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def evaluated(kernel: Kernel, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the threads store, and the sums that all of them add to."""
    total = [0, 0]
    names: dict[str, Any] = {"M": MASK, "MASK": MASK, "S": signed, "total": total}
    exec(kernel.python, names)
    out = np.zeros((THREADS, 4), "u4")
    for first in range(0, THREADS, 32):
        def thread(lane: int, first: int = first) -> Generator:
            def keep(*values: int) -> None:
                out[first + lane] = values

            n, x = (int(value) for value in inputs[first + lane])
            return names["thread"](lane, n, x, keep)

        warp([thread(lane) for lane in range(32)])
    return out, np.array(total, "u4")


def warp(lanes: list[Generator]) -> None:
    """Run lanes to their ends; those that wait go on when all live ones that take part are there."""
    waiting: dict[int, tuple[int, Any]] = {}
    given: dict[int, Any] = dict.fromkeys(range(32))
    while given:
        for k, value in given.items():
            try:
                waiting[k] = lanes[k].send(value)
            except StopIteration:
                waiting.pop(k, None)
        given = {}
        for members in {members for members, _ in waiting.values()}:
            here = [k for k, (wanted, _) in waiting.items() if wanted == members]
            if all(waiting[k][0] == members for k in waiting if members >> k & 1):
                answer = dict(waiting[k][1] for k in here)
                given.update(dict.fromkeys(here, answer))
        for k in given:
            del waiting[k]
    assert not waiting
