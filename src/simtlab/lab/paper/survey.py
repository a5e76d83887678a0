"""Surveys: mechanisms side by side on kinds of programs, each over one baseline, and who wins where, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simtlab.lab.ingredients import policy_values
from simtlab.lab.machines import BASELINE, NO_PROFILE
from simtlab.lab.paper.charts import Chart, Number, over
from simtlab.lab.paper.study import Setting
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep
from simtlab.policies.choice import read_choice

Policies = Mapping[str, str]  # what is in each slot, as `--policy` has it
Keys = Mapping[str, Any]  # of the machine, changed
Value = str | Callable[[Result], Number]
CLEAR = 0.01  # what is less apart than this is not told apart
ALL = "all"
NOTHING: Policies = {}  # beside the baseline's
NO_KEYS: Keys = {}


@dataclass(frozen=True)
class Survey:
    """Programs by kind, each with the reason why it is of that kind, and the policies that mechanisms are added to."""

    kinds: Mapping[str, Mapping[str, str]]
    base: Policies = field(default_factory=dict)
    profiled: Sequence[str] = ()  # mechanisms that are given the profile of a run of the program without them

    @property
    def programs(self) -> list[str]:
        return [name for programs in self.kinds.values() for name in programs]

    @property
    def means(self) -> dict[str, list[str]]:
        """The programs of each kind, and all of them."""
        several = {ALL: self.programs} if len(self.kinds) > 1 else {}
        return {kind: list(programs) for kind, programs in self.kinds.items()} | several

    def only(self, *kinds: str) -> Survey:
        return Survey({kind: self.kinds[kind] for kind in kinds}, self.base, self.profiled)

    def runs(self, *families: Mapping[str, Policies], keys: Keys = NO_KEYS) -> Callable[[Setting], list[Sweep]]:
        """The programs under every mechanism of some families, and under the baseline."""
        chosen = [{}, *(policies for family in families for policies in family.values())]
        return lambda setting: [
            Sweep(self.programs, setting.size, setting.gpu, {**self.base, **policies}, keys, profile=self.profile(policies))
            for policies in chosen
        ]

    def profile(self, policies: Policies) -> str:
        return BASELINE if any(read_choice(text).name in self.profiled for text in policies.values()) else NO_PROFILE

    def of(self, found: Sequence[Result], policies: Policies, keys: Keys = NO_KEYS) -> dict[str, Result]:
        """The results with these policies beside the baseline's, and with no others, by program."""
        wanted = {slot: label_of(slot, text) for slot, text in {**self.base, **policies}.items()}
        return {
            str(one.value("workload")): one for one in found
            if dict(one.changes) == dict(keys) and labels_of(one, wanted) == wanted
        }  # fmt: skip

    def values(self, found: Sequence[Result], policies: Policies, value: Value = "cycles", keys: Keys = NO_KEYS) -> list[Number]:
        those = self.of(found, policies, keys)
        return [value_of(those[name], value) if name in those else None for name in self.programs]

    def gain(
        self, found: Sequence[Result], policies: Policies, base: Policies = NOTHING, value: Value = "cycles", keys: Keys = NO_KEYS
    ) -> list[Number]:
        """How many times fewer cycles (or less time, or energy) a program takes with a mechanism than with another, or none."""
        before, after = self.values(found, base, value, keys), self.values(found, policies, value, keys)
        return [over(a, b) for a, b in zip(before, after, strict=True)]

    def best(self, found: Sequence[Result], family: Mapping[str, Policies]) -> list[Number]:
        """The fewest cycles of each program under any mechanism of a family; none where one of them is missing."""
        rows = zip(*(self.values(found, policies) for policies in family.values()), strict=True)
        return [None if None in row else min(one for one in row if one is not None) for row in rows]

    def chart(self, series: Mapping[str, Sequence[Number]], label: str, base: float | None = 1.0) -> Chart:
        """Bars by program, with the geometric mean over each kind."""
        notes = {name: kind for kind, programs in self.kinds.items() for name in programs}
        return Chart(self.programs, series, label, means=self.means, mean="geometric", base=base, notes=notes, notes_label="kind")

    def gains(
        self, label: str, family: Mapping[str, Policies], base: Policies = NOTHING, value: Value = "cycles", keys: Keys = NO_KEYS
    ) -> Callable[[Sequence[Result]], Chart]:
        """A chart of what each mechanism of a family gains."""

        def chart(found: Sequence[Result]) -> Chart:
            return self.chart({name: self.gain(found, one, base, value, keys) for name, one in family.items()}, label)

        return chart

    def reasons(self) -> str:
        """Why each program is in the study, in a sentence each."""
        return " ".join(f"{kind}: " + " ".join(f"{name} {why}." for name, why in programs.items())
                        for kind, programs in self.kinds.items())  # fmt: skip


def label_of(slot: str, text: str) -> str:
    """A policy as results name it; an error if there is no such policy."""
    return policy_values(slot, read_choice(text))["label"]


def labels_of(result: Result, wanted: Mapping[str, str]) -> dict[str, str]:
    """A result's policies, but for those that its machine has by itself and nobody asked for."""
    own = ("warp_scheduler", "cta_dispatch")
    return {slot: policy["label"] for slot, policy in result.policies.items() if slot in wanted or slot not in own}


def value_of(result: Result, value: Value) -> Number:
    return result.value(value) if isinstance(value, str) else value(result)


def joules(result: Result) -> Number:
    """All energy of a run."""
    return sum(value for name, value in result.counters.items() if name.startswith("energy_"))


# Words ----------------------------------------------------------------------------------------------------------------


def who_wins(chart: Chart) -> list[str]:
    """Which series is highest in the mean of each kind and in each program, as the numbers have it."""
    by_kind = [rank(kind, {name: chart.value(name, kind) for name in chart.series}) for kind in chart.means]
    return [" ".join(by_kind), by_program(chart), " ".join(sides(chart, name) for name in chart.series)]


def rank(kind: str, values: Mapping[str, Number]) -> str:
    """A sentence on one kind of programs: who leads, who gains, who loses."""
    known = sorted(((value, name) for name, value in values.items() if value is not None), reverse=True)
    missing = [name for name, value in values.items() if value is None]
    gap = f" Not all programs have run with {listed(missing)}." if missing else ""
    if not known:
        return f"{kind.capitalize()}: not all programs have run."
    highest, leader = known[0]
    if highest < 1 + CLEAR:
        begin = f"{kind.capitalize()}: nothing gains {CLEAR:.0%} or more; {leader} comes out highest with {highest:.3f}"
    else:
        first = [name for value, name in known if value > highest - CLEAR]
        rest = [f"{name} {value:.3f}" for value, name in known if value >= 1 + CLEAR and name not in first]
        begin = f"{kind.capitalize()}: {listed(first)} {'leads' if len(first) == 1 else 'lead'} with {highest:.3f}"
        begin += f", then {', '.join(rest)}" if rest else ", and nothing else gains" if len(known) > len(first) else ""
    lost = [f"{name} {value:.3f}" for value, name in reversed(known) if value <= 1 - CLEAR]
    return f"{begin}{f'; {listed(lost)} lose' + ('s' if len(lost) == 1 else '') if lost else ''}.{gap}"


def by_program(chart: Chart) -> str:
    """The highest of each program, or that none gains."""
    parts = []
    for program in chart.groups:
        values = [(value, name) for name in chart.series if (value := chart.value(name, program)) is not None]
        highest, leader = max(values, default=(None, ""))
        if highest is None:
            parts.append(f"{program} has not run")
        else:
            parts.append(f"{program} {leader} ({highest:.2f})" if highest >= 1 + CLEAR else f"{program} none")
    return f"Highest in each program: {', '.join(parts)}."


def sides(chart: Chart, name: str) -> str:
    """On how many programs a series gains, and on how many it loses."""
    values = [value for program in chart.groups if (value := chart.value(name, program)) is not None]
    gains, losses = sum(value >= 1 + CLEAR for value in values), sum(value <= 1 - CLEAR for value in values)
    return f"{name} gains on {gains} and loses on {losses} of {len(values)}."


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
