"""Time the kernels of the suite on a machine and put them beside what a GPU took."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.correlate.cases import cases, is_held_out
from simtlab.errors import SimtlabError
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from simtlab.host.launch import Run

HERE = Path(__file__).parent / "measured"
# What is compared beside the cycles: our counters that make it up, and the GPU's.
COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "instructions": (("instructions",), ("instructions",)),
    "L1 sectors": (("l1_accesses",), ("l1_load_sectors", "l1_store_sectors", "atomic_sectors", "reduction_sectors",
                                      "local_load_sectors", "local_store_sectors")),
    "L2 sectors": (("l2_data_accesses",), ("l2_sectors",)),
    "DRAM bytes read": (("dram_read_bytes",), ("dram_read_bytes",)),
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What a GPU took: each kernel's metrics by their names in `on_gpu.py`."""

    gpu: str
    isa: str
    date: str
    kernels: Mapping[str, Mapping[str, float]]


def read_measured(name: str) -> Measured:
    """Of a GPU that comes with simtlab, by its preset's name, or from a file that `measure.py` wrote."""
    path = Path(name) if name.endswith(".json") else HERE / f"{name}.json"
    try:
        told = json.loads(path.read_text())
        return Measured(told["gpu"], told["isa"], told.get("date", ""), told["kernels"])
    except OSError:
        known = ", ".join(sorted(file.stem for file in HERE.glob("*.json")))
        raise SimtlabError(
            f"no measurements of '{name}': there are those of {known}, or the path of a file, measured.json"
        ) from None
    except (ValueError, KeyError, TypeError) as problem:
        raise SimtlabError(f"{path} is no file of measurements: {problem}") from None


@dataclass(frozen=True)
class Compared:
    """A kernel here and there."""

    name: str
    cycles: int
    measured: Mapping[str, float]
    counters: Mapping[str, float]
    seconds: float

    @property
    def error(self) -> float:
        """Of our cycles, as a share of the GPU's; positive if ours are more."""
        return self.cycles / self.measured["cycles"] - 1

    @property
    def is_held_out(self) -> bool:
        return is_held_out(self.name)


def ratio(row: Compared, name: str) -> float | None:
    """Ours of a column over the GPU's; None where it has none of it."""
    ours, theirs = COLUMNS[name]
    counted = sum(row.measured.get(one, 0) for one in theirs)
    return sum(row.counters[one] for one in ours) / counted if counted else None


def beside(row: Compared, name: str) -> str:
    found = ratio(row, name)
    return "–" if found is None else f"{found:.3f}"


def compare(
    machine: MachineChoice,
    measured: Measured,
    names: Sequence[str] = (),
    processes: int = 1,
    tell: Callable[[Compared], None] = lambda _: None,
) -> list[Compared]:
    """Every kernel that was measured, or those whose names begin so, in the order of the measurements."""
    wanted = sorted({case_name(name) for name in measured.kernels if not names or name.startswith(tuple(names))})
    if not wanted:
        raise SimtlabError(f"no kernel that was measured begins with {' or '.join(names)}")
    found: dict[str, Compared] = {}

    def take(rows: Iterable[Compared]) -> None:
        for row in rows:
            if not names or row.name.startswith(tuple(names)):
                found[row.name] = row
                tell(row)

    if processes == 1:
        for name in wanted:
            take(time_case(name, machine, measured))
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            for future in as_completed([pool.submit(time_case, name, machine, measured) for name in wanted]):
                take(future.result())
    return [found[name] for name in measured.kernels if name in found]


def case_name(kernel: str) -> str:
    return kernel.partition("/")[0]


def time_case(name: str, machine: MachineChoice, measured: Measured) -> list[Compared]:
    """The chosen launches of a case, each timed from empty caches; those before them run functionally."""
    from time import perf_counter

    from simtlab.correlate.launches import SelectedLaunches, choose

    (case,) = (one for one in cases([name]) if one.name == name)
    gpu = machine.build(Host(threads=1))
    begin = perf_counter()
    runs = SelectedLaunches(choose(case, gpu.isa), gpu).run()
    seconds = perf_counter() - begin
    dram = gpu.machine.config.dram  # type: ignore[union-attr]

    def counted(run: Run) -> dict[str, float]:
        burst, counters = dram.bus_bytes * dram.burst_length, run.counters
        own = {"instructions": run.instructions, "dram_read_bytes": counters["dram_read_accesses"] * burst,
               "l2_data_accesses": counters["l2_accesses"] - counters["l2_code_accesses"]}  # fmt: skip
        return {**counters, **own}

    return [Compared(one, run.cycles, measured.kernels[one], counted(run), seconds / len(runs))
            for one, run in runs.items() if one in measured.kernels]  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """Errors of cycles over some kernels, as shares."""

    kernels: int
    mean: float
    geometric_mean: float  # of how many times too long or too short
    median: float
    p90: float
    worst: float
    correlation: float | None  # of the logarithms; none of fewer than three

    @property
    def told_correlation(self) -> str:
        return "–" if self.correlation is None else f"{self.correlation:.3f}"

    @property
    def shares(self) -> tuple[float, ...]:
        return self.mean, self.geometric_mean, self.median, self.p90, self.worst


def summary(rows: Sequence[Compared]) -> Summary:
    errors = [abs(row.error) for row in rows]
    ratios = [abs(math.log(row.cycles / row.measured["cycles"])) for row in rows]
    ours, theirs = np.log([row.cycles for row in rows]), np.log([row.measured["cycles"] for row in rows])
    varied = len(rows) > 2 and np.ptp(ours) > 0 and np.ptp(theirs) > 0
    correlation = float(np.corrcoef(ours, theirs)[0, 1]) if varied else None
    return Summary(len(rows), fmean(errors), math.exp(fmean(ratios)) - 1, median(errors), float(np.percentile(errors, 90)),
                   max(errors), correlation)  # fmt: skip


def groups(rows: Sequence[Compared]) -> dict[str, Summary]:
    """All kernels, those that may be fitted to, and those that are kept out of it."""
    parts = {
        "all": rows,
        "open": [row for row in rows if not row.is_held_out],
        "held out": [row for row in rows if row.is_held_out],
    }
    return {name: summary(part) for name, part in parts.items() if part}


def as_json(rows: Sequence[Compared]) -> list[dict[str, Any]]:
    return [{"kernel": row.name, "held_out": row.is_held_out, "cycles": row.cycles, "measured_cycles": row.measured["cycles"],
             "error": row.error, "counters": dict(row.counters), "measured": dict(row.measured)} for row in rows]  # fmt: skip
