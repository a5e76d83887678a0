"""What a figure shows, as numbers: bars by program, stacked bars, lines along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any, Literal, get_args

from simtlab.lab.store.result import Result

Number = float | None  # None where there is no result
Kind = Literal["bars", "stacked", "lines"]


@dataclass(frozen=True)
class Chart:
    """Values by series and by group: a mechanism's bars, program by program; or a line's points, step by step.

    `means` are names of more groups, each the mean over some of the others: {"mean": PROGRAMS}; `geometric` are those that are
    geometric whatever `mean` says.
    """

    groups: Sequence[str]
    series: Mapping[str, Sequence[Number]]
    label: str  # of the values, with their unit
    kind: Kind = "bars"
    group_label: str = ""
    means: Mapping[str, Sequence[str]] = field(default_factory=dict)
    geometric: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mean: Literal["geometric", "arithmetic"] = "arithmetic"
    base: float | None = None  # a line across: what 1.0 stands for in normalised values
    form: str = ".3g"  # how a value is written
    notes: Mapping[str, str] = field(default_factory=dict)  # by group, to stand under its name
    notes_label: str = ""

    def value(self, series: str, group: str) -> Number:
        """One value, or one mean; None where there is none."""
        for groups, kind in ((self.means, self.mean), (self.geometric, "geometric")):
            if group in groups:
                return mean([self.value(series, member) for member in groups[group]], kind)
        return self.series[series][list(self.groups).index(group)]

    def problem(self) -> str:
        """What does not fit together; empty if all does."""
        for name, values in self.series.items():
            if len(values) != len(self.groups):
                return f"the series '{name}' has {len(values)} values for {len(self.groups)} groups"
        if not self.series or not self.groups:
            return "the chart has no series or no groups"
        members = [member for groups in (self.means, self.geometric) for those in groups.values() for member in those]
        strangers = [member for member in members if member not in self.all_groups()]
        if strangers:
            return f"a mean is over '{strangers[0]}', which is no group; the groups are {', '.join(self.groups)}"
        if self.kind not in get_args(Kind):
            return f"the chart's kind is {self.kind!r}; it must be one of {', '.join(get_args(Kind))}"
        return ""

    def all_groups(self) -> list[str]:
        """Groups and means."""
        return [*self.groups, *self.means, *self.geometric]

    def values(self, series: str) -> list[Number]:
        """A series over all groups, means at the end."""
        return [self.value(series, group) for group in self.all_groups()]

    def written(self, value: Number) -> str:
        return "–" if value is None else format(value, self.form)

    def as_json(self) -> dict[str, Any]:
        values = {name: self.values(name) for name in self.series}
        notes = {"notes": dict(self.notes), "notes_label": self.notes_label} if self.notes else {}
        means = [*self.means, *self.geometric]
        return {"kind": self.kind, "label": self.label, "groups": self.all_groups(), "means": means, "values": values, **notes}


def mean(values: Sequence[Number], kind: str) -> Number:
    """Over the values there are; none where one is missing, for a mean over the rest would be of something else."""
    if not values or any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not None]
    if kind == "arithmetic":
        return sum(numbers) / len(numbers)
    return exp(sum(map(log, numbers)) / len(numbers)) if min(numbers) > 0 else None


def over(above: Number, below: Number) -> Number:
    """A quotient, where there is one."""
    return above / below if above is not None and below else None


Choice = str | Callable[[Result], Any]  # a name as `simtlab results --where` has it, or a function of the result


def tabulate(
    results: Iterable[Result], group: Choice, series: Choice, value: Choice, groups: Sequence[Any], names: Sequence[Any]
) -> dict[str, list[Number]]:
    """Values of results by two of their choices: `tabulate(found, "workload", "warp_scheduler", "ipc", PROGRAMS, SCHEDULERS)`."""
    found = {(str(_of(result, series)), str(_of(result, group))): _of(result, value) for result in results}
    return {str(name): [found.get((str(name), str(one))) for one in groups] for name in names}


def _of(result: Result, choice: Choice) -> Any:
    return result.value(choice) if isinstance(choice, str) else choice(result)


def normalised(series: Mapping[str, Sequence[Number]], to: str) -> dict[str, list[Number]]:
    """Every series as a multiple of one of them, group by group."""
    return {
        name: [over(a, b) for a, b in zip(values, series[to], strict=True)]
        for name, values in series.items()
    }


def speedups(cycles: Mapping[str, Sequence[Number]]) -> dict[str, list[Number]]:
    """How much faster each step of a series is than its first."""
    return {name: [row[0] / one if row[0] and one else None for one in row] for name, row in cycles.items()}
