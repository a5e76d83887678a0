"""Rows of a store as results. One that is damaged is left out and told of; the others are read all the same."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from simtlab.lab.errors import StoreWarning
from simtlab.lab.store.damage import is_damage
from simtlab.lab.store.result import Result
from simtlab.lab.store.store import JSON_COLUMNS, PLAIN_COLUMNS, TEXT_COLUMNS, Store

NAMES = (*PLAIN_COLUMNS, *JSON_COLUMNS)
COLUMNS = f"{', '.join(NAMES)}, machine"
IDENTITY = ("workload", "size", "gpu")  # choices that are columns
DAMAGE = (ValueError, TypeError, KeyError, AttributeError)  # what reading a damaged text raises
MOST_NAMED = 5  # keys in a warning


class Reader:
    """Makes results of rows, reads each machine once, and remembers what was damaged."""

    def __init__(self, store: Store, path: str | PathLike | None):
        self.store, self.path = store, path
        self._machines: dict[str, Mapping[str, Any] | None] = {}  # by digest; None if its values are damaged
        self._damaged: list[str] = []

    def result(self, row: Sequence[Any]) -> Result | None:
        """The result of a row, or None if the row is damaged."""
        values = dict(zip((*NAMES, "machine"), row, strict=True))
        try:
            parsed = {name: json.loads(values[name]) for name in JSON_COLUMNS}
            plain = {name: values[name] for name in PLAIN_COLUMNS}
            whole = all(isinstance(parsed[name], list if name == "occupancy" else dict) for name in JSON_COLUMNS)
            if not whole or not all(isinstance(plain[name], str) for name in TEXT_COLUMNS):
                raise ValueError("a value is of another kind")
            machine = self._machine(values["machine"]) or {"name": plain["gpu"], **parsed["changes"]}
            result = Result(plain, **parsed, machine=machine, store=self.path)
            result.names()  # everything that is asked for by name is there
        except DAMAGE:
            self._damaged.append(_shown(values["key"]))
            return None
        return result

    def _machine(self, digest: str) -> Mapping[str, Any] | None:
        if digest not in self._machines:
            self._machines[digest] = self._read_machine(digest)
        return self._machines[digest]

    def _read_machine(self, digest: str) -> Mapping[str, Any] | None:
        try:
            found = self.store.connection.execute("SELECT config FROM machines WHERE digest = ?", (digest,)).fetchone()
            values = json.loads(found[0])
            return values if isinstance(values, dict) else None
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        except DAMAGE:
            pass
        return None

    def warn(self) -> None:
        """Say what could not be read, once all has been."""
        path = self.store.path
        if self._damaged:
            told = f"the store {path} has {_count(self._damaged)} damaged and left out: {_named(self._damaged)}"
            warnings.warn(StoreWarning(f"{told}. `simtlab results KEY --delete` removes one, and the next sweep runs it again"),
                          stacklevel=3)  # fmt: skip
        lost = [key or f"number {number}" for number, key in self.store.unreadable.items()]
        if lost or self.store.ends_at is not None:
            count = _count(lost) if self.store.ends_at is None else "results"
            named = [_named(lost)] if lost else []
            named += [f"all after number {self.store.ends_at}, however many"] if self.store.ends_at is not None else []
            told = f"the store {path} has damaged pages, {count} lost and left out: {' and '.join(named)}"
            more = f"`simtlab results --store {path} --salvage new.sqlite` copies the others to a new store"
            warnings.warn(StoreWarning(f"{told}. {more}"), stacklevel=3)
        machines = [digest for digest, values in self._machines.items() if values is None]
        if machines:
            told = f"the store {path} has lost the values of {len(machines)} machine{'s' * (len(machines) > 1)}"
            warnings.warn(StoreWarning(f"{told}: of results on it only the changed keys are known"), stacklevel=3)


def _count(keys: Sequence[str]) -> str:
    return f"{len(keys)} result{'s' * (len(keys) > 1)}"


def _named(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    return ", ".join(keys[:MOST_NAMED]) + more


def _shown(key: str | bytes) -> str:
    return key if isinstance(key, str) else repr(key)


def latest_by_choices(store: Store) -> tuple[list[int], set[int]]:
    """The numbers of the results that are the latest of their choices, and of all results."""
    latest: dict[str, tuple[Any, int]] = {}
    numbers = set()
    columns = ", ".join((*IDENTITY, "inputs", "changes", "policies", store.order))
    for number, workload, size, gpu, inputs, changes, policies, *asked in store.result_rows(columns):
        numbers.add(number)
        try:
            plain = {"workload": workload, "size": size, "gpu": gpu}
            result = Result(plain, json.loads(inputs), json.loads(changes), json.loads(policies), {}, [], {})
            choices = json.dumps(result.choices, sort_keys=True)
        except DAMAGE:
            choices = f"damaged {number}"  # told when it is read
        latest[choices] = max(latest.get(choices, (asked, number)), (asked, number))
    return [number for _, number in latest.values()], numbers
