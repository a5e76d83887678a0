"""`simtlab correlate`: a machine beside the GPU that it stands for, kernel by kernel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simtlab.cli.answer import Answer, BadInput, answer
from simtlab.cli.app import app
from simtlab.cli.options import Changes, Isas, Json

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.correlate.compare import Compared, Measured


@app.command()
def correlate(
    kernels: Annotated[
        list[str] | None, typer.Argument(metavar="[KERNEL]...", help="How their names begin; all if left out.")
    ] = None,
    gpu: Annotated[str, typer.Option(metavar="NAME", help="The machine: a preset or a .toml file.")] = "h200",
    against: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose figures: a preset's, or a file that measure.py wrote; --gpu's if left out."),
    ] = None,
    set: Changes = None,
    isa: Isas = None,
    processes: Annotated[int | None, typer.Option(min=1, metavar="N", help="Host processes; every core if left out.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a page with a chart.")] = None,
    measure: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Time nothing: write a script that measures the kernels on a GPU.")
    ] = None,
    json: Json = False,
) -> None:
    """Time kernels on a machine and compare them with what a real GPU took.

    With --measure DIR, write a kit for a GPU of your own: copy it there, run measure.py, and give --against measured.json.
    """

    def work() -> Answer:
        if measure is not None:
            return write_measuring_kit(measure, kernels or [], isa or "sm_90")
        from simtlab.correlate.compare import compare, read_measured
        from simtlab.host.settings import usual_threads
        from simtlab.lab.machines import choose

        measured = read_measured(against or gpu)
        machine = choose(gpu, set or [], [], isa or measured.isa)
        if output is not None and not output.resolve().parent.is_dir():
            raise BadInput(f"cannot write {output}: there is no such folder")
        rows = compare(machine, measured, kernels or [], processes or usual_threads(), Progress(len(measured.kernels)))
        found = CorrelationAnswer(str(machine), measured, rows, output)
        if output is not None:
            from simtlab.correlate.page import write_page

            write_page(output, str(machine), measured, rows)
        return found

    answer(work, json)


class Progress:
    """A line for each kernel, on stderr."""

    def __init__(self, most: int):
        self.most, self.done = most, 0

    def __call__(self, row: Compared) -> None:
        self.done += 1
        told(f"{self.done} of {self.most}  {row.name}: {row.cycles:,} cycles, {row.error:+.0%}")


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class CorrelationAnswer:
    machine: str
    measured: Measured
    rows: Sequence[Compared]
    page: Path | None

    def as_json(self) -> dict[str, Any]:
        from simtlab.correlate.compare import as_json, groups

        return {"machine": self.machine, "gpu": self.measured.gpu, "date": self.measured.date, "kernels": as_json(self.rows),
                "summaries": {name: asdict(one) for name, one in groups(self.rows).items()}}  # fmt: skip

    def show(self, console: Console) -> None:
        from simtlab.cli.tables import show_table
        from simtlab.correlate.compare import COLUMNS, beside, groups

        header = ["kernel", "held out", "cycles", "GPU", "error", *COLUMNS]
        rows = [[row.name, "yes" * row.is_held_out, f"{row.cycles:,}", f"{row.measured['cycles']:,.0f}", f"{row.error:+.1%}",
                 *(beside(row, name) for name in COLUMNS)] for row in self.rows]  # fmt: skip
        show_table(console, header, rows, right=range(2, len(header)))
        console.print()
        header = ["", "kernels", "mean error", "geometric mean", "median", "90%", "worst", "correlation"]
        rows = [[name, str(one.kernels), *(f"{share:.1%}" for share in one.shares),
                 one.told_correlation] for name, one in groups(self.rows).items()]  # fmt: skip
        show_table(console, header, rows, right=range(1, len(header)))
        console.print(
            f"\n{self.machine} beside {self.measured.gpu}, measured {self.measured.date or 'on a date not told'}", soft_wrap=True
        )
        if self.page is not None:
            console.print(f"wrote {self.page}: open it in a browser", soft_wrap=True)


def write_measuring_kit(folder: Path, kernels: Sequence[str], isa: str) -> KitAnswer:
    from simtlab.correlate.cases import cases
    from simtlab.correlate.kit import write_kit

    chosen = cases(kernels)
    if not chosen:
        raise BadInput(f"no kernel of the suite begins with {' or '.join(kernels)}")
    return KitAnswer(folder, write_kit(folder, chosen, isa, told))


@dataclass(frozen=True)
class KitAnswer:
    folder: Path
    launches: int

    def as_json(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "launches": self.launches}

    def show(self, console: Console) -> None:
        console.print(
            f"wrote {self.folder / 'kernels.zip'} ({self.launches} launches) and {self.folder / 'measure.py'}. Copy both to a "
            "machine with the GPU and Nsight Compute, run `python3 measure.py` there, and compare with `simtlab correlate "
            "--against measured.json`.",
            soft_wrap=True, highlight=False, markup=False,
        )  # fmt: skip
