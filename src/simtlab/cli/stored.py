"""A stored result run again, to look at: its key stands for a program and a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simtlab.cli.answer import BadInput
from simtlab.cli.profile import Look
from simtlab.lab.machines import Host, MachineChoice

if TYPE_CHECKING:
    from simtlab.lab.experiment import Experiment
    from simtlab.report.profile import LaunchProfile

KEY = re.compile(r"[0-9a-f]{6,32}")


@dataclass(frozen=True)
class StoredRun:
    """An experiment of the store, and the cycles that were stored."""

    experiment: Experiment
    cycles: int

    def figures(self) -> list[LaunchProfile]:
        """Run it again, and what it came to; an error if simtlab or the program has changed since and gives other cycles."""
        from simtlab.cli.progress import make_ready, show_cycles

        look = Look()
        gpu = self.experiment.machine.build(look.on(Host(threads=1)))
        gpu.watch = show_cycles
        make_ready(timed=True)
        run = self.experiment.program().run(gpu)
        if run.cycles != self.cycles:
            changed = "its program, its policies or simtlab have changed since; a sweep stores it anew"
            raise BadInput(f"{self.experiment} takes {run.cycles:,} cycles now and took {self.cycles:,} when stored: {changed}")
        return look.figures()


def is_key(text: str) -> bool:
    """Whether it looks like the key of a result, and is no file or folder."""
    return KEY.fullmatch(text) is not None and not Path(text).exists()


def stored(key: str, store: Path | None) -> StoredRun:
    """The run that a key stands for."""
    from simtlab.lab.applications import SIZE
    from simtlab.lab.experiment import Experiment
    from simtlab.lab.store.results import results
    from simtlab.policies.choice import PolicyChoice

    found = results(store, versions="all").one(key)
    plain, inputs = found.plain, found.inputs
    if plain["size"] == SIZE:
        raise BadInput(f"the result {key} is of an application, which cannot be run from the store; give its .cu file")
    if inputs["files"]:
        raise BadInput(f"the result {key} was made with input files ({', '.join(inputs['files'])}), which the store does not hold")
    policies = {slot: PolicyChoice(one["name"], one["parameters"]) for slot, one in found.policies.items()}
    machine = MachineChoice(plain["gpu"], found.changes, policies)
    experiment = Experiment(plain["workload"], plain["size"], machine, inputs["seed"], inputs["parameters"])
    return StoredRun(experiment, int(plain["cycles"]))
