"""`simtlab paper NAME`: run what a study lacks, draw its figures, write its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtlab.cli.answer import Answer, Stopped
from simtlab.cli.sweep import Place, SweepAnswer, run_sweep
from simtlab.cli.tables import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.lab.paper.report import Report


def run_study(name: str, size: str | None, only: Sequence[str], gpus: Sequence[str], out: Path | None, place: Place) -> Answer:
    """Carry a study out and write it down. Other machines stand beside the study's own."""
    from simtlab.lab.paper.report import make_report, runs_of, write
    from simtlab.lab.paper.study import load_study

    study = load_study(name)
    figures = [figure for one in only for figure in study.chosen(one)] if only else list(study.figures)
    machines = list(dict.fromkeys([study.gpu, *gpus]))
    runs = runs_of(study, figures, machines, size or study.size)
    swept = run_sweep(runs, place)
    if swept.summary.interrupted:
        raise Stopped(swept)
    report = make_report(study, figures, machines, size or study.size, place.store, swept.summary.failures)
    folder = out or Path(study.name)
    return StudyAnswer(report, swept, folder, write(report, folder))


@dataclass(frozen=True)
class StudyAnswer:
    """A study that was written to a folder."""

    report: Report
    swept: SweepAnswer
    folder: Path
    files: Sequence[Path]

    @property
    def status(self) -> int:
        return self.swept.status

    def as_json(self) -> dict[str, Any]:
        from simtlab.lab.paper.report import as_json

        return {**as_json(self.report), "folder": str(self.folder), "sweep": self.swept.as_json()}

    def show(self, console: Console) -> None:
        from simtlab.lab.paper.report import compared

        self.swept.show(console)
        for figure, charts in self.report.figures():
            rows = compared(charts[self.report.gpus[0]], figure.expected)
            if rows:
                chart = charts[self.report.gpus[0]]
                cells = [[row["label"], row["source"], chart.written(row["paper"]), chart.written(row["ours"])] for row in rows]
                console.print()
                show_table(console, [figure.name, "where", "paper", "ours"], cells, right=(2, 3))
        first = self.folder / "index.html"
        console.print(f"\nwritten to {self.folder}: {len(self.files)} files; begin with {first}", soft_wrap=True)


@dataclass(frozen=True)
class StudyList:
    """The studies there are."""

    rows: Sequence[tuple[str, str, str]]

    def as_json(self) -> dict[str, Any]:
        return {"papers": [{"name": name, "title": title, "figures": figures} for name, title, figures in self.rows]}

    def show(self, console: Console) -> None:
        show_table(console, ["study", "title", "figures"], self.rows)


def list_papers() -> StudyList:
    from simtlab.lab.paper.study import load_study, studies

    found = [load_study(name) for name in studies()]
    return StudyList([(study.name, study.title, ", ".join(figure.name for figure in study.figures)) for study in found])
