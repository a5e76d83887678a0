"""Frames in local memory: where a function's local variables, formal parameters and outgoing arguments live.

A frame is laid out as [returns and parameters][local variables]; arguments for a callee are written just past the
caller's frame, where the callee's frame begins, so that a call copies nothing. A kernel's parameters are elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simtlab.frontend import ast

ALIGN = 16


def align_up(value: int, to: int) -> int:
    return -(-value // to) * to


def place_in_order(variables: Iterable[ast.Variable], start: int = 0) -> tuple[dict[str, int], int]:
    """Offsets of variables put one after another at their alignment, and where they end."""
    offsets = {}
    for variable in variables:
        start = align_up(start, max(variable.align, 1))
        offsets[variable.name] = start
        start += variable.size
    return offsets, start


@dataclass
class Signature:
    """What a call must agree on: where in the callee's frame each return value and parameter stands."""

    returns: list[tuple[ast.Variable, int]]
    parameters: list[tuple[ast.Variable, int]]

    @classmethod
    def of(cls, declaration: ast.Function | ast.CallPrototype) -> "Signature":
        together = [*declaration.returns, *declaration.parameters]
        placed: list[tuple[ast.Variable, int]] = []
        end = 0
        for variable in together:
            start = align_up(end, max(variable.align, 1))
            placed.append((variable, start))
            end = start + variable.size
        count = len(declaration.returns)
        return cls(placed[:count], placed[count:])

    @property
    def size(self) -> int:
        return max((start + variable.size for variable, start in [*self.returns, *self.parameters]), default=0)


@dataclass
class Frame:
    """A function's frame. `offsets` says where each of its variables and formals stands; `size` is where callees begin."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0

    @classmethod
    def of(cls, function: ast.Function) -> "Frame":
        offsets: dict[str, int] = {}
        end = 0
        if not function.is_kernel:
            signature = Signature.of(function)
            offsets = {variable.name: start for variable, start in [*signature.returns, *signature.parameters]}
            end = signature.size
        local = [v for v in function.variables.values() if v.space == "local"]
        placed, end = place_in_order(local, end)
        return cls(offsets | placed, align_up(end, ALIGN))


def shared_layout(variables: Mapping[str, ast.Variable]) -> tuple[dict[str, int], int]:
    """Offsets of shared variables in a CTA's shared memory; `extern` ones all begin where the static ones end."""
    static = [v for v in variables.values() if not (v.extern or v.count == 0)]
    dynamic = [v for v in variables.values() if v.extern or v.count == 0]
    offsets, end = place_in_order(sorted(static, key=lambda v: -v.align))
    start = align_up(end, max((v.align for v in dynamic), default=1))
    return offsets | {v.name: start for v in dynamic}, start if dynamic else end
