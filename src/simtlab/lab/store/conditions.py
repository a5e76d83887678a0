"""Conditions on results, as `--where workload=BFS` and `--where 'ipc>=2'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from simtlab.lab.errors import StudyError

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "=": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
FORM = re.compile(r"\s*([\w.-]+)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*")


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
    if not match or not match[3]:
        raise StudyError(f"bad condition '{text}': it must be a name, a comparison and a value, for example workload=BFS or ipc>=2")
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


def refuse_unknown(name: str, known: Sequence[str]) -> NoReturn:
    """No result has this; say what is near."""
    near = get_close_matches(name, known, 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "try workload, size, gpu, a slot, a machine's key, or a counter"
    raise StudyError(f"no result has anything called '{name}'; {hint}")
