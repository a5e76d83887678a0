"""`simtlab loads … --gpu NAME`: what the global loads of a program did on a machine, by class and load by load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.inspect import read_lines
from simtlab.cli.plan import Options
from simtlab.cli.run import RunAnswer
from simtlab.cli.tables import show_facts, show_table
from simtlab.cli.workloads import WorkloadAnswer, WorkloadOptions, run_program_or_workload
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.cli.timing import Timing
    from simtlab.machine.load_figures import Loads, Sharing

CLASSES = {"D": "deterministic", "N": "non-deterministic"}
FAILURES = ("fail_tag", "fail_mshr", "fail_network")
L1_CYCLES = {"hit": "hit", "hit_reserved": "hit reserved", "miss": "miss", "fail_tag": "reservation failure, tag",
             "fail_mshr": "reservation failure, MSHR", "fail_network": "reservation failure, network"}  # fmt: skip
PARTS = {"unloaded": "unloaded latency", "by_earlier": "waiting for earlier warps", "by_itself": "first to last request",
         "memory": "lost in network, L2, DRAM"}  # fmt: skip


def time_loads(file: Path, program: Options, of_workload: WorkloadOptions, machine: MachineChoice, seed: int) -> Answer:
    """Run what is named on a machine, and show its loads."""
    done = run_program_or_workload(file, program, of_workload, machine, seed, Host())
    if isinstance(done, WorkloadAnswer):
        name, folder = f"{done.run.name}, size {done.run.size}", Path(file)
    else:
        name, folder = str(file), Path(file).parent
    assert isinstance(done, WorkloadAnswer | RunAnswer)
    if done.timing is None:
        raise BadInput(f"{file}: no launch has come to its end, so there are no loads to show")
    return TimedLoads(name, folder, done.timing)


@dataclass(frozen=True)
class TimedLoads:
    """The loads of launches on one machine."""

    source: str
    folder: Path
    timing: Timing

    def kernels(self) -> list[Loads]:
        from simtlab.machine.load_figures import added

        return added(run.loads for _, run in self.timing.runs)

    def sharing(self) -> Sharing:
        return self.timing.machine.sharing()

    def as_json(self) -> dict[str, Any]:
        from simtlab.machine.load_figures import summed

        kernels, found = self.kernels(), self.sharing()
        return {
            "source": self.source, "gpu": self.timing.choice.gpu, "classes": summed(kernels),
            "kernels": [{"kernel": loads.places.readable_name, "loads": loads.table(), "requests": loads.by_requests()}
                        for loads in kernels],
            "sharing": {**found.facts(), "distances": found.distances},
            "shared_loads": self.timing.counters["shared_loads"], "idle": self.idle(),
        }  # fmt: skip

    def show(self, console: Console) -> None:
        from simtlab.machine.load_figures import summed

        show_facts(console, [("program", self.source), ("machine", str(self.timing.choice.gpu))])
        console.print()
        show_table(console, ["", *CLASSES.values()], class_rows(summed(self.kernels())), right=(1, 2))
        for loads in self.kernels():
            if loads.pcs.size:
                console.print(f"\n{loads.places.readable_name}, load by load", soft_wrap=True)
                header = ["line", "source", "class", "executed", "requests", "L1 hits", "failed", "turnaround"]
                show_table(console, header, load_rows(loads, self.folder), right=(0, 3, 4, 5, 6, 7))
        console.print()
        show_facts(console, [*sharing_facts(self.sharing()), *self.other_facts()])

    def idle(self) -> dict[str, float]:
        from simtlab.machine.utilisation import idle_units

        config, timing = self.timing.config, self.timing
        units = {name: config.units.number_of(name) for name in ("sp", "sfu")}
        return idle_units(timing.counters, timing.cycles * config.core.cores, units)

    def other_facts(self) -> list[tuple[str, str]]:
        executed = sum(int(loads["executed"].sum()) for loads in self.kernels())
        idle = ", ".join(f"{unit} {share:.1%}" for unit, share in self.idle().items())
        return [("shared loads", f"{ratio(self.timing.counters['shared_loads'], executed)} a global load"), ("idle units", idle)]


def ratio(over: float, under: float, form: str = ".2f") -> str:
    """A quotient in words; a dash where nothing was counted."""
    return format(over / under, form) if under else "–"


def class_rows(sums: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """What the loads of each class did, quantity by quantity."""

    def row(title: str, over: str, under: Sequence[str], form: str) -> list[str]:
        return [title, *(ratio(sums[name][over], sum(sums[name][part] for part in under), form) for name in CLASSES)]

    return [
        ["executed by warps", *(f"{sums[name]['executed']:,}" for name in CLASSES)],
        row("requests a warp", "requests", ["executed"], ".2f"),
        row("requests an active thread", "requests", ["threads"], ".3f"),
        *(row(f"L1 cycles: {words}", name, list(L1_CYCLES), ".1%") for name, words in L1_CYCLES.items()),
        row("L1 misses", "miss", ["hit", "hit_reserved", "miss"], ".1%"),
        row("L2 misses", "l2_miss", ["l2_hit", "l2_hit_reserved", "l2_miss"], ".1%"),
        row("turnaround, cycles", "turnaround", ["executed"], ",.1f"),
        *(row(f"  {words}", name, ["executed"], ",.1f") for name, words in PARTS.items()),
    ]


def load_rows(loads: Loads, folder: Path) -> list[list[str]]:
    sources: dict[str, list[str]] = {}
    rows, columns = [], loads.table()
    for k, (file, line) in enumerate(zip(loads.places.files, loads.places.lines, strict=True)):
        text = ""
        if file is not None and line is not None:
            lines = sources.setdefault(file, read_lines(file, folder))
            text = lines[line - 1].strip() if line <= len(lines) else ""
        executed, requests = columns["executed"][k], columns["requests"][k]
        failed = sum(columns[name][k] for name in FAILURES)
        rows.append([
            str(columns["line"][k] or ""), text, columns["class"][k], f"{executed:,}", ratio(requests, executed),
            ratio(columns["hit"][k], requests, ".1%"), ratio(failed, failed + requests, ".1%"),
            ratio(columns["turnaround"][k], executed, ",.1f"),
        ])  # fmt: skip
    return rows


def sharing_facts(found: Sharing) -> list[tuple[str, str]]:
    """Blocks and the CTAs that share them, in words."""
    apart: dict[int, int] = {}
    for gaps in found.distances.values():
        for gap, count in gaps.items():
            apart[gap] = apart.get(gap, 0) + count
    most = sorted(apart, key=lambda gap: -apart[gap])[:3]
    facts = [
        ("128-byte blocks read", f"{found.blocks:,}, {ratio(found.accesses, found.blocks)} accesses each"),
        ("first accesses", f"{found.cold_miss_ratio:.1%} of all"),
        ("read by several CTAs", f"{ratio(found.shared_blocks, found.blocks, '.1%')} of the blocks, "
                                 f"{ratio(found.shared_accesses, found.accesses, '.1%')} of the accesses, "
                                 f"{ratio(found.sharers, found.shared_blocks)} CTAs a block"),
    ]  # fmt: skip
    if most:
        shares = ", ".join(f"{gap} ({apart[gap] / sum(apart.values()):.0%})" for gap in most)
        facts.append(("distance of these CTAs", shares))
    return facts
