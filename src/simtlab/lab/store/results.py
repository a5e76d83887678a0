"""Stored results as tables: filter them, look at one, compare two, export them.

    import simtlab as sl
    sl.results(where=["workload=BFS", "l1d.ways=8"]).to_pandas()
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.lab.errors import StoreError
from simtlab.lab.record import Record, unpack
from simtlab.lab.store.conditions import Condition, parse_condition, refuse_unknown
from simtlab.lab.store.store import JSON_COLUMNS, PLAIN_COLUMNS, Store, default_store
from simtlab.machine.hooks import SLOTS

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (*PLAIN_COLUMNS, *JSON_COLUMNS)
QUESTION = f"SELECT {', '.join('results.' + name for name in COLUMNS)}, config FROM results JOIN machines ON machine = digest"
LAST_COLUMNS = ("seconds", "host", "finished", "version", "sources")


@dataclass(frozen=True)
class Result:
    """A stored result; its tables are read when they are asked for."""

    plain: Mapping[str, Any]  # key, workload, size, gpu, cycles, …
    inputs: Mapping[str, Any]
    changes: Mapping[str, Any]
    policies: Mapping[str, Any]
    counters: Mapping[str, int | float]
    occupancy: Sequence[Mapping[str, Any]]
    machine: Mapping[str, Any]
    store: str | PathLike | None = field(default=None, compare=False, repr=False)  # where its tables are

    @property
    def key(self) -> str:
        return self.plain["key"]

    @property
    def choices(self) -> dict[str, Any]:
        """What was chosen: workload, size, machine, policies, changed keys, the workload's parameters."""
        found = {name: self.plain[name] for name in ("workload", "size", "gpu")}
        found |= {slot: policy["label"] for slot, policy in self.policies.items()}
        found |= dict(self.changes)
        return found | {"seed": self.inputs["seed"], **self.inputs["parameters"], **self.inputs["files"]}

    def table(self, name: str) -> dict[str, list[Any]]:
        """The columns of one of its tables: `launches`, `instructions` or `intervals`. Every look reads the store."""
        question = "SELECT data FROM tables JOIN results ON result = id WHERE key = ? AND tables.name = ?"
        with Store(self.store, write=False) as store:
            for (data,) in store.rows(question, (self.key, name)):
                return unpack(data)
        raise StoreError(f"the result {self.key} has no table '{name}'")

    def value(self, name: str) -> Any:
        """Anything of the result by its name: a column, a policy, a machine's key, a counter; None if it has no such thing."""
        if name in self.plain:
            return self.plain[name]
        if name in self.policies:
            return self.policies[name]["label"]
        if name in SLOTS:
            return "none"
        slot, _, parameter = name.partition(".")
        if slot in self.policies and parameter in self.policies[slot]["parameters"]:
            return self.policies[slot]["parameters"][parameter]
        for group in (self.machine, self.counters, self.inputs["parameters"], self.inputs["files"]):
            if name in group:
                return group[name]
        return self.inputs["seed"] if name == "seed" else None

    def names(self) -> list[str]:
        """Everything `value` knows."""
        parameters = [f"{slot}.{name}" for slot, policy in self.policies.items() for name in policy["parameters"]]
        return [*self.plain, "seed", *self.policies, *parameters, *self.machine, *self.counters, *self.inputs["parameters"],
                *self.inputs["files"]]  # fmt: skip


@dataclass(frozen=True)
class Results:
    """Results of a store that fulfil all conditions, in the order they were stored. Every look reads the store anew."""

    store: str | PathLike | None = None
    conditions: Sequence[Condition] = field(default_factory=tuple)
    keys: frozenset[str] | None = None  # only these, where given

    def where(self, *conditions: str) -> Results:
        """Those of these results that fulfil more conditions: `.where("workload=BFS", "ipc>2")`."""
        return Results(self.store, [*self.conditions, *map(parse_condition, conditions)], self.keys)

    def __iter__(self) -> Iterator[Result]:
        """One result after another; a condition on something that no result has is an error."""
        in_sql = [c for c in self.conditions if c.operator == "=" and c.name in PLAIN_COLUMNS and isinstance(c.value, str)]
        demands = " AND ".join(f"results.{c.name} = ? COLLATE NOCASE" for c in in_sql)
        question = f"{QUESTION} WHERE {demands}" if demands else QUESTION
        rest = [c for c in self.conditions if c not in in_sql]
        unknown = {c.name for c in rest}
        sample = None
        with Store(self.store, write=False) as store:
            for row in store.rows(question + " ORDER BY id", tuple(c.value for c in in_sql)):
                if self.keys is not None and row[0] not in self.keys:
                    continue
                sample = result = _result(row, self.store)
                unknown -= {name for name in unknown if result.value(name) is not None}
                if all(condition.holds(result.value(condition.name)) for condition in rest):
                    yield result
        if sample is not None and unknown:
            refuse_unknown(min(unknown), sample.names())

    def one(self, key: str) -> Result:
        """The result whose key begins so."""
        found = [result for result in self if result.key.startswith(key)]
        if len(found) == 1:
            return found[0]
        path = self.store or default_store()
        if not found:
            raise StoreError(f"no result in {path} has a key that begins with '{key}'; `simtlab results` lists them")
        raise StoreError(f"{len(found)} results in {path} have keys that begin with '{key}'; give more of it")

    def record(self, key: str) -> Record:
        """One result with its tables."""
        result = self.one(key)
        question = "SELECT tables.name, data FROM tables JOIN results ON result = id WHERE key = ?"
        with Store(self.store, write=False) as store:
            tables = dict(store.rows(question, (result.key,)))
        plain = {name: value for name, value in result.plain.items() if name not in ("cycles", "instructions", "ipc")}
        return Record(**plain, inputs=result.inputs, changes=result.changes, policies=result.policies, machine=result.machine,
                      counters=result.counters, occupancy=result.occupancy, tables=tables)  # fmt: skip

    def meanings(self) -> dict[str, tuple[str, str]]:
        """Units and meanings of the counters."""
        with Store(self.store, write=False) as store:
            return store.meanings()

    def to_pandas(self) -> pd.DataFrame:
        """A row for each result: what was chosen, what was counted. A key that some results changed is a column of all."""
        import pandas as pd

        found = list(self)
        names = column_names(found)
        return pd.DataFrame([{name: as_cell(result.value(name)) for name in names} for result in found], columns=names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def column_names(found: Sequence[Result]) -> list[str]:
    """Columns for these results together: identity, choices, the main figures, all counters, and where they come from."""
    choices = dict.fromkeys(name for result in found for name in result.choices)
    counters = dict.fromkeys(name for result in found for name in result.counters)
    main = ("cycles", "instructions", "ipc", "launches")
    return list(dict.fromkeys(["key", *choices, *main, *counters, *LAST_COLUMNS]))


def as_cell(value: Any) -> Any:
    """A value that a table can hold: lists and the like as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _result(row: Sequence[Any], store: str | PathLike | None) -> Result:
    values = dict(zip((*COLUMNS, "config"), row, strict=True))
    parsed = {name: json.loads(values[name]) for name in JSON_COLUMNS}
    return Result({name: values[name] for name in PLAIN_COLUMNS}, **parsed, machine=json.loads(values["config"]), store=store)


def results(store: str | PathLike | None = None, where: Sequence[str] = ()) -> Results:
    """The results of a store (the user's, if none is named) that fulfil conditions such as "workload=BFS"."""
    return Results(Path(store) if store is not None else None).where(*where)
