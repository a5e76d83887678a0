"""Two results side by side: what differs in how they were made, and what that did to every counter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simtlab.lab.store.result import Result

DERIVED = ("cycles", "instructions", "ipc", "launches")


@dataclass(frozen=True)
class Comparison:
    """Results A and B."""

    a: Result
    b: Result

    def changed(self) -> list[tuple[str, Any, Any]]:
        """Choices, keys of the machine and inputs in which the two differ; also code, if it changed in between."""
        pairs: dict[str, tuple[Any, Any]] = {}
        for name in dict.fromkeys([*self.a.choices, *self.b.choices]):
            pairs[name] = self.a.value(name), self.b.value(name)
        for name in dict.fromkeys([*self.a.machine, *self.b.machine]):
            if name != "name":
                pairs[name] = self.a.machine.get(name), self.b.machine.get(name)
        for name in dict.fromkeys([*self.a.sources, *self.b.sources]):
            pairs["simtlab's sources" if name == "sources" else name] = self.a.value(name), self.b.value(name)
        return [(name, a, b) for name, (a, b) in pairs.items() if a != b]

    def counters(self) -> list[tuple[str, Any, Any, float | None]]:
        """Every figure of the two, and B's as a multiple of A's where there is one."""
        rows = []
        for name in dict.fromkeys([*DERIVED, *self.a.counters, *self.b.counters]):
            a, b = self.a.value(name), self.b.value(name)
            rows.append((name, a, b, b / a if a and b is not None else None))
        return rows

    def as_json(self, meanings: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
        explained = {name: {"unit": meanings[name][0], "meaning": meanings[name][1]} for name in meanings}
        return {
            "a": self.a.key,
            "b": self.b.key,
            "changed": [{"what": name, "a": a, "b": b} for name, a, b in self.changed()],
            "counters": [{"name": name, "a": a, "b": b, "ratio": ratio, **explained.get(name, {})}
                         for name, a, b, ratio in self.counters()],
        }  # fmt: skip
