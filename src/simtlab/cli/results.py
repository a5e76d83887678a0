"""`simtlab results`: list what a store has, look at one result, compare two, export them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.tables import show_facts, show_table

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.lab.record import Failure
    from simtlab.lab.store.comparison import Comparison
    from simtlab.lab.store.result import Result
    from simtlab.lab.store.results import Results, Versions
    from simtlab.lab.store.salvage import Salvaged

SHORT_KEY = 10
MOST_ROWS = 200  # shown in a list; --json, --export and --where show others


@dataclass(frozen=True)
class Question:
    """What `simtlab results` is asked for."""

    key: str | None = None
    where: Sequence[str] = ()
    store: Path | None = None
    versions: Versions = "latest"
    compare: str | None = None
    table: str | None = None
    failed: bool = False
    export: Path | None = None
    delete: bool = False
    salvage: Path | None = None


def look_up(asked: Question) -> Answer:
    """What `simtlab results` was asked for."""
    from simtlab.lab.store.results import results

    found, key = results(asked.store, asked.where, asked.versions), asked.key
    if key is None and (asked.compare or asked.table):
        option = "compare" if asked.compare else "table"
        raise BadInput(f"--{option} needs a result's key before it; `simtlab results` lists them")
    if asked.failed:
        return list_failures(asked.store)
    if asked.salvage is not None:
        return copy_what_is_left(asked.store, asked.salvage)
    if asked.delete:
        return delete(asked, found)
    if asked.export is not None:
        return write_export(found, asked.export)
    if key is None:
        return ResultList(list(found), found.older() if asked.versions == "latest" else 0)
    if asked.compare is not None:
        from simtlab.lab.store.comparison import Comparison

        return ComparisonAnswer(Comparison(found.one(key), found.one(asked.compare)), found.meanings())
    if asked.table is not None:
        return show_one_table(found, key, asked.table)
    record = found.record(key)
    return OneResult(found.one(key), found.meanings(), sorted(record.tables))


def versions_of(all: bool, old: bool) -> Versions:
    """Which of the results with the same choices the options ask for."""
    if all and old:
        raise BadInput("--all and --old cannot be used together; --all has the old results too")
    return "all" if all else "old" if old else "latest"


def short(key: str) -> str:
    return key[:SHORT_KEY]


def shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class ResultList:
    """Results, a line each."""

    found: Sequence[Result]
    older: int = 0  # that these are the latest of

    def as_json(self) -> dict[str, Any]:
        rows = [{**result.plain, **result.choices, **result.sources} for result in self.found]
        return {"results": rows, "older": self.older}

    def show(self, console: Console) -> None:
        if not self.found:
            console.print("no results")
            return
        self._show_rows(console)
        if self.older:
            are = "s with these names, by earlier code, are" if self.older > 1 else " with these names, by earlier code, is"
            console.print(f"{self.older:,} older result{are} left out: --all lists them too, --old alone", soft_wrap=True)

    def _show_rows(self, console: Console) -> None:
        rows = self.found[-MOST_ROWS:]
        choices = [name for name in dict.fromkeys(n for r in rows for n in r.choices) if self._tells(name, rows)]
        choices += changed_sources(rows)
        header = ["key", *choices, "cycles", "ipc", "seconds"]
        cells = [
            [short(r.key), *(str(r.value(name) if r.value(name) is not None else "") for name in choices),
             f"{r.plain['cycles']:,}", f"{r.plain['ipc']:.3f}", f"{r.plain['seconds']:.2f}"]
            for r in rows
        ]  # fmt: skip
        show_table(console, header, cells, right=range(len(header) - 3, len(header)))
        if len(rows) < len(self.found):
            console.print(f"the last {len(rows)} of {len(self.found):,}; --where and --export show others", soft_wrap=True)

    @staticmethod
    def _tells(name: str, rows: Sequence[Result]) -> bool:
        """Whether a column is worth its place: the first ones always, others where somebody varied them."""
        if name in ("workload", "size", "gpu", "warp_scheduler") or any(name in r.changes for r in rows):
            return True
        if any(name in r.policies for r in rows):
            return len({r.value(name) for r in rows}) > 1
        seen: dict[Any, Any] = {}
        return any(seen.setdefault((r.plain["workload"], r.plain["size"]), r.value(name)) != r.value(name) for r in rows)


def changed_sources(rows: Sequence[Result]) -> list[str]:
    """What code results with the same choices differ in: a policy's, a program's, simtlab's own."""
    first: dict[str, Mapping[str, Any]] = {}
    names = {
        name: None
        for row in rows
        for name, digest in row.sources.items()
        if first.setdefault(str(row.choices), row.sources).get(name) != digest
    }
    return list(names)


@dataclass(frozen=True)
class OneResult:
    """One result with every counter explained."""

    result: Result
    meanings: Mapping[str, tuple[str, str]]
    tables: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        result = self.result
        counters = {
            name: {"value": value, "unit": self.meanings.get(name, ("", ""))[0], "meaning": self.meanings.get(name, ("", ""))[1]}
            for name, value in result.counters.items()
        }
        return {
            **result.plain, "inputs": result.inputs, "set": result.changes, "policies": result.policies,
            "machine": result.machine, "occupancy": result.occupancy, "counters": counters, "tables": list(self.tables),
        }  # fmt: skip

    def show(self, console: Console) -> None:
        facts = [("key", self.result.key), *((name, str(value)) for name, value in self.result.choices.items())]
        facts += [(name, shown(self.result.plain[name])) for name in ("ipc", "launches", "seconds", "host", "finished", "version")]
        facts += [("occupancy", occupancy(row)) for row in self.result.occupancy]
        facts += [(name, digest) for name, digest in self.result.sources.items() if digest]
        facts.append(("tables", f"{', '.join(self.tables)} (--table NAME shows one)"))
        show_facts(console, facts)
        console.print()
        rows = [[name, shown(value), *self.meanings.get(name, ("", ""))] for name, value in self.result.counters.items()]
        show_table(console, ["counter", "value", "unit", "meaning"], rows, right=(1,))


def occupancy(row: Mapping[str, Any]) -> str:
    """How many CTAs fit; results of earlier versions do not say whose register count decided it."""
    registers = f"; {row['registers']} registers a thread, by {row['registers_from']}" if "registers" in row else ""
    return f"{row['kernel']}: {row['ctas']} a core, limited by {row['limited_by']}{registers}"


@dataclass(frozen=True)
class ComparisonAnswer:
    """Two results side by side."""

    comparison: Comparison
    meanings: Mapping[str, tuple[str, str]]

    def as_json(self) -> dict[str, Any]:
        return self.comparison.as_json(self.meanings)

    def show(self, console: Console) -> None:
        a, b = short(self.comparison.a.key), short(self.comparison.b.key)
        changed = [[name, str(one), str(other)] for name, one, other in self.comparison.changed()]
        if changed:
            show_table(console, ["changed", a, b], changed)
        else:
            console.print("nothing changed between the two")
        console.print()
        rows = [
            [name, shown(one), shown(other), f"{ratio:.3f}" if ratio is not None else "", self.meanings.get(name, ("", ""))[0]]
            for name, one, other, ratio in self.comparison.counters()
        ]
        show_table(console, ["counter", a, b, "ratio", "unit"], rows, right=(1, 2, 3))


@dataclass(frozen=True)
class TableAnswer:
    """One of a result's tables."""

    name: str
    columns: Mapping[str, Sequence[Any]]

    def as_json(self) -> dict[str, Any]:
        return {"table": self.name, "columns": dict(self.columns)}

    def show(self, console: Console) -> None:
        told = {name: values for name, values in self.columns.items() if any(values) or not name.startswith("stall_")}
        rows = [[shown(value) for value in row] for row in zip(*told.values(), strict=True)]
        numbers = [k for k, values in enumerate(told.values()) if values and isinstance(values[0], int | float)]
        show_table(console, list(told), rows, right=numbers)


def show_one_table(found: Results, key: str, name: str) -> TableAnswer:
    record = found.record(key)
    if name not in record.tables:
        raise BadInput(f"result {short(record.key)} has no table '{name}'; it has {', '.join(sorted(record.tables))}")
    return TableAnswer(name, record.table(name))


@dataclass(frozen=True)
class FailureList:
    """Experiments that have failed and not been done since."""

    failures: Sequence[Failure]

    def as_json(self) -> dict[str, Any]:
        return {"failures": [vars(failure) for failure in self.failures]}

    def show(self, console: Console) -> None:
        for failure in self.failures:
            console.print(f"{failure.workload} {failure.size}, {failure.machine}: {failure.error}", soft_wrap=True)
        if not self.failures:
            console.print("no failures")


def list_failures(store: Path | None) -> FailureList:
    from simtlab.lab.store.store import Store

    with Store(store, write=False) as opened:
        return FailureList(opened.failures())


@dataclass(frozen=True)
class Exported:
    """A file of results was written."""

    path: Path
    count: int

    def as_json(self) -> dict[str, Any]:
        return {"file": str(self.path), "results": self.count}

    def show(self, console: Console) -> None:
        console.print(f"{self.count:,} results written to {self.path}", soft_wrap=True)


def write_export(found: Results, path: Path) -> Exported:
    from simtlab.lab.store.export import export

    return Exported(path, export(found, path))


@dataclass(frozen=True)
class Deleted:
    """Results were removed."""

    count: int

    def as_json(self) -> dict[str, Any]:
        return {"deleted": self.count}

    def show(self, console: Console) -> None:
        console.print(f"{self.count:,} result{'s' * (self.count != 1)} deleted", soft_wrap=True)


def delete(asked: Question, found: Results) -> Deleted:
    """Remove one result, or all that the conditions give; one that is damaged can be removed by its key."""
    if asked.key is None:
        if not asked.where and asked.versions != "old":
            raise BadInput("--delete needs to know what: a result's key, --where CONDITION, or --old")
        return Deleted(found.delete())
    from simtlab.lab.store.store import Store

    with Store(asked.store) as store:
        keys = store.keys(asked.key)
        if len(keys) != 1:
            some = f"{len(keys)} results" if keys else "no result"
            raise BadInput(f"--delete takes one key, and {some} in {store.path} begin{'s' * (not keys)} with '{asked.key}'")
        return Deleted(store.forget(keys))


@dataclass(frozen=True)
class SalvageAnswer:
    """A damaged store was copied as far as it can be read."""

    salvaged: Salvaged

    def as_json(self) -> dict[str, Any]:
        return {**vars(self.salvaged), "path": str(self.salvaged.path)}

    def show(self, console: Console) -> None:
        done = self.salvaged
        console.print(f"{done.copied:,} results copied to {done.path}", soft_wrap=True)
        if done.without_tables:
            keys = ", ".join(map(short, done.without_tables))
            console.print(f"{len(done.without_tables):,} of them without their tables: {keys}", soft_wrap=True)
        for sentence in done.lost or ["nothing is lost"]:
            console.print(f"lost: {sentence}" if done.lost else sentence, soft_wrap=True)


def copy_what_is_left(store: Path | None, path: Path) -> SalvageAnswer:
    from simtlab.lab.store.salvage import salvage

    return SalvageAnswer(salvage(store, path))
