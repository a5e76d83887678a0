"""Kernels whose warps race: found, so that they run as they nearly do on a GPU, and told of with their lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from simtlab.execute.grid import GridRun, Pace
from simtlab.isa.spaces import SHARED_BASE, SHARED_BYTES
from simtlab.program.action import Action, Space
from simtlab.program.program import Program

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

WARP = 32


@dataclass
class Paces:
    """How the warps of a GPU's functional launches go on.

    `looks` runs the first CTA of a kernel under watch, and if its warps race, in step from then on; else it goes on in turns.
    `reports` watches all CTAs.
    """

    looks: bool = False
    reports: bool = False
    known: dict[tuple[int, Sequence[int]], tuple[Pace, Program]] = field(default_factory=dict)  # by kernel and block

    def run(self, threads: int, program: Program, launch: np.ndarray, make: Callable[[Pace], GridRun]) -> list[GridRun]:
        """Run a grid, in one part or two."""
        block = tuple(int(size) for size in launch[0]["block"])
        if not (self.looks or self.reports) or prod(block) <= WARP or not stores_plainly(program):
            return finished([make(Pace.IN_TURNS)], threads)
        if self.reports:
            return finished([make(Pace.WATCHED)], threads)
        key = (id(program), block)
        if program.ctas_communicate or key in self.known:  # the first CTA may wait for others
            return finished([make(self.known.get(key, (Pace.IN_TURNS, program))[0])], threads)
        first, n_ctas = make(Pace.WATCHED), int(launch[0]["n_ctas"])
        launch[0]["n_ctas"] = 1
        first.run(1)
        pace = Pace.IN_STEP if first.races else Pace.IN_TURNS
        self.known[key] = (pace, program)  # with the kernel, so that no other is in its place
        if first.faults or first.stuck or n_ctas == 1:
            return [first]
        launch[0]["n_ctas"], launch[0]["next_cta"] = n_ctas, 1
        return [first, *finished([make(pace)], threads)]


def finished(parts: list[GridRun], threads: int) -> list[GridRun]:
    for part in parts:
        part.run(threads)
    return parts


def stores_plainly(program: Program) -> bool:
    """Whether a kernel stores, other than by atomics, where another thread may look."""
    return any(one.action == Action.STORE and one.space != Space.LOCAL for one in program.lowered)


def told_races(gpu: Gpu, program: Program, grid: Sequence[int], parts: Sequence[GridRun]) -> list[str]:
    """A sentence for each two lines that raced."""
    found: dict[tuple, np.record] = {}
    counts: dict[tuple, int] = {}
    for race in sorted((race for part in parts for race in part.races), key=lambda race: int(race["cta"])):
        lines = tuple(line_of(program, int(race[which])) for which in ("before", "after"))
        what = (*lines, int(race["before_writes"]), int(race["after_writes"]))
        found.setdefault(what, race)
        counts[what] = counts.get(what, 0) + int(race["count"])
    return [in_words(gpu, program, grid, race, counts[what]) for what, race in found.items()]


def line_of(program: Program, pc: int) -> tuple[str, int]:
    """The CUDA line of an instruction; of PTX, the instruction."""
    source = program.lowered[pc].origin.source
    return (source.file, source.line) if source else ("", pc)


def in_words(gpu: Gpu, program: Program, grid: Sequence[int], race: np.record, count: int) -> str:
    number, (one, other) = int(race["cta"]), (int(warp) for warp in race["warps"])
    block = (number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1]))
    address = int(race["address"])
    in_shared = SHARED_BASE <= address < SHARED_BASE + SHARED_BYTES
    place = f"{address - SHARED_BASE} bytes into shared memory" if in_shared else gpu.memory.describe(address)
    earlier = f"warp {one}" if one >= 0 else "several warps"
    did, does = ("wrote" if race["before_writes"] else "read"), ("writes" if race["after_writes"] else "reads")
    return (f"a race in kernel '{program.readable_name}', block {block}: warp {other} {does} what {earlier} {did} with no barrier "
            f"between, {place}: {program.where(int(race['after']))} after {program.where(int(race['before']))}; "
            f"{count} time{'s' * (count > 1)}")  # fmt: skip
