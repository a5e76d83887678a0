"""Write results to a file: CSV, JSON or Parquet, as its name ends."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from simtlab.lab.errors import StoreError
from simtlab.lab.store.results import Results, as_cell, column_names

FORMATS = (".csv", ".json", ".parquet")


def check_export(path: Path) -> Path:
    """Refuse a file that cannot be written, while nothing has been done yet."""
    if path.suffix not in FORMATS:
        raise StoreError(f"cannot export to {path}: its name must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if not path.parent.is_dir():
        raise StoreError(f"cannot export to {path}: there is no folder {path.parent}")
    return path


def export(results: Results, path: Path) -> int:
    """Write the results, a row each; how many they were."""
    check_export(path)
    write = {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}[path.suffix]
    try:
        return write(results, path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def _write_csv(results: Results, path: Path) -> int:
    found = list(results)
    names = column_names(found)
    with path.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(names)
        for result in found:
            writer.writerow(["" if (value := as_cell(result.value(name))) is None else value for name in names])
    return len(found)


def _write_json(results: Results, path: Path) -> int:
    """All there is but the tables, with units and meanings of the counters."""
    found = list(results)
    rows = [
        {**result.plain, "inputs": result.inputs, "set": result.changes, "policies": result.policies,
         "counters": result.counters, "occupancy": result.occupancy, "machine": result.machine}
        for result in found
    ]  # fmt: skip
    explained = {name: {"unit": unit, "meaning": meaning} for name, (unit, meaning) in results.meanings().items()}
    path.write_text(json.dumps({"counters": explained, "results": rows}, indent=1) + "\n")
    return len(found)


def _write_parquet(results: Results, path: Path) -> int:
    table = results.to_pandas()
    table.to_parquet(path, index=False)
    return len(table)
