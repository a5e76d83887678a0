"""Runs that are put into a store of results, and stored results run again to look at: a key stands for a program and a machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, BadInput
from simtlab.cli.plan import Options
from simtlab.cli.profile import Look, Target
from simtlab.cli.workloads import WorkloadAnswer, WorkloadOptions, input_files, is_workload
from simtlab.lab.machines import Host, MachineChoice
from simtlab.policies.choice import PolicyChoice
from simtlab.sampling.settings import read_sampling

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.lab.experiment import Experiment
    from simtlab.lab.store.result import Result
    from simtlab.report.profile import LaunchProfile

KEY = re.compile(r"[0-9a-f]{6,32}")
FROM_FILE = re.compile(r"=(.*\.npy)$", re.DOTALL)


# Into the store -------------------------------------------------------------------------------------------------------


def run_and_store(target: Target, machine: MachineChoice, look: Look, store: Path, run: Callable[[], Answer]) -> Answer:
    """Run something as it is, and put what it came to into a store. A run that was given up is not stored."""
    from simtlab.lab.applications import put, timed_launches
    from simtlab.lab.errors import SourcesChanged
    from simtlab.lab.ingredients import own_policies
    from simtlab.lab.run_experiment import record_of

    machine = target.machine(machine)
    if machine.gpu is None:
        raise BadInput("--store is for timed runs and needs a machine: add --gpu, for example --gpu caps-gtx480")
    before, begin = ingredients(target, machine), perf_counter()
    found = run()
    if getattr(found, "status", 0):
        return found
    seconds = perf_counter() - begin
    if ingredients(target, machine) != before:
        raise SourcesChanged(f"{target.file}: its sources were changed while it ran; run it again")
    assert look.gpu is not None
    done = timed_launches(target.file.name, [(run.program, run) for run in look.runs if run.program is not None])
    record = record_of(before, machine, done, look.gpu, folder_of(found, target.file), seconds)
    for slot, policy in {**own_policies(machine), **machine.policies}.items():
        if policy.name.endswith(".py"):  # with its file the result can be run again
            record.policies[slot]["file"] = str(Path(policy.name).resolve())
    put(store, record)
    return Stored(found, record.key, store)


def folder_of(found: Answer, file: Path) -> Path:
    """The folder that source files are named without: the program's or the workload's."""
    from simtlab.workloads.loading import find

    return find(file) if isinstance(found, WorkloadAnswer) else file.resolve().parent


def ingredients(target: Target, machine: MachineChoice) -> dict[str, Any]:
    """Everything that the result depends on; of a workload the same as in a sweep."""
    from simtlab.lab.applications import program_of_file
    from simtlab.lab.ingredients import Look as LookAtFiles

    if is_workload(target.file):
        return experiment_of(target, machine).ingredients()
    file = target.file.resolve()
    program = program_of_file(file, other_files(target, machine), parameters_of(target.program), target.seed)
    return LookAtFiles().on_machine(program, machine)


def experiment_of(target: Target, machine: MachineChoice) -> Experiment:
    from simtlab.lab.experiment import Experiment

    options = target.of_workload
    return Experiment(str(target.file), options.size or "small", machine, target.seed, files=input_files(options))


def other_files(target: Target, machine: MachineChoice) -> list[Path]:
    """What a run reads beside its file: the program that a .toml names, arrays."""
    from simtlab.cli.plan import make_plan
    from simtlab.cli.workloads import asks_for_the_program

    if asks_for_the_program(target.file, target.program):
        return []
    plan = make_plan(target.file, target.program, target.seed, machine)
    source = [plan.source] if plan.from_file else []
    return [*source, *(array.path for array in plan.arrays.values() if array.path is not None)]


def parameters_of(options: Options) -> dict[str, Any]:
    """What is launched, for the store: options that are given, names of files from the root on."""
    found = {name: value for name, value in vars(options).items() if name != "out" and value not in (None, [])}
    if options.arg:
        found["arg"] = [FROM_FILE.sub(lambda file: f"={Path(file[1]).resolve()}", text) for text in options.arg]
    if options.include:
        found["include"] = [str(folder.resolve()) for folder in options.include]
    return found


@dataclass(frozen=True)
class Stored:
    """What the run came to, and the key of its result."""

    run: Answer
    key: str
    store: Path

    def as_json(self) -> dict[str, Any]:
        return {**self.run.as_json(), "key": self.key, "store": str(self.store)}

    def show(self, console: Console) -> None:
        from simtlab.cli.results import short

        self.run.show(console)
        console.print(f"\nstored as {short(self.key)} in {self.store}", soft_wrap=True)


# Out of the store -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredRun:
    """A result of the store that can be run again, and the cycles that were stored."""

    name: str
    title: str
    cycles: int
    run: Callable[[Host], object]

    def figures(self) -> list[LaunchProfile]:
        """Run it again, and what it came to; an error if simtlab or the program has changed since and gives other cycles."""
        from simtlab.lab.tables import totals

        look = Look()
        self.run(look.on(Host(threads=1)))
        cycles = totals([run for run in look.runs if run.timing is not None]).get("cycles", 0)
        if cycles != self.cycles:
            changed = "its program, its policies or simtlab have changed since; run it anew to store it anew"
            raise BadInput(f"{self.title} takes {cycles:,} cycles now and took {self.cycles:,} when stored: {changed}")
        return look.figures()


def is_key(text: str) -> bool:
    """Whether it looks like the key of a result, and is no file or folder."""
    return KEY.fullmatch(text) is not None and not Path(text).exists()


def stored(key: str, store: Path | None) -> StoredRun:
    """The run that a key stands for."""
    from simtlab.lab.applications import FILE_SIZE, SIZE
    from simtlab.lab.experiment import Experiment
    from simtlab.lab.store.results import results

    found = results(store, versions="all").one(key)
    plain, inputs = found.plain, found.inputs
    if plain["size"] == SIZE:
        raise BadInput(f"the result {key} is of an application, which cannot be run from the store; give its .cu file")
    if inputs["files"]:
        raise BadInput(f"the result {key} was made with input files ({', '.join(inputs['files'])}), which the store does not hold")
    if plain["size"] == FILE_SIZE:
        return of_file(found)
    experiment = Experiment(plain["workload"], plain["size"], machine_of(found), inputs["seed"], inputs["parameters"])
    title = f"{plain['workload']} {plain['size']} on {name_of_machine(found)}"
    return StoredRun(experiment.workload, title, int(plain["cycles"]), lambda host: run_again(experiment, host))


def machine_of(found: Result) -> MachineChoice:
    """The machine of a result, from the values of all its keys: the file that it came from may be gone. Policies that do not
    come with simtlab are read from where they were."""
    from simtlab.machine.config import load

    policies = {slot: PolicyChoice(one.get("file", one["name"]), one["parameters"]) for slot, one in found.policies.items()}
    sample = read_sampling(found.inputs.get("sample"))
    config = load("gtx480").replace(found.machine)  # every key but those of policies is replaced
    return MachineChoice(config, {}, policies, sample=sample)


def name_of_machine(found: Result) -> str:
    policies = {slot: PolicyChoice(one["label"]) for slot, one in found.policies.items()}
    return str(MachineChoice(found.plain["gpu"], found.changes, policies, sample=read_sampling(found.inputs.get("sample"))))


def run_again(experiment: Experiment, host: Host) -> None:
    from simtlab.cli.progress import make_ready, show_cycles

    gpu = experiment.machine.build(host)
    gpu.watch = show_cycles
    make_ready(timed=True)
    experiment.program().run(gpu)


def of_file(found: Result) -> StoredRun:
    """The run of a program file, with the options that were given for it."""
    given: Mapping[str, Any] = found.inputs["parameters"]
    options = Options(
        given.get("kernel"), given.get("grid"), given.get("block"), given.get("arg", []), [], given.get("shared"),
        given.get("option", []), list(map(Path, given.get("include", []))),
    )  # fmt: skip
    target = Target(Path(given["file"]), options, WorkloadOptions(None, []), found.inputs["seed"])
    title, machine = f"{target.file.stem} on {name_of_machine(found)}", machine_of(found)
    return StoredRun(target.file.stem, title, int(found.plain["cycles"]), lambda host: target.run(machine, host, True))
