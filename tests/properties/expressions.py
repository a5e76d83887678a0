"""Random expression trees: drawn, written as one CUDA kernel, and evaluated by NumPy."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st

from tests.properties.operations import C_NAMES, OPERATIONS, PRELUDE, Operation
from tests.properties.reference import INTEGERS, TYPES, bits_of

COLUMNS = 3  # input values of each type a thread has
DEEPEST = 4
EDGES = {
    "f4": [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, 1.1754944e-38,
           3.4028235e38, -3.4028235e38, 16777216.0, 16777217.0, 2147483648.0, -2147483648.0, 4294967040.0, 65504.0, 65520.0,
           6e-8, 9.223372e18, 1.8446744e19, 0.1],
    "f8": [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
           1.7976931348623157e308, 3.4028235677973366e38, 1e-45, 2147483647.5, -2147483648.5, 4294967295.5,
           9007199254740993.0, 9.223372036854776e18, 1.8446744073709552e19, 0.1],
}  # fmt: skip
for _type in INTEGERS:
    _top = 1 << (bits_of(_type) - 1)
    _values = [0, 1, 2, 3, 7, 31, 32, 33, 63, 255, 0x7FFF, 0x8000, 0xFFFF, _top - 1, _top, _top + 1, -1, -2, -7, 0xFFFFFF]
    EDGES[_type] = np.array([v % (2 * _top) for v in _values], f"u{_type[1]}").view(_type).tolist()


@dataclass(frozen=True)
class Leaf:
    """A column of the inputs, or the same number in every thread."""

    type: str
    column: int
    constant: int | None = None  # its bits

    def text(self) -> str:
        if self.constant is None:
            return f"{self.type}_{self.column}"
        literal = f"{self.constant:#x}ull"
        convert = {"f4": f"__uint_as_float({literal})", "f8": f"__longlong_as_double({literal})"}
        return convert.get(self.type, f"({C_NAMES[self.type]}){literal}")

    def value(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        if self.constant is None:
            return inputs[self.type][self.column]
        return np.full(inputs[self.type].shape[1], self.constant, f"u{self.type[1]}").view(self.type)


@dataclass(frozen=True)
class Tree:
    """An operation on smaller expressions."""

    operation: Operation
    operands: tuple["Tree | Leaf", ...]

    @property
    def type(self) -> str:
        return self.operation.result

    def text(self) -> str:
        return self.operation.text.format(*(operand.text() for operand in self.operands))

    def value(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        operands = [operand.value(inputs) for operand in self.operands]
        return self.operation.meaning(*operands).astype(self.type)


# Drawing --------------------------------------------------------------------------------------------------------------


@cache
def giving(type: str) -> st.SearchStrategy[Operation]:
    return st.sampled_from([operation for operation in OPERATIONS if operation.result == type])


@cache
def leaves(type: str) -> st.SearchStrategy[Leaf]:
    edges = np.array(EDGES[type], type).view(f"u{type[1]}").tolist()
    columns = st.builds(Leaf, st.just(type), st.integers(0, COLUMNS - 1))
    constants = st.builds(Leaf, st.just(type), st.just(0), st.sampled_from(edges))
    return st.integers(0, 5).flatmap(lambda k: constants if k == 5 else columns)


@st.composite
def trees(draw: st.DrawFn, type: str, depth: int = DEEPEST) -> Tree:
    operation = draw(giving(type))
    operands = []
    for operand in operation.operands:
        deeper = depth > 1 and draw(st.integers(0, 3)) > 0
        operands.append(draw(trees(operand, depth - 1) if deeper else leaves(operand)))
    return Tree(operation, tuple(operands))


any_tree = st.sampled_from(TYPES).flatmap(trees)


def alone(operation: Operation) -> Tree:
    """An operation on the first columns of the inputs."""
    return Tree(operation, tuple(Leaf(type, column) for column, type in enumerate(operation.operands)))


def random_inputs(seed: int, threads: int) -> dict[str, np.ndarray]:
    """Columns of edge values, of any bits at all, and of small numbers, well mixed."""
    random = np.random.default_rng(seed)
    inputs = {}
    for type in TYPES:
        shape = COLUMNS, threads
        any_bits = random.integers(0, 256, (*shape, int(type[1])), np.uint8).view(type)[..., 0]
        small = random.integers(-100, 100, shape).astype(type) * np.array(0.25 if type[0] == "f" else 1, type)
        edges = random.choice(np.array(EDGES[type], type), shape)
        inputs[type] = np.choose(random.integers(0, 3, shape), [any_bits, small, edges])
    return inputs


# Writing --------------------------------------------------------------------------------------------------------------


def kernel_source(expressions: list[Tree]) -> str:
    """Expression e of thread t goes to element t of the 64-bit row e."""
    parameters = ", ".join(f"const {C_NAMES[type]}* in_{type}" for type in TYPES)
    loads = [f"  {C_NAMES[type]} {type}_{column} = in_{type}[{column} * n + t];" for type in TYPES for column in range(COLUMNS)]
    stores = [
        f"  *({C_NAMES[expression.type]}*)(out + {row} * n + t) = {expression.text()};"
        for row, expression in enumerate(expressions)
    ]
    lines = [f'extern "C" __global__ void k(int n, unsigned long long* out, {parameters}) {{', "  int t = threadIdx.x;"]
    return "\n".join([PRELUDE, *lines, *loads, *stores, "}"])
