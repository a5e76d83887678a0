"""Sampled against full runs of the workloads: how much faster, and how far off; the table of docs/sampling.md.

    python benchmarks/sampling.py results.json --size paper --processes 16 [NAME …]
    python benchmarks/sampling.py results.json --table

Every program is run twice, in full and sampled, each in a process of its own with one host thread. What has been measured is kept
in the file; a second call runs what is missing. Seconds are the processor time of the launches: input, compiling and checking
apart. Results are compared byte by byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KINDS = {"full": None, "sampled": True}
MEAN_GOAL, WORST_GOAL, FASTER_GOAL = 0.03, 0.10, 10


def measure(name: str, size: str, machine: str, kind: str) -> dict[str, Any]:
    """Run a program once."""
    import numpy as np

    import simtlab as sl

    for one in (sl.Gpu(threads=1), sl.Gpu(machine, threads=1, sample=KINDS[kind])):  # everything compiled and loaded
        sl.workload("MM", size="tiny").run(one)
    gpu, spent = sl.Gpu(machine, threads=1, sample=KINDS[kind]), 0.0

    @contextmanager
    def watch(kernel: str) -> Iterator[None]:
        nonlocal spent
        begin = time.process_time()
        yield
        spent += time.process_time() - begin

    gpu.watch = watch
    run = sl.workload(name, size=size).run(gpu, check_result=False)
    digest = hashlib.sha256()
    for output in sorted(run.outputs):
        digest.update(np.ascontiguousarray(run.outputs[output]).tobytes())
    timings = [launch.timing for launch in run.launches if launch.timing]
    marks = [timing.sampled for timing in timings if timing.sampled]
    detailed = sum(mark.share * timing.instructions for mark, timing in zip(marks, timings, strict=False))
    return {
        "seconds": spent, "cycles": run.cycles, "instructions": run.instructions, "launches": len(run.launches),
        "results": digest.hexdigest()[:16], "share": detailed / run.instructions if marks else 1.0,
        "bar": sum(mark.error * timing.cycles for mark, timing in zip(marks, timings, strict=False)) / run.cycles,
        "reasons": sorted({mark.reason for mark in marks if mark.reason}),
    }  # fmt: skip


def run_missing(file: Path, names: list[str], size: str, machine: str, processes: int) -> None:
    """Measure what the file does not have, and keep each result at once."""
    known = read(file)
    tasks = [(name, size, machine, kind) for name in names for kind in KINDS if key(name, size, machine, kind) not in known]
    with ProcessPoolExecutor(processes, max_tasks_per_child=1) as pool:
        under_way = {pool.submit(measure, *task): task for task in tasks}
        for future in as_completed(under_way):
            task = under_way[future]
            try:
                found = future.result()
            except Exception as problem:  # a program that cannot run must not stop the others
                print(f"{' '.join(task)}: {type(problem).__name__}: {problem}", flush=True)
                continue
            known = read(file) | {key(*task): found}
            temporary = file.with_suffix(".new")
            temporary.write_text(json.dumps(known, indent=1))
            os.replace(temporary, file)
            print(f"{' '.join(task)}: {found['cycles']:,} cycles in {found['seconds']:.1f} s", flush=True)


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def key(name: str, size: str, machine: str, kind: str) -> str:
    return f"{name} {size} {machine} {kind}"


def table(file: Path) -> str:
    """The programs that were run both ways, and what they come to together."""
    known = read(file)
    pairs = {name.rsplit(" ", 1)[0] for name in known if f"{name.rsplit(' ', 1)[0]} full" in known}
    rows, errors, times = [], [], [0.0, 0.0]
    for program in sorted(pair for pair in pairs if f"{pair} sampled" in known):
        full, sampled = (known[f"{program} {kind}"] for kind in KINDS)
        error = sampled["cycles"] / full["cycles"] - 1
        same = "yes" if full["results"] == sampled["results"] and full["instructions"] == sampled["instructions"] else "NO"
        errors.append(error)
        times = [times[0] + full["seconds"], times[1] + sampled["seconds"]]
        rows.append(f"| {program} | {full['launches']} | {full['instructions']:,} | {full['cycles']:,} | {sampled['cycles']:,} | "
                    f"{100 * error:+.2f}% | ±{100 * sampled['bar']:.1f}% | {100 * sampled['share']:.1f}% | {full['seconds']:.1f} | "
                    f"{sampled['seconds']:.1f} | {full['seconds'] / sampled['seconds']:.1f} | {same} |")  # fmt: skip
    header = ["program", "launches", "warp instructions", "cycles in full", "sampled", "error", "its bar", "in detail",
              "seconds in full", "sampled", "times faster", "same results"]  # fmt: skip
    lines = [f"| {' | '.join(header)} |", "|---|" + "--:|" * (len(header) - 1), *rows]
    if errors:
        mean, worst = sum(map(abs, errors)) / len(errors), max(map(abs, errors))
        lines += ["", f"{len(errors)} programs: {times[0]:.0f} s in full, {times[1]:.0f} s sampled, {times[0] / times[1]:.1f} "
                      f"times faster together (goal {FASTER_GOAL}); mean error {100 * mean:.2f}% (goal {100 * MEAN_GOAL:g}%), "
                      f"worst {100 * worst:.2f}% (goal {100 * WORST_GOAL:g}%)."]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all of them if none is named")
    parser.add_argument("--size", default="paper")
    parser.add_argument("--machine", default="caps-gtx480")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print the table of what was measured")
    given = parser.parse_intermixed_args()
    if given.table:
        print(table(given.file))
        return
    from simtlab.workloads.loading import workloads

    run_missing(given.file, given.names or workloads(), given.size, given.machine, given.processes)
    print(table(given.file))


if __name__ == "__main__":
    main()
