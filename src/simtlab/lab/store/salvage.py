"""Copy what can be read of a damaged store to a new one, and say what is lost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from simtlab.lab.errors import StoreError, StoreWarning
from simtlab.lab.store.damage import full_length
from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store, default_store


@dataclass
class Salvaged:
    """What came of it: how many results were copied, which came without their tables, what else is lost, in sentences."""

    path: Path
    copied: int = 0
    without_tables: list[str] = field(default_factory=list)  # keys
    lost: list[str] = field(default_factory=list)


def salvage(store: str | PathLike | None, path: Path) -> Salvaged:
    """Copy every readable result, with its tables, and the failures. The damaged store is only read."""
    source = Path(store) if store is not None else default_store()
    if not source.is_file():
        raise StoreError(f"there is no store {source}")
    if path.exists():
        raise StoreError(f"cannot salvage to {path}: it is there already, and must be a new file")
    done = Salvaged(path)
    with full_length(source) as readable, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", StoreWarning)
        with Store(readable, write=False) as old, Store(path) as new:
            _copy_results(old, new, done)
            _copy_failures(old, new, done)
        sentences = [str(one.message).partition(". `")[0].replace(str(readable), str(source)) for one in told]
    done.lost += dict.fromkeys(sentences)
    return done


def _copy_results(old: Store, new: Store, done: Salvaged) -> None:
    try:
        meanings = old.meanings()
    except StoreError:
        meanings = {}
        done.lost.append("the counters' units and meanings")
    asked = {key: when for _, key, when in old.result_rows(f"key, {old.order.split(',')[0]}")}
    found = results(old.path, versions="all")
    for result in found:
        try:
            record = found.record_of(result)
        except StoreError:
            record = found.record_of(result, tables={})
            done.without_tables.append(result.key)
        done.copied += new.add(record, meanings, asked[result.key])


def _copy_failures(old: Store, new: Store, done: Salvaged) -> None:
    try:
        for failure in old.failures():
            new.add_failure(failure)
    except StoreError:
        done.lost.append("experiments that had failed")
