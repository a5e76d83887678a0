"""The commands and their options. What they need is imported when they run, so that help comes at once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from simtlab import __version__
from simtlab.cli.answer import Answer, answer
from simtlab.cli.options import (
    Arguments,
    Blocks,
    Changes,
    CompilerOptions,
    Cores,
    Dask,
    Folders,
    Gpus,
    Grids,
    Inputs,
    Isas,
    Json,
    Kernels,
    MaxCycles,
    Patience,
    Policies,
    Processes,
    Programs,
    Resumed,
    Samples,
    SaveEvery,
    SaveTo,
    Seeds,
    SharedBytes,
    Sizes,
    Stores,
    Threads,
    Windows,
)

app = typer.Typer(
    name="simtlab",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
lists = typer.Typer(help="Print what simtlab knows.")
app.add_typer(lists, name="list", no_args_is_help=True)

def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"simtlab {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def simtlab(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """A GPU microarchitecture lab: run CUDA C++ and PTX kernels without a GPU, bit for bit as one would."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@app.command()
def run(
    file: Programs,
    kernel: Kernels = None,
    grid: Grids = None,
    block: Blocks = None,
    arg: Arguments = None,
    out: Annotated[
        list[str] | None,
        typer.Option(metavar="INDEX:FILE", help="Write an array argument after the run: 3:y.npy. Counted from 0."),
    ] = None,
    shared: SharedBytes = None,
    option: CompilerOptions = None,
    include: Folders = None,
    threads: Threads = None,
    max_cycles: MaxCycles = None,
    check_policies: Annotated[
        bool, typer.Option("--check-policies", help="Check simtlab's own policies as those from other files always are.")
    ] = False,
    seed: Seeds = 0,
    size: Sizes = None,
    input: Inputs = None,
    gpu: Gpus = None,
    set: Changes = None,
    policy: Policies = None,
    isa: Isas = None,
    sample: Samples = None,
    trace: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a trace for Perfetto: t.json.gz.")] = None,
    window: Windows = None,
    core: Cores = 0,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help="Put what was timed into a store of results.")] = None,
    save_every: SaveEvery = None,
    save_to: SaveTo = None,
    resume: Resumed = None,
    json: Json = False,
) -> None:
    """Run a kernel, or a workload, and show what it did."""
    from simtlab.cli.plan import Options
    from simtlab.cli.profile import Look, Target, read_window, traced
    from simtlab.cli.stored import run_and_store
    from simtlab.cli.workloads import WorkloadOptions
    from simtlab.lab.machines import Host, Saves, choose

    options = Options(kernel, grid, block, arg or [], out or [], shared, option or [], include or [])
    target = Target(file, options, WorkloadOptions(size, input or []), seed)

    def work() -> Answer:
        machine = choose(gpu, set or [], policy or [], isa, sample)
        saves = Saves(save_every, save_to or Path(f"{Path(file).stem}.saved"), resume)
        host = Host(threads, max_cycles, check_policies, saves=saves)
        look = Look(None if trace is None else read_window(core, window, 2000), has_curves=False)

        def run() -> Answer:
            if trace is not None:
                return traced(target, machine, host, trace, look, json)
            return target.run(machine, host if store is None else look.on(host), json)

        return run() if store is None else run_and_store(target, machine, look, store, run)

    answer(work, json)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def exec(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="PROGRAM [ARGUMENT]...", help="A program made by `simtlab nvcc`.")
    ] = None,
    gpu: Gpus = None,
    set: Changes = None,
    policy: Policies = None,
    isa: Isas = None,
    sample: Samples = None,
    threads: Threads = None,
    max_cycles: MaxCycles = None,
    kernels: Annotated[str, typer.Option(metavar="REGEX", help="Time only kernels whose names match; others run untimed.")] = "",
    launches: Annotated[
        str, typer.Option(metavar="FIRST:LAST", help="Of these kernels' launches, time the third to the tenth with 3:10.")
    ] = "",
    fast_forward: Annotated[
        int, typer.Option(min=0, metavar="N", help="Time only launches that begin after so many warp instructions.")
    ] = 0,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help="Put what was timed into a store of results.")] = None,
    checkpoint_at: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Write a checkpoint before a launch, counted from 1.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file of the checkpoint; PROGRAM.N.checkpoint if left out.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Run the launch of a checkpoint, without a program.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at accesses outside every allocation that a GPU lets through by chance.")
    ] = False,
    races: Annotated[
        bool,
        typer.Option("--races", help="Say where warps of a block touch the same word, one of them writing, without a barrier."),
    ] = False,
    json: Json = False,
) -> None:
    """Run a whole CUDA application, unmodified, without a GPU. Its exit status is simtlab's."""
    from simtlab.cli import applications
    from simtlab.lab.machines import Host, choose

    def work() -> Answer:
        machine, host = choose(gpu, set or [], policy or [], isa, sample), Host(threads, max_cycles)
        if resume is not None or not command:
            return applications.resume_instead(resume, command, machine, host)
        selection = applications.read_selection(kernels, launches, gpu is not None, fast_forward, checkpoint_at is not None)
        wishes = applications.Wishes(selection, strict, races, store, checkpoint_at, checkpoint)
        return applications.execute(command, machine, host, json, wishes)

    answer(work, json)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def nvcc(context: typer.Context) -> None:
    """Compile a whole CUDA application with NVIDIA's nvcc, for `simtlab exec`; all options are nvcc's own."""
    from simtlab.cli.answer import fail
    from simtlab.errors import SimtlabError
    from simtlab.runtime.nvcc import compile_program

    try:
        raise typer.Exit(compile_program(context.args))
    except SimtlabError as error:
        fail(error, None)


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="A .toml study: workloads, size, gpu, [policies], [set]; every list is an axis.")],
    store: Stores = None,
    processes: Processes = None,
    dask: Dask = None,
    patience: Patience = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would run and how long it may take.")] = False,
    json: Json = False,
) -> None:
    """Run the experiments of a study that the store lacks, on every core or on a Dask cluster."""
    from simtlab.cli.sweep import Place, sweep_file

    answer(lambda: sweep_file(file, Place(store, processes, dask, patience), plan), json)


@app.command()
def paper(
    name: Annotated[str, typer.Argument(help="The study: `simtlab list papers` shows them; or a .py file with a STUDY.")],
    size: Annotated[str | None, typer.Option("--size", metavar="SIZE", help="Of the workloads: tiny, small or paper.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="FIGURE", help="Only this figure. May be repeated.")] = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another machine, beside the study's own: a preset or a .toml file. May be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write; a folder of the study's name if left out.")
    ] = None,
    store: Stores = None,
    processes: Processes = None,
    dask: Dask = None,
    patience: Patience = None,
    json: Json = False,
) -> None:
    """Run a paper's experiments and write its figures and tables, ours beside the paper's."""
    from simtlab.cli.paper import run_study
    from simtlab.cli.sweep import Place

    answer(lambda: run_study(name, size, only or [], gpu or [], out, Place(store, processes, dask, patience)), json)


@app.command()
def results(
    key: Annotated[str | None, typer.Argument(help="The first letters of a result's key: show that one.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION", help="workload=BFS, l1d.ways=8, 'ipc>=2'. May be repeated.")
    ] = None,
    store: Stores = None,
    compare: Annotated[str | None, typer.Option(metavar="KEY", help="Another result, to put beside the first.")] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="A table of the result: launches, instructions.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="List the experiments that failed.")] = False,
    export: Annotated[Path | None, typer.Option(metavar="FILE", help="Write them to a .csv, .json or .parquet file.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also results by code that was changed since.")] = False,
    old: Annotated[bool, typer.Option("--old", help="Only results by code that was changed since.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Remove them: one by its KEY, those of --where, or --old ones.")] = False,
    salvage: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Copy what can be read of a damaged store to a new one.")
    ] = None,
    json: Json = False,
) -> None:
    """List stored results, show one, compare two, export or delete them."""
    from simtlab.cli.results import Question, look_up, versions_of

    def work() -> Answer:
        versions = versions_of(all, old)
        return look_up(Question(key, where or [], store, versions, compare, table, failed, export, delete, salvage))

    answer(work, json)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A .cu or .ptx file.")],
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kernel; a template as 'scale<float>'.")] = None,
    ptx: Annotated[bool, typer.Option("--ptx", help="Show the PTX beside the CUDA lines it came from.")] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Show the machine code under the CUDA lines it came from.")] = False,
    isa: Annotated[str, typer.Option(metavar="ARCH", help="The architecture of the machine code: sm_75 to sm_120.")] = "sm_90",
    option: CompilerOptions = None,
    include: Folders = None,
    json: Json = False,
) -> None:
    """Show a file's kernels: parameters, registers, memory, basic blocks, PTX by source line, machine code."""
    from simtlab.cli.inspect import look_into
    from simtlab.cli.machine_code import look_at_machine_code

    if sass:
        return answer(lambda: look_at_machine_code(file, kernel, isa, option or [], include or []), json)
    answer(lambda: look_into(file, kernel, ptx, option or [], include or []), json)


@app.command()
def loads(
    file: Programs,
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kernel; a template as 'scale<float>'.")] = None,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Run it on this machine and show what the loads did; the classes alone if left out."),
    ] = None,
    set: Changes = None,
    policy: Policies = None,
    isa: Isas = None,
    size: Sizes = None,
    input: Inputs = None,
    grid: Grids = None,
    block: Blocks = None,
    arg: Arguments = None,
    shared: SharedBytes = None,
    seed: Seeds = 0,
    locality: Annotated[bool, typer.Option("--locality", help="With --gpu: kinds of locality, and which loads to cache.")] = False,
    option: CompilerOptions = None,
    include: Folders = None,
    json: Json = False,
) -> None:
    """Show which global loads are deterministic: their addresses are known at the launch. Of the others, show why not.

    With --gpu, run the program and show what loads of both classes did to the memory system.
    """
    from simtlab.cli.plan import Options
    from simtlab.cli.workloads import WorkloadOptions
    from simtlab.lab.machines import choose

    options = Options(kernel, grid, block, arg or [], [], shared, option or [], include or [])
    of_workload = WorkloadOptions(size, input or [])

    def work() -> Answer:
        if gpu is None:
            from simtlab.cli.loads import find_loads

            refuse_without_gpu(set, policy, locality or None, options, of_workload)
            return find_loads(file, kernel, option or [], include or [])
        from simtlab.cli.load_figures import time_loads
        from simtlab.cli.locality import show_locality

        machine = choose(gpu, set or [], policy or [], isa)
        return (show_locality if locality else time_loads)(file, options, of_workload, machine, seed)

    answer(work, json)


def refuse_without_gpu(set: Any, policy: Any, locality: Any, options: Any, of_workload: Any) -> None:
    """What says how to run a program is of no use where it is not run."""
    from simtlab.cli.answer import BadInput

    given = {"set": set, "policy": policy, "locality": locality, "size": of_workload.size, "input": of_workload.input,
             "grid": options.grid, "block": options.block, "arg": options.arg, "shared": options.shared}  # fmt: skip
    for name, value in given.items():
        if value not in (None, []):
            raise BadInput(f"--{name} needs --gpu: without a machine the program is not run, and its loads are only classified")


@lists.command("ptx")
def list_ptx(
    markdown: Annotated[bool, typer.Option("--markdown", help="As the page docs/ptx.md.")] = False,
) -> None:
    """Print the supported PTX instructions, family by family."""
    from simtlab.cli.ptx_table import as_markdown, as_text

    typer.echo(as_markdown() if markdown else as_text(), nl=False)


@lists.command("workloads")
def list_workloads(
    markdown: Annotated[bool, typer.Option("--markdown", help="As the page docs/workloads.md.")] = False,
    json: Json = False,
) -> None:
    """Print the workloads: suite, category, launches, warp instructions and share of global loads at each size."""
    if markdown:
        from simtlab.cli.workloads import resident_ctas
        from simtlab.workloads.page import as_markdown

        typer.echo(as_markdown(resident_ctas), nl=False)
        return
    from simtlab.cli.workloads import list_workloads

    answer(list_workloads, json)


@lists.command("gpus")
def list_gpus(json: Json = False) -> None:
    """Print the machines that come with simtlab: cores, clock, caches, memory."""
    from simtlab.cli.machine_lists import list_gpus

    answer(list_gpus, json)


@lists.command("policies")
def list_policies(json: Json = False) -> None:
    """Print the policies that come with simtlab: slot, name, parameters, what each does."""
    from simtlab.cli.machine_lists import list_policies

    answer(list_policies, json)


@lists.command("papers")
def list_papers(json: Json = False) -> None:
    """Print the studies that `simtlab paper` can carry out, with their figures."""
    from simtlab.cli.paper import list_papers

    answer(list_papers, json)
