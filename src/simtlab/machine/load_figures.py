"""What the global loads of a launch did, as tables: by load, by class of load, by number of requests; and who shares what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simtlab.machine.core.loads import load_t
from simtlab.machine.cta_sharing import CTA_BITS, MOST_CTAS
from simtlab.machine.request import L1Outcome, L2Answer
from simtlab.program.program import Program

CLASSES = {1: "D", 0: "N"}  # deterministic, non-deterministic; see docs/loads.md
OUTCOMES = [outcome.name.lower() for outcome in L1Outcome]
L2_ANSWERS = [f"l2_{answer.name.lower()}" for answer in L2Answer]
PARTS = ["unloaded", "by_earlier", "by_itself", "memory"]  # of the turnaround
SUMS = ["executed", "threads", "requests", *OUTCOMES, *L2_ANSWERS, "turnaround", *PARTS]
SIZES = ["executed", "turnaround", "gap_l1d", "gap_to_l2", "gap_from_l2"]


@dataclass(frozen=True)
class Places:
    """The global loads of a program: where they are in it and in its source."""

    kernel: str
    readable_name: str
    pcs: np.ndarray
    deterministic: np.ndarray  # 1, or 0
    instructions: list[str]
    files: list[str | None]
    lines: list[int | None]


def places_of(program: Program) -> Places:
    pcs = np.flatnonzero(program.load_classes >= 0)
    origins = [program.lowered[pc].origin for pc in pcs.tolist()]
    sources = [origin.source for origin in origins]
    return Places(program.name, program.readable_name, pcs, program.load_classes[pcs], [origin.spelling for origin in origins],
                  [source.file if source else None for source in sources],
                  [source.line if source else None for source in sources])  # fmt: skip


@dataclass(frozen=True)
class Loads:
    """The global loads of a kernel. `loads["requests"]` is a column, a number for each load; all are sums over its executions."""

    places: Places
    counted: np.ndarray  # load_t, in the order of the places

    @property
    def pcs(self) -> np.ndarray:
        return self.places.pcs

    @property
    def deterministic(self) -> np.ndarray:
        return self.places.deterministic

    def __getitem__(self, name: str) -> np.ndarray:
        if name in OUTCOMES:
            return self.counted["outcome"][:, OUTCOMES.index(name)]
        if name in L2_ANSWERS:
            return self.counted["l2"][:, L2_ANSWERS.index(name)]
        if name not in SUMS:
            raise KeyError(f"loads have no column '{name}'; they have {', '.join(SUMS)}")
        return self.counted[name]

    def table(self) -> dict[str, list[Any]]:
        """A row for each load, in the order of the program."""
        return {
            "pc": self.pcs.tolist(),
            "line": list(self.places.lines),
            "class": [CLASSES[one] for one in self.deterministic.tolist()],
            **{name: self[name].tolist() for name in SUMS},
        }

    def by_class(self) -> dict[str, dict[str, int]]:
        """The sums over all deterministic loads (D) and over all others (N)."""
        return {name: {column: int(self[column][self.deterministic == one].sum()) for column in SUMS}
                for one, name in CLASSES.items()}  # fmt: skip

    def by_requests(self) -> dict[str, list[Any]]:
        """A row for each load and number of requests that it ever made: how often, its cycles, and the gaps between its first
        and its last request, at the L1, on arrival at the L2 and on leaving it (the last two of requests of its own)."""
        loads, sizes = np.nonzero(self.counted["of_size"]["executed"])
        found = self.counted["of_size"][loads, sizes]
        return {"pc": self.pcs[loads].tolist(), "class": [CLASSES[one] for one in self.deterministic[loads].tolist()],
                "requests": (sizes + 1).tolist(), **{name: found[name].tolist() for name in SIZES}}  # fmt: skip

    def __add__(self, other: Loads) -> Loads:
        """Another launch's of the same kernel added."""
        total = self.counted.copy()
        total.view(np.int64)[:] += other.counted.view(np.int64)
        return Loads(self.places, total)


def none_of(places: Places) -> Loads:
    """A program's loads before any was executed."""
    return Loads(places, np.zeros(len(places.pcs), load_t))


@dataclass(frozen=True)
class Sharing:
    """Which 128-byte blocks of global memory loads came to, and how many CTAs to each. An access is a load of a warp that
    wants something of a block."""

    blocks: int
    accesses: int
    shared_blocks: int  # with several CTAs
    shared_accesses: int  # to those
    sharers: int  # CTAs of the shared blocks, block by block
    left_out: int  # accesses for which there was no room
    distances: dict[str, dict[int, int]]  # by class: accesses of a CTA to a block, by how far the next lower CTA of it is

    @property
    def cold_miss_ratio(self) -> float:
        """First accesses to a block among all."""
        return self.blocks / self.accesses if self.accesses else 0.0

    def facts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in SHARED_FACTS}


SHARED_FACTS = ["blocks", "accesses", "shared_blocks", "shared_accesses", "sharers", "left_out"]


def sharing(pairs: np.ndarray, left_out: int = 0) -> Sharing:
    """From the accesses of every CTA to every block (`machine.cta_sharing.pair_t`), in the order of blocks and CTAs."""
    accesses = pairs["accesses"].sum(axis=1, dtype=np.int64)
    is_first = np.ones(len(pairs), bool)
    block, cta = pairs["key"] >> CTA_BITS, (pairs["key"] & MOST_CTAS).astype(np.int64)
    is_first[1:] = block[1:] != block[:-1]
    ctas = np.diff(np.append(np.flatnonzero(is_first), len(pairs)))
    of_shared = np.repeat(ctas > 1, ctas)
    gaps = np.diff(cta, prepend=cta[:1])[~is_first]
    distances = {name: _by_distance(gaps, pairs["accesses"][~is_first, one]) for one, name in CLASSES.items()}
    return Sharing(len(ctas), int(accesses.sum()), int((ctas > 1).sum()), int(accesses[of_shared].sum()),
                   int(ctas[ctas > 1].sum()), left_out, distances)  # fmt: skip


def _by_distance(gaps: np.ndarray, accesses: np.ndarray) -> dict[int, int]:
    found, where = np.unique(gaps, return_inverse=True)
    sums = np.bincount(where, accesses, len(found)).astype(np.int64)
    return {gap: count for gap, count in zip(found.tolist(), sums.tolist(), strict=True) if count}


def added(loads: Iterable[Loads]) -> list[Loads]:
    """Launches of the same kernel added up, kernels in the order of their first launches."""
    found: dict[int, Loads] = {}
    for one in loads:
        found[id(one.places)] = found[id(one.places)] + one if id(one.places) in found else one
    return list(found.values())


def summed(loads: Sequence[Loads]) -> dict[str, dict[str, int]]:
    """The sums by class over several kernels."""
    parts = [one.by_class() for one in loads]
    return {name: {column: sum(part[name][column] for part in parts) for column in SUMS} for name in CLASSES.values()}
