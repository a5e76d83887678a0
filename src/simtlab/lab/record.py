"""The result of an experiment: a record of plain values that can be stored, sent and compared."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simtlab.lab.errors import StoreError

Columns = Mapping[str, Sequence[Any]]  # a table: columns of one length by name


@dataclass(frozen=True)
class Record:
    """What an experiment came to. `counters` are totals over all launches; `tables` are packed, for they can be long."""

    key: str
    workload: str
    size: str
    gpu: str
    inputs: Mapping[str, Any]  # parameters, seed, input files' digests, and the digest of the program's sources
    changes: Mapping[str, Any]  # keys of the machine that were changed
    policies: Mapping[str, Any]  # by slot: name, label, parameters, and the digest of its sources
    machine: Mapping[str, Any]  # every key of the machine
    counters: Mapping[str, int | float]
    occupancy: Sequence[Mapping[str, Any]]  # by kernel: CTAs a core, what stops the next one, registers and whose count that is
    launches: int
    tables: Mapping[str, bytes] = field(repr=False)
    sources: str = ""  # the digest that stands for simtlab itself
    version: str = ""
    seconds: float = 0.0  # on the host, compiling, checking and making this record included
    host: str = ""
    finished: str = ""  # date and time, UTC
    own_counters: Mapping[str, tuple[str, str]] = field(default_factory=dict, repr=False)  # of policies: unit and meaning

    @property
    def cycles(self) -> int:
        return int(self.counters["cycles"])

    @property
    def instructions(self) -> int:
        return int(self.counters["instructions"])

    @property
    def ipc(self) -> float:
        """Warp instructions a core cycle, the whole GPU together."""
        return self.instructions / self.cycles if self.cycles else 0.0

    def table(self, name: str) -> dict[str, list[Any]]:
        """A table's columns."""
        return unpack(self.tables[name])


@dataclass(frozen=True)
class Failure:
    """An experiment that gave no result: what went wrong, and how often it was tried."""

    key: str
    workload: str
    size: str
    machine: str  # in words
    error: str
    tries: int
    host: str
    finished: str


def pack(columns: Columns) -> bytes:
    """A table as bytes."""
    return zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 6)


def unpack(data: bytes) -> dict[str, list[Any]]:
    try:
        return json.loads(zlib.decompress(data))
    except (zlib.error, ValueError, TypeError) as problem:
        hint = "delete the result, and the next sweep runs it again"
        raise StoreError(f"a table of this result is damaged ({problem}); {hint}") from None
