"""Copy what can be read of a damaged store to a new one, and say what is lost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from simtlab.lab.errors import StoreError, StoreWarning
from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store


@dataclass(frozen=True)
class Salvaged:
    """What came of it: how many results were copied, which came without their tables, what else is lost, in sentences."""

    path: Path
    copied: int
    without_tables: Sequence[str]  # keys
    lost: Sequence[str]


def salvage(store: str | PathLike | None, path: Path) -> Salvaged:
    """Copy every readable result, with its tables, and the failures. The damaged store is only read."""
    if path.exists():
        raise StoreError(f"cannot salvage to {path}: it is there already, and must be a new file")
    found, lost, bare = results(store, versions="all"), [], []
    copied = 0
    with Store(store, write=False) as old, Store(path) as new, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", StoreWarning)
        asked = dict(row[1:] for row in old.result_rows(f"key, {old.order.split(',')[0]}"))
        try:
            meanings = old.meanings()
        except StoreError:
            meanings = {}
            lost.append("the counters' units and meanings")
        for result in found:
            try:
                record = found.record_of(result)
            except StoreError:
                record = found.record_of(result, tables={})
                bare.append(result.key)
            copied += new.add(record, meanings, asked[result.key])
        try:
            for failure in old.failures():
                new.add_failure(failure)
        except StoreError:
            lost.append("experiments that had failed")
        lost += dict.fromkeys(str(one.message).partition(". `")[0] for one in told)
    return Salvaged(path, copied, bare, lost)
