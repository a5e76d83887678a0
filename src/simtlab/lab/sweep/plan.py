"""What a sweep has before it: how many experiments, how many of them stored, how long the rest may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from simtlab.lab.experiment import key_of
from simtlab.lab.ingredients import Look
from simtlab.lab.store.store import Store
from simtlab.lab.sweep.sweep import Experiments

NOTED_AT_ONCE = 1000  # results, in one transaction


@dataclass(frozen=True)
class Plan:
    """A sweep's experiments counted; `seconds` is what the missing ones may take on one process, None if nobody can tell."""

    total: int
    stored: int
    seconds: float | None
    unknown: int = 0  # missing experiments that no earlier result says anything about

    @property
    def missing(self) -> int:
        return self.total - self.stored


def make_plan(sweep: Experiments, store: Store, begin: bool = False) -> Plan:
    """Look every experiment up. An error if one of them cannot be.

    If the sweep begins with it, the results that are stored already are noted as asked for, as if they had been run now.
    """
    total, stored, missing, look = 0, 0, Counter[tuple[str, str]](), Look()
    asked: list[str] = []
    for experiment in sweep.experiments():
        total += 1
        ingredients = experiment.ingredients(look)
        key = key_of(ingredients)
        if store.has(key):
            stored += 1
            asked.append(key)
        else:
            missing[ingredients["workload"]["name"], experiment.size] += 1
        if begin and len(asked) >= NOTED_AT_ONCE:
            store.ask(asked)
            asked = []
    if begin and asked:
        store.ask(asked)
    return Plan(total, stored, *estimate(missing, store))


def estimate(missing: Mapping[tuple[str, str], int], store: Store) -> tuple[float | None, int]:
    """Seconds for so many runs of workloads at sizes, by earlier runs of the same or by their known lengths."""
    from simtlab.workloads.measured import stored as measured

    rate, seconds, unknown = store.seconds_per_instruction(), 0.0, 0
    for (workload, size), count in missing.items():
        each = store.mean_seconds(workload, size)
        known = measured().get(workload, {}).get(size)
        if each is None and rate is not None and known is not None:
            each = rate * known.instructions
        if each is None:
            unknown += count
        else:
            seconds += each * count
    return (None if missing and unknown == sum(missing.values()) else seconds), unknown
