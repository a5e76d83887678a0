"""Which kinds of locality the global loads of a run have, and whether it pays to cache each (Jia, Shaw, Martonosi, ICS 2012).

    gpu = sl.Gpu("gtx480", mechanism="jia_taxonomy", set={"l1d.sector_bytes": 32})
    run = …
    print(table(run))

`simtlab loads KM --gpu gtx480 --locality` prints it for every kernel of a program.

A hit rate does not say whether the L1 helps: what counts is the traffic from the L2. Around the L1 a load moves the 32-byte sectors
that its lanes want, each time; through an L1 without sectors, as Fermi's, it moves whole lines, but each only once while it stays.
The rule caches a load where that is less, and lets it go around where it is more. It takes it that a line stays as long as its CTA
runs, as a compiler would, which knows the addresses and not the L1's fate; and that loads which share lines are cached together
or not at all, so that all of a kernel's that do are judged as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simtlab.errors import SimtlabError
from simtlab.machine.hooks import MECHANISMS

if TYPE_CHECKING:
    from simtlab.host.launch import Run
    from simtlab.machine.config.memory import DataCache
    from simtlab.machine.load_figures import Places

NOT_COUNTED = "the kinds of locality were not counted: run with mechanism='jia_taxonomy'"
HEADER = ["line", "load", "lanes", "lines", "warp %", "block %", "cross %", "around KB", "cached KB", "rule"]
SECTOR_BYTES = 32
FIELDS = (
    "executed", "lanes", "sectors", "lines", "within_warp", "within_block", "cross_instruction", "again", "fresh", "lent",
)  # fmt: skip


@dataclass(frozen=True)
class LoadLocality:
    """A global load of a run: counts as `policies/mechanism/jia_taxonomy.py` has them, and bytes from the L2."""

    pc: int
    line: int | None  # of the source
    instruction: str
    executed: int
    lanes: int
    sectors: int
    lines: int
    within_warp: int
    within_block: int
    cross_instruction: int
    again: int
    fresh: int
    lent: int
    bytes_around: int  # that it moves from the L2 if it goes around the L1,
    bytes_cached: int  # … and through it
    rule: str  # "cache", "bypass", or "either" where both move as much

    @property
    def shares(self) -> bool:
        """Whether other loads of its CTAs touch its lines."""
        return self.cross_instruction + self.lent > 0


def locality(run: Run) -> list[LoadLocality]:
    """The loads of a run that were executed, in the order of the program."""
    if run.config is None:
        raise SimtlabError(NOT_COUNTED)
    return locality_of(run.counters, run.loads.places, run.config.l1d)


def locality_of(counters: Mapping[str, float], places: Places, config: DataCache) -> list[LoadLocality]:
    """The loads of a kernel, by the counters of all its launches, on a machine with such an L1."""
    slot = next((slot for slot in MECHANISMS if f"{slot}.jia-taxonomy.left_out" in counters), None)
    if slot is None:
        raise SimtlabError(NOT_COUNTED)
    if config.sector_bytes != SECTOR_BYTES:
        raise SimtlabError(f"l1d.sector_bytes = {config.sector_bytes}: what loads move around the L1 is known with {SECTOR_BYTES}")
    counts = []
    for n in range(min(len(places.pcs), 64)):
        counts.append({name: int(counters[f"{slot}.jia-taxonomy.{name}.{n}"]) for name in FIELDS})
    moved = [(SECTOR_BYTES * count["sectors"], config.line_bytes * count["fresh"]) for count in counts]
    shared = [count["cross_instruction"] + count["lent"] > 0 for count in counts]
    together = [sum(pair[k] for pair, shares in zip(moved, shared, strict=True) if shares) for k in range(2)]
    return [
        LoadLocality(
            int(places.pcs[n]), places.lines[n], places.instructions[n], **count,
            bytes_around=moved[n][0], bytes_cached=moved[n][1], rule=rule(*(together if shared[n] else moved[n])),
        )
        for n, count in enumerate(counts) if count["executed"]
    ]  # fmt: skip


def rule(around: int, cached: int) -> str:
    """Whether to cache what moves so many bytes around the L1, and so many through it."""
    return "either" if around == cached else "cache" if cached < around else "bypass"


def table(run: Run) -> str:
    """A line for each load: shares of its lanes and lines in percent, kilobytes from the L2, and the rule's word."""
    rows = [HEADER, *rows_of(locality(run))]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    texts = (1, len(HEADER) - 1)
    lines = ("  ".join(cell.ljust(width) if k in texts else cell.rjust(width)
                       for k, (cell, width) in enumerate(zip(row, widths, strict=True))) for row in rows)  # fmt: skip
    return "\n".join([*(line.rstrip() for line in lines), *note_of(run.counters)])


def note_of(counters: Mapping[str, float]) -> list[str]:
    """What the analysis could not see, in words; nothing where it saw all."""
    left_out = int(sum(counters.get(f"{slot}.jia-taxonomy.left_out", 0) for slot in MECHANISMS))
    return [f"{left_out} lines found no place in the analysis' table and count as new"] if left_out else []


def rows_of(loads: Sequence[LoadLocality]) -> list[list[str]]:
    """The cells of the table, beside HEADER."""
    rows = []
    for load in loads:
        of_lines = [f"{100 * count / load.lines:.0f}" for count in (load.within_block, load.cross_instruction)]
        kilobytes = [f"{count / 1024:.1f}" for count in (load.bytes_around, load.bytes_cached)]
        rows.append([str(load.line or load.pc), load.instruction, str(load.lanes), str(load.lines),
                     f"{100 * load.within_warp / load.lanes:.0f}", *of_lines, *kilobytes, load.rule])  # fmt: skip
    return rows
