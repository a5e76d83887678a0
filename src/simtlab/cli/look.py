"""The commands that make something to look at: `simtlab profile` and `simtlab watch`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from simtlab.cli.answer import Answer, answer
from simtlab.cli.app import app
from simtlab.cli.options import (
    Arguments,
    Blocks,
    Changes,
    CompilerOptions,
    Cores,
    Folders,
    Grids,
    Inputs,
    Isas,
    Json,
    Kernels,
    Policies,
    Programs,
    Samples,
    Seeds,
    SharedBytes,
    Sizes,
    Stores,
    Windows,
)

Machines = Annotated[str, typer.Option(metavar="NAME", help="The machine to time it on: a preset or a .toml file.")]


@app.command()
def profile(
    file: Programs,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page; NAME.html if left out.")] = None,
    kernel: Kernels = None,
    grid: Grids = None,
    block: Blocks = None,
    arg: Arguments = None,
    shared: SharedBytes = None,
    option: CompilerOptions = None,
    include: Folders = None,
    seed: Seeds = 0,
    size: Sizes = None,
    input: Inputs = None,
    gpu: Machines = "h200",
    set: Changes = None,
    policy: Policies = None,
    isa: Isas = None,
    sample: Samples = None,
    store: Stores = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Compare with a stored result or another machine; '.' is this one unchanged."),
    ] = None,
    json: Json = False,
) -> None:
    """Run a kernel, a workload or a stored result on a machine, say where the cycles went, and write a page about it."""
    from simtlab.cli.plan import Options
    from simtlab.cli.profile import Target, measured, profile
    from simtlab.cli.stored import is_key, stored
    from simtlab.cli.workloads import WorkloadOptions
    from simtlab.lab.machines import Host, choose

    options = Options(kernel, grid, block, arg or [], [], shared, option or [], include or [])
    target = Target(file, options, WorkloadOptions(size, input or []), seed)

    def work() -> Answer:
        machine = choose(gpu, set or [], policy or [], isa, sample)
        against = None
        if baseline is not None and is_key(baseline):
            against = stored(baseline, store).figures
        elif baseline is not None:
            against = partial(measured, target, choose(gpu if baseline == "." else baseline, [], [], isa), Host(), json)
        if is_key(str(file)):
            run = stored(str(file), store)
            return profile(run.name, run.title, output, run.figures, against)
        return profile(file.stem, f"{file.stem} on {machine}", output, partial(measured, target, machine, Host(), json), against)

    answer(work, json)


@app.command()
def watch(
    file: Programs,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a page to step through in place of the text.")
    ] = None,
    kernel: Kernels = None,
    grid: Grids = None,
    block: Blocks = None,
    arg: Arguments = None,
    shared: SharedBytes = None,
    option: CompilerOptions = None,
    include: Folders = None,
    seed: Seeds = 0,
    size: Sizes = None,
    input: Inputs = None,
    gpu: Machines = "caps-gtx480",
    set: Changes = None,
    policy: Policies = None,
    isa: Isas = None,
    window: Windows = None,
    core: Cores = 0,
    json: Json = False,
) -> None:
    """Show the pipeline of a core cycle by cycle: warps, SIMT stacks, scoreboard, collectors, units, MSHRs."""
    from simtlab.cli.plan import Options
    from simtlab.cli.profile import Target, read_window, watched
    from simtlab.cli.workloads import WorkloadOptions
    from simtlab.lab.machines import Host, choose

    options = Options(kernel, grid, block, arg or [], [], shared, option or [], include or [])
    target = Target(file, options, WorkloadOptions(size, input or []), seed)

    def work() -> Answer:
        machine = choose(gpu, set or [], policy or [], isa)
        return watched(target, machine, Host(), read_window(core, window, 200), output, json)

    answer(work, json)
