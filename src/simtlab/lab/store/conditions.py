"""Conditions on results, as `--where workload=BFS` and `--where 'ipc>=2'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from simtlab.lab.errors import StudyError

if TYPE_CHECKING:
    from simtlab.lab.store.result import Result

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "=": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
FORM = re.compile(r"\s*([\w.-]+)\s*(<=|>=|!=|=|<|>)\s*([^<>=!\s].*?)\s*")


@dataclass(frozen=True)
class Condition:
    """A name, a comparison and a value."""

    name: str
    operator: str
    value: str | float | bool

    def holds(self, found: Any) -> bool:
        """Whether a result's value fulfils it. Texts are compared without regard to case; a policy also by its bare name."""
        if found is None:
            return False
        wanted: Any = self.value
        if isinstance(found, str):
            equal = str(wanted).lower() in (found.lower(), found.lower().partition(",")[0])
            if self.operator in ("=", "!="):
                return equal is (self.operator == "=")
            return OPERATORS[self.operator](found, str(wanted))
        if isinstance(found, list | dict) or isinstance(wanted, str):
            return self.operator == "!="
        return OPERATORS[self.operator](found, wanted)


def parse_condition(text: str) -> Condition:
    """`l1d.ways=8` as a condition; a StudyError says what is wrong."""
    match = FORM.fullmatch(text)
    if not match:
        raise StudyError(f"bad condition '{text}': it must be a name, a comparison ({', '.join(OPERATORS)}) and a value, "
                         "for example workload=BFS or ipc>=2")  # fmt: skip
    return Condition(match[1], match[2], _value(match[3], match[1]))


def _value(text: str, name: str) -> str | float | bool:
    if name == "key":
        return text  # may consist of digits alone
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


class Filter:
    """Conditions that all must hold, and whether each of them can for any result: one that never can is a mistake."""

    def __init__(self, conditions: Sequence[Condition]):
        self.conditions = conditions
        self._unknown = {condition.name for condition in conditions}
        self._texts = {condition.name: condition for condition in conditions if isinstance(condition.value, str)}
        self._sample: Result | None = None

    def passes(self, result: Result) -> bool:
        self._sample = result
        for name in [*self._unknown, *self._texts]:
            value = result.value(name)
            if value is not None:
                self._unknown.discard(name)
            if not isinstance(value, int | float | None):
                self._texts.pop(name, None)
        return all(condition.holds(result.value(condition.name)) for condition in self.conditions)

    def refuse_nonsense(self) -> None:
        """After all results: a condition on what none of them has, or one that compares a number with a text."""
        if self._sample is None:
            return
        if self._unknown:
            refuse_unknown(min(self._unknown), self._sample.names())
        for name, condition in self._texts.items():
            raise StudyError(f"bad condition '{name}{condition.operator}{condition.value}': {name} is a number, and "
                             f"'{condition.value}' is none; for example {name}{condition.operator}2")  # fmt: skip


def refuse_unknown(name: str, known: Sequence[str]) -> NoReturn:
    """No result has this; say what is near."""
    near = get_close_matches(name, known, 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "try workload, size, gpu, a slot, a machine's key, or a counter"
    raise StudyError(f"no result has anything called '{name}'; {hint}")
