"""`simtlab loads … --gpu NAME --locality`: the kinds of locality of a program's global loads, and which of them to cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.load_figures import TimedLoads, time_loads
from simtlab.cli.plan import Options
from simtlab.cli.tables import show_facts, show_table
from simtlab.cli.workloads import WorkloadOptions
from simtlab.lab.locality import HEADER, SECTOR_BYTES, LoadLocality, locality_of, note_of, rows_of
from simtlab.lab.machines import MachineChoice
from simtlab.machine.hooks import MECHANISMS
from simtlab.policies.choice import read_choice

if TYPE_CHECKING:
    from rich.console import Console

ANALYSIS = "jia-taxonomy"


def show_locality(file: Path, program: Options, of_workload: WorkloadOptions, machine: MachineChoice, seed: int) -> Answer:
    """Run what is named with the analysis beside the policies that were chosen, and show what it counted."""
    timed = time_loads(file, program, of_workload, with_analysis(machine), seed)
    assert isinstance(timed, TimedLoads)
    return LocalityAnswer(timed)


def with_analysis(machine: MachineChoice) -> MachineChoice:
    """The machine with the analysis in a slot that is free, and sectors in its L1, by which it knows what loads would move."""
    if any(policy.name.replace("_", "-") == ANALYSIS for policy in machine.policies.values()):
        policies = machine.policies
    else:
        free = [slot for slot in MECHANISMS if slot not in machine.policies]
        if not free:
            raise BadInput(f"--locality needs one of {', '.join(MECHANISMS)} for itself, and all have a mechanism")
        policies = {**machine.policies, free[0]: read_choice(ANALYSIS)}
    return replace(machine, policies=policies, changes={"l1d.sector_bytes": SECTOR_BYTES, **machine.changes})


@dataclass(frozen=True)
class LocalityAnswer:
    """The kinds of locality of the loads of every kernel, all its launches together."""

    timed: TimedLoads

    def kernels(self) -> list[tuple[str, list[LoadLocality], Mapping[str, float]]]:
        """Every kernel's name, its loads, and what was counted of it."""
        sums: dict[str, Counter[str]] = {}
        for _, run in self.timed.timing.runs:
            sums.setdefault(run.loads.places.kernel, Counter()).update(
                {name: value for name, value in run.counters.items() if ANALYSIS in name}
            )
        places = {loads.places.kernel: loads.places for loads in self.timed.kernels()}
        l1d = self.timed.timing.config.l1d
        return [(places[name].readable_name, locality_of(counts, places[name], l1d), counts) for name, counts in sums.items()]

    def as_json(self) -> dict[str, Any]:
        kernels = [{"kernel": name, "loads": [asdict(load) for load in loads]} for name, loads, _ in self.kernels()]
        return {"source": self.timed.source, "gpu": self.timed.timing.choice.gpu, "kernels": kernels}

    def show(self, console: Console) -> None:
        show_facts(console, [("program", self.timed.source), ("machine", str(self.timed.timing.choice.gpu))])
        for name, loads, counts in self.kernels():
            if loads:
                console.print(f"\n{name}", soft_wrap=True)
                show_table(console, HEADER, rows_of(loads), right=(0, *range(2, len(HEADER) - 1)))
            for line in note_of(counts):
                console.print(line, soft_wrap=True)
