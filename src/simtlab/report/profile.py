"""The figures of a profile: what was measured of each launch, in plain values that a page shows and that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.frontend.listing import statement_texts
from simtlab.machine.core.kinds import Stall
from simtlab.machine.utilisation import utilisation
from simtlab.program.definitions import ENTRY, Definitions, is_slot
from simtlab.report.instruction_kinds import is_load, lane_bytes, memory_of, role_of
from simtlab.sampling.marks import combined

if TYPE_CHECKING:
    from simtlab.machine.config import MachineConfig
    from simtlab.machine.machine import TimedRun
    from simtlab.machine.sampled import Sampled
    from simtlab.program.function import FunctionCode
    from simtlab.program.program import Program

CAUSES = [cause.name.lower() for cause in Stall]
NO_INTERVALS: dict[str, np.ndarray] = {"cycle": np.zeros(0, np.int64)}  # of a run whose GPU is gone
MOST_LAUNCHES = 12  # that are shown one by one
LOAD_CLASSES = {1: "D", 0: "N"}  # of global loads, see docs/loads.md; empty for anything else


@dataclass(frozen=True)
class InstructionProfile:
    """One instruction of the kernel, all its executions by warps together."""

    pc: int
    text: str
    file: str
    line: int  # 0: of no line
    issued: int  # by warps
    lanes: int
    stalls: Mapping[str, int]  # scheduler cycles in which it was waited for, by cause; those above 0
    memory: str  # global, local, shared, constant, generic, texture, surface; empty if it touches none
    is_load: bool
    role: str  # load, store, atomic, barrier, branch, special (of the special function unit); empty for anything else
    lane_bytes: int  # that a lane loads or stores
    is_guarded: bool
    writes: frozenset[int]  # registers
    accesses: int  # lines or sectors
    passes: int  # of shared memory
    load_class: str
    l1_hits: int  # of global loads, accesses that hit; those that merged with a miss in flight are misses
    l1_misses: int
    waits_on: Sequence[int]  # loads whose results it reads or overwrites, by pc

    @property
    def stalled(self) -> int:
        return sum(self.stalls.values())


@dataclass(frozen=True)
class LaunchProfile:
    """A launch, or several of one kernel added up."""

    kernel: str
    language: str  # of its instructions: PTX or SASS
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    machine: MachineConfig
    cycles: int
    instructions: int
    counters: Mapping[str, int]
    stalls: Mapping[str, int]  # scheduler cycles by cause, `issued` among them: all of them
    energy: Mapping[str, float]
    registers: int  # of a thread
    shared_bytes: int  # of a CTA
    ctas_per_core: int  # that fit
    limited_by: str
    l1_bytes: int  # of a core, as the launch divides its memory
    shared_memory_bytes: int
    rows: Sequence[InstructionProfile]
    sources: Mapping[str, str]  # the texts of the files that rows name, where they are to be had
    seconds: float  # on the machine
    intervals: Mapping[str, np.ndarray] = field(repr=False)  # over its time: the last cycle, and what each counter gained
    sampled: Sampled | None = None  # on a machine that samples

    @property
    def threads(self) -> int:
        """Of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Of a CTA."""
        return -(-self.threads // 32)

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def ipc(self) -> float:
        return self.instructions / self.cycles if self.cycles else 0.0

    @property
    def utilisation(self) -> dict[str, float]:
        return utilisation(self.machine, self.counters, self.cycles)

    @property
    def scheduler_cycles(self) -> int:
        return sum(self.stalls.values())

    @property
    def lanes_in_use(self) -> float:
        """Of 32, in an issued instruction."""
        return self.counters["thread_instructions"] / self.instructions if self.instructions else 0.0

    @property
    def resident_warps(self) -> float:
        """On a core that has any CTA, over time."""
        used = self.counters["core_used_cycles"]
        return self.counters["occupied_warp_cycles"] / used if used else 0.0

    @property
    def cycles_between_instructions(self) -> float:
        """From one instruction of a warp to its next."""
        return self.counters["occupied_warp_cycles"] / self.instructions if self.instructions else 0.0


def profile_of(
    program: Program,
    timing: TimedRun,
    shape: tuple[tuple[int, int, int], tuple[int, int, int], int],
    machine: MachineConfig,
    intervals: Mapping[str, np.ndarray],
) -> LaunchProfile:
    """The profile of a launch; `shape` is its grid, its block and the bytes of shared memory of a CTA. Of the machine's
    intervals those of its time are kept."""
    grid, block, shared_bytes = shape
    rows = rows_of(program, timing)
    fits = timing.occupancy
    return LaunchProfile(
        program.readable_name, "SASS" if program.is_machine_code else "PTX", grid, block, 1, machine, timing.cycles,
        timing.instructions, timing.counters, timing.stalls, timing.energy, program.registers, shared_bytes, fits.ctas,
        fits.limited_by, fits.l1_bytes, fits.shared_bytes, rows,
        sources_of(program, rows), timing.seconds, during(intervals, timing.start, end_of(timing)), timing.sampled,
    )  # fmt: skip


def end_of(timing: TimedRun) -> int:
    """The machine's cycle at which a launch ended. One that is extrapolated has no curves over time: most of it has none."""
    return timing.start + (0 if timing.sampled and timing.sampled.is_extrapolated else timing.cycles)


def rows_of(program: Program, timing: TimedRun) -> list[InstructionProfile]:
    """A row for each instruction, in the order of the program."""
    origins = [lowered.origin for lowered in program.lowered]
    texts = statement_texts(program.module.text, (origin.position for origin in origins))
    work, table = timing.work_by_instruction, timing.loads.table()
    hits = dict(zip(table["pc"], zip(table["hit"], table["requests"], strict=True), strict=True))
    producers = [loads for code in program.functions.values() for loads in loads_waited_for(code)]
    written = [usage.writes for code in program.functions.values() for usage in code.usages]
    rows = []
    for pc, (lowered, text) in enumerate(zip(program.lowered, texts, strict=True)):
        source, causes = lowered.origin.source, timing.stalls_by_instruction[pc].tolist()
        hit, requests = hits.get(pc, (0, 0))
        memory = memory_of(lowered.origin.opcode, lowered.origin.modifiers)
        rows.append(InstructionProfile(
            pc, text, source.file if source else "", source.line if source else 0, causes[0], int(work["lanes"][pc]),
            {cause: count for cause, count in list(zip(CAUSES, causes, strict=True))[1:] if count},
            memory, is_load(lowered.origin), role_of(lowered), lane_bytes(lowered), lowered.guard is not None, written[pc],
            int(work["accesses"][pc]), int(work["passes"][pc]),
            LOAD_CLASSES.get(int(program.load_classes[pc]), ""), hit, requests - hit,
            producers[pc],
        ))  # fmt: skip
    return rows


def by_kernel(profiles: Sequence[LaunchProfile]) -> list[LaunchProfile]:
    """The same if they are few; else those of one kernel added up, in the order of their first launches."""
    if len(profiles) <= MOST_LAUNCHES:
        return list(profiles)
    kernels: dict[str, list[LaunchProfile]] = {}
    for profile in profiles:
        kernels.setdefault(profile.kernel, []).append(profile)
    return [added(several) for several in kernels.values()]


def added(profiles: Sequence[LaunchProfile]) -> LaunchProfile:
    """Launches of one kernel as one; their shape and occupancy are those of the longest."""
    longest = max(profiles, key=lambda profile: profile.cycles)
    rows = [_added_rows(several) for several in zip(*(profile.rows for profile in profiles), strict=True)]
    ends = np.cumsum([0, *(profile.cycles for profile in profiles)])
    over_time = {
        name: np.concatenate([one.intervals[name] + (end if name == "cycle" else 0)
                              for one, end in zip(profiles, ends[:-1], strict=True)])
        for name in longest.intervals
    }  # fmt: skip
    return replace(
        longest, launches=len(profiles), rows=rows, intervals=over_time, cycles=sum(p.cycles for p in profiles),
        instructions=sum(p.instructions for p in profiles), counters=_sums([p.counters for p in profiles]),
        stalls=_sums([p.stalls for p in profiles]), energy=_sums([p.energy for p in profiles]),
        sampled=combined((p.sampled, p.instructions, p.cycles) for p in profiles),
    )  # fmt: skip


def _added_rows(rows: Sequence[InstructionProfile]) -> InstructionProfile:
    counts = ("issued", "lanes", "accesses", "passes", "l1_hits", "l1_misses")
    sums: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in counts}
    return replace(rows[0], stalls=_sums([row.stalls for row in rows]), **sums)


def _sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: sum(part.get(name, 0) for part in parts) for name in dict.fromkeys(name for part in parts for name in part)}


def loads_waited_for(code: FunctionCode) -> list[list[int]]:
    """Of each instruction of a function, the loads from memory whose results it may read or overwrite (the scoreboard makes it wait
    for both), counted from the program's start."""
    definitions = Definitions(code)
    found = []
    for k in range(len(code.instructions)):
        registers = [variable for variable in code.usages[k].reads | code.usages[k].writes if not is_slot(variable)]
        reaching = {d for variable in registers for d in definitions.reaching(k, variable)}
        found.append(sorted(code.first + d for d in reaching - {ENTRY} if is_load(code.instructions[d].origin)))
    return found


def sources_of(program: Program, rows: Sequence[InstructionProfile]) -> dict[str, str]:
    """The CUDA texts that rows name: as they were compiled, or from their files."""
    found = {}
    for file in dict.fromkeys(row.file for row in rows if row.file):
        if file in program.module.sources:
            found[file] = program.module.sources[file]
            continue
        with suppress(OSError):
            found[file] = Path(file).read_text(errors="replace")
    return found


def during(intervals: Mapping[str, np.ndarray], first: int, last: int) -> dict[str, np.ndarray]:
    """The intervals that end in a launch's time, their cycles counted from its start."""
    ends = intervals["cycle"]
    kept = (ends > first) & (ends <= last)
    return {name: values[kept] - (first if name == "cycle" else 0) for name, values in intervals.items()}
