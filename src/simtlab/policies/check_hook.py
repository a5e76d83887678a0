"""Read a policy's hooks before they are compiled: a field that a record does not have, and a write to the machine, are found here.

What a name stands for is followed through assignments, loops and calls of functions in the policy's own file: `core` is the unit's
record, `core.slots[w]` one of its nested records, `own` the policy's state. What cannot be followed is left to the compiler.
"""

import ast
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from simtlab.errors import PolicyError

UNIT, OWN = "unit", "own"


@dataclass(frozen=True)
class Place:
    """A part of a record that a name may stand for. `dims` is how many indices it takes to come to the dtype."""

    dtype: np.dtype
    dims: int
    owner: str
    words: str  # as it is written, from the hook's parameter on


Places = frozenset[Place]
NOWHERE: Places = frozenset()


def check_hook(function: Callable, policy: str, unit: np.dtype, state: np.dtype) -> None:
    """Refuse a hook that has other parameters than four, writes to the machine, or names a field that is not there."""
    parameters = [name for name, p in inspect.signature(function).parameters.items() if p.kind != p.VAR_KEYWORD]
    wanted = "a hook has four parameters: the unit, its own state, one number and the cycle"
    if len(parameters) != 4:
        raise PolicyError(f"policy '{policy}': {function.__name__}({', '.join(parameters)}) is impossible: {wanted}")
    state = np.dtype([(name, state[name]) for name in state.names or () if not name.startswith("simtlab_")])
    given = [
        frozenset({Place(unit, 0, UNIT, parameters[0])}), frozenset({Place(state, 0, OWN, parameters[1])}), NOWHERE, NOWHERE,
    ]  # fmt: skip
    Reader(policy, function, set()).read(given)


class Reader:
    """Reads one function with what its parameters stand for."""

    def __init__(self, policy: str, function: Callable, read_before: set):
        self.policy, self.function, self.read_before = policy, function, read_before
        self.names: dict[str, Places] = {}
        self.returned: Places = NOWHERE

    def read(self, given: Iterable[Places]) -> Places:
        """What the function gives back."""
        lines, self.first = inspect.getsourcelines(self.function)
        tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)) if lines[0][:1].isspace() else "".join(lines))
        definition = tree.body[0]
        if isinstance(definition, ast.FunctionDef):
            parameters = [argument.arg for argument in definition.args.args]
            self.names = dict(zip(parameters, given, strict=False))
            self.block(definition.body)
        return self.returned

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    self.assign(target, value, node.value)
            case ast.AugAssign():
                self.value(node.value)
                if not isinstance(node.target, ast.Name):
                    self.assign(node.target, NOWHERE, node.value)
            case ast.If():
                self.value(node.test)
                self.either(node.body, node.orelse)
            case ast.For():
                inside = self.value(node.iter)
                for _ in range(2):  # what a turn leaves behind is there in the next
                    self.assign(node.target, elements(inside), node.iter)
                    self.either(node.body, [])
                self.block(node.orelse)
            case ast.While():
                for _ in range(2):
                    self.value(node.test)
                    self.either(node.body, [])
                self.block(node.orelse)
            case ast.Return() if node.value is not None:
                self.returned |= self.value(node.value)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.value(child) if isinstance(child, ast.expr) else None

    def either(self, one: list[ast.stmt], other: list[ast.stmt]) -> None:
        """After two ways through, a name stands for what either has made of it."""
        before = dict(self.names)
        self.block(one)
        after, self.names = self.names, dict(before)
        self.block(other)
        for name in set(after) | set(self.names):
            self.names[name] = after.get(name, NOWHERE) | self.names.get(name, NOWHERE)

    def assign(self, target: ast.expr, value: Places, source: ast.expr) -> None:
        match target:
            case ast.Name():
                self.names[target.id] = value
            case ast.Tuple() | ast.List():
                parts = source.elts if isinstance(source, ast.Tuple) and len(source.elts) == len(target.elts) else None
                for k, element in enumerate(target.elts):
                    self.assign(element, self.value(parts[k]) if parts else NOWHERE, source)
            case ast.Attribute() | ast.Subscript():
                places = self.value(target.value)
                if isinstance(target, ast.Attribute):
                    self.field(places, target)
                written = next((place for place in places if place.owner == UNIT), None)
                if written is not None:
                    raise PolicyError(
                        f"{self.where(target)} writes to {written.words}, a record of the machine; a policy writes to its own "
                        "state alone, and asks the machine through the functions of simtlab.policies.hook"
                    )

    def value(self, node: ast.expr) -> Places:
        """What parts of records an expression may stand for."""
        match node:
            case ast.Name():
                return self.names.get(node.id, NOWHERE)
            case ast.Attribute():
                return self.field(self.value(node.value), node)
            case ast.Subscript():
                self.value(node.slice)
                indices = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
                return elements(self.value(node.value), 0 if isinstance(node.slice, ast.Slice) else indices)
            case ast.IfExp():
                self.value(node.test)
                return self.value(node.body) | self.value(node.orelse)
            case ast.Call():
                return self.call(node)
            case ast.Lambda():
                return NOWHERE
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return NOWHERE

    def field(self, places: Places, node: ast.Attribute) -> Places:
        """The field of a record; that of an array is one of NumPy's own, such as `size`."""
        records = [place for place in places if place.dims == 0 and place.dtype.names is not None]
        found = [place for place in records if node.attr in (place.dtype.names or ())]
        if records and not found:
            names = list(records[0].dtype.names or ())
            near = get_close_matches(node.attr, names, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; it has: {', '.join(names)}" if len(names) <= 24 else ""
            raise PolicyError(f"{self.where(node)}: {records[0].words} has no field '{node.attr}'{hint}")
        return frozenset(part_of(place, node.attr) for place in found)

    def call(self, node: ast.Call) -> Places:
        """A function of the policy's own is read with what it is given; simtlab's may do what they do."""
        given = [self.value(argument) for argument in node.args]
        for keyword in node.keywords:
            self.value(keyword.value)
        if not isinstance(node.func, ast.Name):
            return self.value(node.func) and NOWHERE
        called: Any = vars(inspect.getmodule(self.function) or object).get(node.func.id)
        called = getattr(called, "py_func", called)
        if not inspect.isfunction(called) or called.__module__.startswith("simtlab."):
            return NOWHERE
        key = called, tuple(given)
        if key in self.read_before or not any(given):
            return NOWHERE
        self.read_before.add(key)
        return Reader(self.policy, called, self.read_before).read(given)

    def where(self, node: ast.expr) -> str:
        file = Path(inspect.getsourcefile(self.function) or "?").name
        return f"policy '{self.policy}': {self.function.__name__} ({file}:{self.first + node.lineno - 1})"


def part_of(place: Place, name: str) -> Place:
    assert place.dtype.fields is not None
    inner = place.dtype.fields[name][0]
    words = f"{place.words}.{name}"
    return Place(inner.subdtype[0], len(inner.shape), place.owner, words) if inner.subdtype else Place(inner, 0, place.owner, words)


def elements(places: Places, indices: int = 1) -> Places:
    """What an index finds in arrays: an element, or a row of one with more dimensions."""
    words = "[…]" if indices else ""
    return frozenset(
        Place(place.dtype, place.dims - indices, place.owner, place.words + words) for place in places if place.dims >= indices
    )
