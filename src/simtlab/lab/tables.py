"""The tables of a result: what each launch came to, where each instruction's stalls were, how it went over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from simtlab.sampling.marks import mark_of

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.machine.machine import TimedRun
    from simtlab.machine.sampled import Sampled
    from simtlab.program.cfg import ControlFlowGraph
    from simtlab.program.program import Program

LOAD_CLASSES = {1: "deterministic", 0: "non-deterministic"}  # docs/loads.md; None for what is no global load
MOST_LAUNCHES = 2000  # with a row each; a program with more has its first so many, and totals of all


class TimedProgram(Protocol):
    """What a program launched: a workload's run, or an application's."""

    @property
    def launches(self) -> Sequence[Run]: ...

    def program_of(self, launch: Run) -> Program: ...


def all_tables(run: TimedProgram, gpu: Gpu, folder: Path) -> dict[str, dict[str, list[Any]]]:
    """Every table of a result, by name."""
    return {
        "launches": launch_table(run.launches),
        "instructions": instruction_table(run, folder),
        "intervals": interval_table(gpu),
        **load_tables(run, folder),
        **sharing_tables(gpu),
        **sampling_tables(run.launches),
    }


def sampling_tables(launches: Sequence[Run]) -> dict[str, dict[str, list[Any]]]:
    """Of a run on a machine that samples: what may be wrong with each counter, half its 95% confidence interval."""
    mark = mark_of(map(_timing, launches))
    return {"sampling": {"counter": list(mark.errors), "error": list(mark.errors.values())}} if mark else {}


def counted(timing: TimedRun) -> dict[str, int | float]:
    """Everything a launch counted, under one name each."""
    stalls = {f"stall_{cause}": count for cause, count in timing.stalls.items()}
    joules = {f"energy_{part}": value for part, value in timing.energy.items()}
    return {"cycles": timing.cycles, "machine_seconds": timing.seconds, **timing.counters, **stalls, **joules}


def marked(mark: Sampled | None) -> dict[str, float]:
    """What is said of a sampled run beside its counters."""
    return {"sampled_share": mark.share, "sampled_error": mark.error} if mark else {}


def totals(launches: Sequence[Run]) -> dict[str, int | float]:
    """The launches' counters added up."""
    found: dict[str, int | float] = {}
    together: dict[int, TimedRun] = {}  # side by side in streams: counted once, the longest
    for timing in map(_timing, launches):
        before = together.setdefault(id(timing.counters), timing)
        together[id(timing.counters)] = max(before, timing, key=lambda one: one.seconds)
    for timing in together.values():
        for name, value in {**counted(timing), "cycles": timing.elapsed}.items():
            found[name] = found.get(name, 0) + value
    return found | marked(mark_of(together.values()))


def interval_table(gpu: Gpu) -> dict[str, list[Any]]:
    """A row for each interval of the whole run: its last cycle, and what every counter gained in it."""
    assert gpu.machine is not None, "experiments are timed"
    return {name: values.tolist() for name, values in gpu.machine.intervals().items()}


def launch_table(launches: Sequence[Run]) -> dict[str, list[Any]]:
    """A row for each launch, in order: kernel, grid, block, counters."""
    from simtlab.host.module import plain_name

    shown = launches[:MOST_LAUNCHES]
    columns: dict[str, list[Any]] = {
        "kernel": [plain_name(launch.kernel) for launch in shown],
        "grid": [list(launch.grid) for launch in shown],
        "block": [list(launch.block) for launch in shown],
    }
    rows = [counted(timing) | marked(timing.sampled) for timing in map(_timing, shown)]
    return columns | {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def instruction_table(run: TimedProgram, folder: Path) -> dict[str, list[Any]]:
    """A row for each instruction of each kernel: what it is, and the scheduler cycles it was waited for, by cause."""
    from simtlab.host.module import plain_name

    columns: dict[str, list[Any]] = {name: [] for name in ("kernel", "pc", "instruction", "file", "line", "load", "in_loop")}
    programs = {id(program): program for program in map(run.program_of, run.launches)}
    for number, program in programs.items():
        timings = [_timing(launch) for launch in run.launches if id(run.program_of(launch)) == number]
        counts = sum((timing.counts_by_instruction for timing in timings[1:]), timings[0].counts_by_instruction)
        for column, values in _instructions(program, plain_name(program.name), folder).items():
            columns[column] += values
        names = [*(f"stall_{cause}" for cause in timings[0].stalls), *timings[0].work_by_instruction]
        for name, column in zip(names, np.asarray(counts).T, strict=True):
            columns.setdefault(name, []).extend(column.tolist())
    return columns


def _instructions(program: Program, kernel: str, folder: Path) -> dict[str, list[Any]]:
    origins = [lowered.origin for lowered in program.lowered]
    return {
        "kernel": [kernel] * len(origins),
        "pc": list(range(len(origins))),
        "instruction": [origin.spelling for origin in origins],
        "file": [_file(origin.source.file, folder) if origin.source else None for origin in origins],
        "line": [origin.source.line if origin.source else None for origin in origins],
        "load": [LOAD_CLASSES.get(int(one)) for one in program.load_classes],
        "in_loop": [looped for code in program.functions.values() for looped in in_loops(code.graph)],
    }


def load_tables(run: TimedProgram, folder: Path) -> dict[str, dict[str, list[Any]]]:
    """A row for each global load of each kernel, and one for each load and number of requests that it made."""
    from simtlab.host.module import plain_name
    from simtlab.machine.load_figures import added

    tables: dict[str, dict[str, list[Any]]] = {"loads": {}, "requests": {}}
    for loads in added(_timing(launch).loads for launch in run.launches):
        name, files = plain_name(loads.places.kernel), loads.places.files
        places: dict[str, list[Any]] = {"instruction": loads.places.instructions,
                                        "file": [_file(file, folder) if file else None for file in files]}  # fmt: skip
        for table, columns in (("loads", loads.table() | places), ("requests", loads.by_requests())):
            for column, values in {"kernel": [name] * len(columns["pc"]), **columns}.items():
                tables[table].setdefault(column, []).extend(values)
    return tables


def sharing_tables(gpu: Gpu) -> dict[str, dict[str, list[Any]]]:
    """A row with how many blocks CTAs share, and one for each class of load and distance between CTAs that share a block."""
    assert gpu.machine is not None, "experiments are timed"
    found = gpu.machine.sharing()
    rows = [(name, gap, count) for name, gaps in found.distances.items() for gap, count in gaps.items()]
    columns = zip(("class", "distance", "accesses"), zip(*rows, strict=True), strict=True) if rows else ()
    return {"sharing": {name: [value] for name, value in found.facts().items()},
            "distances": {name: list(values) for name, values in columns}}  # fmt: skip


def in_loops(graph: ControlFlowGraph) -> list[bool]:
    """Of each instruction of a function, whether it may come again: whether a way leads from its block back to it."""

    def comes_again(start: int) -> bool:
        seen, waiting = set(), list(graph.blocks[start].successors)
        while waiting:
            block = waiting.pop()
            if block == start:
                return True
            if block not in seen:
                seen.add(block)
                waiting += graph.blocks[block].successors
        return False

    looped = [comes_again(block) for block in range(len(graph.blocks))]
    return [looped[block] for block in graph.block_of]


@lru_cache(maxsize=256)
def _file(name: str, folder: Path) -> str:
    """A source file's name, in the workload's folder without it: where a folder lies makes no difference to a result."""
    path = Path(name)
    return path.relative_to(folder).as_posix() if folder in path.parents else path.name


def _timing(launch: Run) -> TimedRun:
    assert launch.timing is not None, "experiments are timed"
    return launch.timing
