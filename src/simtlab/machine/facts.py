"""What mechanisms can know of a program before it runs: loops, loads, live registers, and what an earlier run says of its loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from simtlab.compiled import reader_of
from simtlab.program.encode import MAX_INSTRUCTIONS
from simtlab.program.liveness import live_out
from simtlab.program.loops import loops_of
from simtlab.program.operand import register_kind
from simtlab.program.program import Program
from simtlab.program.sass.registers import FIRST_PREDICATE

if TYPE_CHECKING:
    from simtlab.machine.machine import TimedRun

NO_LOOP = -1
N_COMPARED = 2  # registers that a comparison reads, at most, which are looked at
NOT_READ = -1

fact_t = np.dtype(
    [
        ("loop", "i2"),  # the innermost loop it is in, a number in its kernel, or NO_LOOP
        ("depth", "i2"),  # how many loops it is in
        ("header", "i4"),  # of that loop: its first instruction,
        ("last", "i4"),  # … its last branch back,
        ("loads", "i2"),  # … and the global loads in it
        ("live", "i2"),  # registers live after it
        ("deterministic", "i1"),  # class of a global load, or -1
        ("compared", "i4", (N_COMPARED,)),  # of registers it reads, where in the warp's window their lanes are, or NOT_READ,
        ("lane_bytes", "i1", (N_COMPARED,)),  # … and how many bytes a lane has
        ("accesses", "i8"),  # of a global load in an earlier run, at the L1,
        ("hits", "i8"),  # … and those of them that hit
    ],
    align=True,
)
facts_t = np.dtype([("row", fact_t, (MAX_INSTRUCTIONS,))])
facts_at = reader_of(facts_t)
Profile = Mapping[tuple[str, int], tuple[int, int]]  # by kernel and pc: accesses at the L1, and hits
LANE_BYTES = {"d": 8, "w": 4, "h": 2}


def profile_of(runs: Iterable[TimedRun]) -> dict[tuple[str, int], tuple[int, int]]:
    """What the global loads of earlier runs found in the L1."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for run in runs:
        loads = run.loads
        for pc, requests, hits in zip(loads.pcs.tolist(), loads["requests"].tolist(), loads["hit"].tolist(), strict=True):
            before = found.get((loads.places.kernel, pc), (0, 0))
            found[loads.places.kernel, pc] = before[0] + requests, before[1] + hits
    return found


def facts_of(program: Program, profile: Profile) -> np.ndarray:
    """One row for each instruction."""
    record = np.zeros(1, facts_t)
    table = record["row"][0]
    table["loop"], table["deterministic"], table["compared"] = NO_LOOP, -1, NOT_READ
    table["deterministic"][: len(program.load_classes)] = program.load_classes
    loops = 0
    for function in program.functions.values():
        graph, first = function.graph, function.first
        for loop in loops_of(graph):
            places = [k for block in loop.blocks for k in range(graph.blocks[block].first, graph.blocks[block].end)]
            pcs = first + np.array(places)
            table["loop"][pcs] = loops
            table["depth"][pcs] += 1
            table["header"][pcs] = first + graph.blocks[loop.header].first
            table["last"][pcs] = first + max(graph.blocks[block].end for block in loop.back_edges) - 1
            table["loads"][pcs] = int((program.load_classes[pcs] >= 0).sum())
            loops += 1
        for k, live in enumerate(live_out(graph, function.usages)):
            table["live"][first + k] = len(live)
    note_compared(program, table)
    for (kernel, pc), (accesses, hits) in profile.items():
        if kernel == program.name:
            table["accesses"][pc], table["hits"][pc] = accesses, hits
    return record


def note_compared(program: Program, table: np.ndarray) -> None:
    """Where the registers are that each instruction reads."""
    for function in program.functions.values():
        storage = function.allocation.storage
        kinds = None if program.is_machine_code else [register_kind(type) for type in function.lowering.types]
        for k, usage in enumerate(function.usages):
            row, found = table[function.first + k], 0
            for register in sorted(usage.reads):
                bytes_a_lane = 4 * (register < FIRST_PREDICATE) if kinds is None else LANE_BYTES.get(kinds[register], 0)
                if bytes_a_lane and found < N_COMPARED:
                    row["compared"][found], row["lane_bytes"][found] = storage[register], bytes_a_lane
                    found += 1
