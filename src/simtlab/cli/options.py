"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Programs = Annotated[
    Path, typer.Argument(help="A .cu or .ptx file, a .toml file with several launches, or a workload: its name or folder.")
]
Kernels = Annotated[
    str | None, typer.Option(metavar="NAME", help="The kernel; a template as 'scale<float>'. Not needed if there is one.")
]
Grids = Annotated[str | None, typer.Option(metavar="SIZE", help="Blocks in the grid: 4096, 64x64 or 8,8,4.")]
Blocks = Annotated[str | None, typer.Option(metavar="SIZE", help="Threads in a block: 256, 16x16 or 8,8,4.")]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE",
        help="A kernel argument, in order: i32:1024, f32:2.5, 'f32[1024]=random', 'i32[64x64]=zeros', 'f32[]=x.npy', ptr:0.",
    ),
]
SharedBytes = Annotated[int | None, typer.Option(metavar="BYTES", help="Dynamic shared memory of a block, in bytes.")]
Seeds = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random arrays.")]
Sizes = Annotated[str | None, typer.Option("--size", metavar="SIZE", help="Of a workload: tiny, small (if left out) or paper.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=FILE", help="A workload's input from a file: graph=road.gr. May be repeated."),
]
CompilerOptions = Annotated[
    list[str] | None, typer.Option("--option", metavar="OPTION", help="An option for the CUDA compiler: --option=-DN=4.")
]
Folders = Annotated[list[Path] | None, typer.Option(metavar="DIR", help="A folder with headers.")]
Gpus = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The machine to time it on, a preset or a .toml file; functional if left out."),
]
Isas = Annotated[
    str | None,
    typer.Option(
        "--isa", metavar="ISA",
        help="What it executes: ptx, or machine code of sm_75 to sm_120; the machine's own if left out.",
    ),
]
Changes = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Change a key of the machine: l1d.ways=8. May be repeated.")
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SLOT=POLICY",
        help="A policy of the machine: warp_scheduler=gto, warp_scheduler=two-level,active_warps=6 or warp_scheduler=./mine.py.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Host threads to run on, which change no figure; if left out every core, for a timed run one."),
]
MaxCycles = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Stop a timed launch after so many cycles and say who waits for whom.")
]
SaveEvery = Annotated[
    float | None,
    typer.Option(min=0, metavar="MINUTES", help="Save a timed run every so many minutes, for --resume."),
]
SaveTo = Annotated[Path | None, typer.Option(metavar="FILE", help="Where to save it; the program's name and .saved if left out.")]
Resumed = Annotated[Path | None, typer.Option(metavar="FILE", help="Go on from a saved run of the same command.")]
Samples = Annotated[
    str | None,
    typer.Option(
        "--sample",
        metavar="HOW",
        help="Simulate in detail only in part and extrapolate: on, an error such as 0.03, or error=0.03,windows=4.",
    ),
]
Windows = Annotated[
    str | None,
    typer.Option(metavar="FIRST:LAST", help="The core cycles to look at: 10000:12000; if left out, from the first issue on."),
]
Cores = Annotated[int, typer.Option(min=0, metavar="N", help="The core to look at.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Stores = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The store of results; one in the user's data directory if left out.")
]
Processes = Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes to run on; one a core if left out.")]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786, or slurm to start one.")]
Patience = Annotated[
    float | None,
    typer.Option(min=1, metavar="SECONDS", help="A run without a sign of life for so long is ended and tried again; 1800."),
]
