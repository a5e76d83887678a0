"""Stored results as tables: filter them, look at one, compare two, export them.

    import simtlab as sl
    sl.results(where=["workload=BFS", "l1d.ways=8"]).to_pandas()
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from simtlab.lab.errors import StoreError, StudyError
from simtlab.lab.machines import read_slot
from simtlab.lab.record import Record
from simtlab.lab.store.conditions import Condition, Filter, parse_condition
from simtlab.lab.store.reader import COLUMNS, Reader, latest_by_choices
from simtlab.lab.store.result import Result
from simtlab.lab.store.store import PLAIN_COLUMNS, Store, default_store

if TYPE_CHECKING:
    import pandas as pd

Versions = Literal["latest", "all", "old"]  # of results under the same names: the last one asked for, or the others too
SHOWN_COLUMNS = ("workload", "size", "gpu", "cycles", "instructions", "ipc", "l1_miss_rate", "seconds", "finished")  # in a notebook
MOST_ROWS = 50
LAST_COLUMNS = ("seconds", "host", "finished", "version", "sources")


@dataclass(frozen=True)
class Results:
    """Results of a store that fulfil all conditions, in the order they were stored. Every look reads the store anew.

    Of results with the same choices, made by different code (a policy's file that was edited, a program, simtlab itself), the
    latest is given: the last that a sweep asked for. With `versions` "all" the older ones are too, with "old" they alone.
    What is damaged in the store is left out, with a StoreWarning.
    """

    store: str | PathLike | None = None
    conditions: Sequence[Condition] = field(default_factory=tuple)
    keys: frozenset[str] | None = None  # only these, and all of these, where given
    versions: Versions = "latest"

    def where(self, *conditions: str) -> Results:
        """Those of these results that fulfil more conditions: `.where("workload=BFS", "ipc>2")`."""
        return replace(self, conditions=[*self.conditions, *map(parse_condition, conditions)])

    def _repr_html_(self) -> str:
        """How they look in a notebook: a row each, the main figures."""
        from simtlab.host.notebook import facts

        table = self.to_pandas()
        shown = [name for name in SHOWN_COLUMNS if name in table.columns]
        return table[shown].to_html(index=False, max_rows=MOST_ROWS) if len(table) else facts([("results", "none")])

    def __iter__(self) -> Iterator[Result]:
        """One result after another; a condition on something that no result has is an error."""
        in_sql = [c for c in self.conditions if c.operator == "=" and c.name in PLAIN_COLUMNS and isinstance(c.value, str)]
        demands = " AND ".join(f"{c.name} = ? COLLATE NOCASE" for c in in_sql)
        filter = Filter([c for c in self.conditions if c not in in_sql])
        with Store(self.store, write=False) as store:
            wanted, reader = self._wanted(store), Reader(store, self.store)
            for number, *row in store.result_rows(COLUMNS, demands, tuple(c.value for c in in_sql)):
                if (wanted is not None and number not in wanted) or (self.keys is not None and row[0] not in self.keys):
                    continue
                result = reader.result(row)
                if result is not None and filter.passes(result):
                    yield result
            reader.warn()
        filter.refuse_nonsense()

    def _wanted(self, store: Store) -> set[int] | None:
        """The numbers of the results that the versions leave; None if that is all."""
        if self.versions == "all" or self.keys is not None:
            return None
        latest, numbers = latest_by_choices(store)
        return set(latest) if self.versions == "latest" else numbers - set(latest)

    def older(self) -> int:
        """How many results these are the latest of: those that `versions="old"` gives."""
        return len(replace(self, versions="old"))

    def delete(self) -> int:
        """Remove these results from the store; how many they were. The next sweep that needs them runs them again."""
        keys = [result.key for result in self]
        with Store(self.store) as store:
            return store.forget(keys)

    def one(self, key: str) -> Result:
        """The result whose key begins so."""
        found = [result for result in replace(self, versions="all") if result.key.startswith(key)]
        if len(found) == 1:
            return found[0]
        path = self.store or default_store()
        if not found:
            raise StoreError(f"no result in {path} has a key that begins with '{key}'; `simtlab results` lists them")
        raise StoreError(f"{len(found)} results in {path} have keys that begin with '{key}'; give more of it")

    def record(self, key: str) -> Record:
        """One result with its tables."""
        return self.record_of(self.one(key))

    def record_of(self, result: Result, tables: Mapping[str, bytes] | None = None) -> Record:
        """A result with its tables, or with others."""
        question = "SELECT tables.name, data FROM tables JOIN results ON result = id WHERE key = ?"
        if tables is None:
            with Store(self.store, write=False) as store:
                tables = dict(store.rows(question, (result.key,)))
        plain = {name: value for name, value in result.plain.items() if name not in ("cycles", "instructions", "ipc")}
        return Record(**plain, inputs=result.inputs, changes=result.changes, policies=result.policies, machine=result.machine,
                      counters=result.counters, occupancy=result.occupancy, tables=tables)  # fmt: skip

    def meanings(self) -> dict[str, tuple[str, str]]:
        """Units and meanings of the counters."""
        with Store(self.store, write=False) as store:
            return store.meanings()

    def best(self, slot: str) -> dict[str, str]:
        """For each workload, the policy of a slot with which it took the fewest cycles, as it is chosen: "static,ctas=2".

        All else should be the same in these results. Of policies that took equally long it is the first by the alphabet.
        """
        try:
            slot = read_slot(slot)
        except ValueError as problem:
            raise StudyError(str(problem)) from None
        found: dict[str, tuple[int, str]] = {}
        for result in self:
            name, this = str(result.value("workload")), (int(result.value("cycles")), str(result.value(slot)))
            found[name] = min(found.get(name, this), this)
        return {name: policy for name, (_, policy) in found.items()}

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
    sources = dict.fromkeys(name for result in found for name in result.sources)
    return list(dict.fromkeys(["key", *choices, *main, *counters, *LAST_COLUMNS, *sources]))


def as_cell(value: Any) -> Any:
    """A value that a table can hold: lists and the like as JSON."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def results(store: str | PathLike | None = None, where: Sequence[str] = (), versions: Versions = "latest") -> Results:
    """The results of a store (the user's, if none is named) that fulfil conditions such as "workload=BFS"."""
    if versions not in get_args(Versions):
        raise StudyError(f"versions is {versions!r}; it must be one of {', '.join(get_args(Versions))}")
    return Results(Path(store) if store is not None else None, versions=versions).where(*where)
