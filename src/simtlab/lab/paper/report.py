"""A study's results put together: figures drawn, a page as Markdown and HTML, everything once more in report.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simtlab.lab.errors import StudyError
from simtlab.lab.ingredients import configuration
from simtlab.lab.machines import MachineChoice
from simtlab.lab.paper.charts import Chart
from simtlab.lab.paper.drawing import draw
from simtlab.lab.paper.pages import Block, Heading, Images, Table, Text, as_html, as_markdown
from simtlab.lab.paper.study import Expected, Figure, Runs, Setting, Study
from simtlab.lab.record import Failure
from simtlab.lab.sources import simulator_digest
from simtlab.lab.store.results import Results

MACHINE_FACTS = [
    ("cores", "core.cores"), ("core clock, MHz", "clocks.core_mhz"), ("warps a core", "core.max_warps"),
    ("CTAs a core", "core.max_ctas"), ("registers a core", "core.registers"), ("schedulers a core", "issue.schedulers"),
    ("L1, bytes", "l1d.bytes"), ("L1 MSHRs", "l1d.mshr_entries"), ("shared memory, bytes", "shared_memory.bytes"),
    ("DRAM", "dram.kind"), ("DRAM channels", "dram.channels"),
]  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What a study came to, on one machine or on several; the first machine is the one the pages begin with."""

    study: Study
    size: str
    charts: Mapping[str, Mapping[str, Chart]]  # by figure and machine
    keys: Mapping[str, Sequence[str]]  # of the results, by machine
    failures: Sequence[Failure] = ()
    files: dict[tuple[str, str], list[Path]] = field(default_factory=dict)  # by figure and machine

    @property
    def gpus(self) -> list[str]:
        return list(self.keys)

    def figures(self) -> Iterator[tuple[Figure, Mapping[str, Chart]]]:
        for name, charts in self.charts.items():
            yield self.study.figure(name), charts


def runs_of(study: Study, figures: Sequence[Figure], gpus: Sequence[str], size: str) -> Runs:
    """All experiments that these figures need on these machines."""
    return Runs([sweep for gpu in gpus for figure in figures for sweep in figure.runs(Setting(gpu, size))])


def make_report(
    study: Study, figures: Sequence[Figure], gpus: Sequence[str], size: str, store: Path | None, failures: Sequence[Failure]
) -> Report:
    """Read what the store has of the study's results and make its charts."""
    keys = {gpu: runs_of(study, figures, [gpu], size).keys() for gpu in gpus}
    charts: dict[str, dict[str, Chart]] = {}
    for figure in figures:
        for gpu in gpus:
            found = list(Results(store, keys=Runs(figure.runs(Setting(gpu, size))).keys()))
            charts.setdefault(figure.name, {})[gpu] = figure.drawn(found)
    return Report(study, size, charts, {gpu: sorted(found) for gpu, found in keys.items()}, failures)


# Write ----------------------------------------------------------------------------------------------------------------


def write(report: Report, folder: Path) -> list[Path]:
    """Draw the figures and write the pages into a folder; the files written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure, charts in report.figures():
            for gpu, chart in charts.items():
                report.files[figure.name, gpu] = draw(chart, f"{figure.title}, {gpu}", folder / _file_name(report, figure, gpu))
        pages = {"index": page(report)}
        if len(report.gpus) > 1:
            pages["machines"] = machines_page(report)
        written = [path for files in report.files.values() for path in files]
        for name, blocks in pages.items():
            (folder / f"{name}.md").write_text(as_markdown(blocks))
            (folder / f"{name}.html").write_text(as_html(report.study.title, blocks))
            written += [folder / f"{name}.md", folder / f"{name}.html"]
        (folder / "report.json").write_text(json.dumps(as_json(report), indent=1, allow_nan=False) + "\n")
        return [*written, folder / "report.json"]
    except OSError as error:
        raise StudyError(f"cannot write the study to {folder}: {error.strerror or error}") from None


def _file_name(report: Report, figure: Figure, gpu: str) -> str:
    return figure.name if gpu == report.gpus[0] else f"{figure.name}-{Path(gpu).stem}"


def compared(chart: Chart, expected: Sequence[Expected]) -> list[dict[str, Any]]:
    """The paper's numbers beside ours; the ratio is ours over the paper's."""
    rows = []
    for one in expected:
        ours = chart.value(one.series, one.group)
        ratio = ours / one.paper if ours is not None and one.paper else None
        rows.append({"label": one.label, "source": one.source, "paper": one.paper, "ours": ours, "ratio": ratio})
    return rows


def as_json(report: Report) -> dict[str, Any]:
    """Everything on the pages, for programs."""
    from simtlab import __version__

    study = report.study
    figures = {
        figure.name: {
            "title": figure.title,
            "machines": {gpu: chart.as_json() for gpu, chart in charts.items()},
            "expected": compared(charts[report.gpus[0]], figure.expected),
            "words": list(figure.words(charts[report.gpus[0]])) if figure.words else [],
            "files": [path.name for gpu in charts for path in report.files.get((figure.name, gpu), [])],
        }
        for figure, charts in report.figures()
    }
    return {
        "study": study.name, "title": study.title, "source": study.source, "size": report.size, "machines": report.gpus,
        "simtlab": __version__, "sources": simulator_digest(), "figures": figures,
        "results": {gpu: list(keys) for gpu, keys in report.keys.items()}, "failures": [vars(one) for one in report.failures],
    }  # fmt: skip


# Pages ----------------------------------------------------------------------------------------------------------------


def page(report: Report) -> list[Block]:
    """The study: its question, then figure by figure ours beside the paper's."""
    study = report.study
    blocks: list[Block] = [Heading(1, study.title), Text(f"Source: {study.source}."), Text(study.question)]
    on = ", ".join(report.gpus)
    count = sum(len(keys) for keys in report.keys.values())
    blocks.append(Text(f"{count} runs at size {report.size} on {on}."))
    if report.failures:
        blocks += [Heading(2, "Not everything ran"), _failure_table(report.failures)]
    for figure, charts in report.figures():
        blocks += [Heading(2, f"{figure.name}: {figure.title}")]
        blocks += [Text(figure.text)] if figure.text else []
        blocks.append(Images([(report.files[figure.name, gpu][0], f"{figure.title}, {gpu}") for gpu in charts]))
        chart = charts[report.gpus[0]]
        if figure.expected:
            blocks.append(_expected_table(chart, figure.expected))
        blocks.append(_value_table(charts))
        blocks += [Text(paragraph) for paragraph in figure.words(chart)] if figure.words else []
    blocks += [Heading(2, "Machine" if len(report.gpus) == 1 else "Machines"), _machine_table(report.gpus)]
    for title, text in study.remarks.items():
        blocks += [Heading(2, title), Text(text)]
    return blocks


def machines_page(report: Report) -> list[Block]:
    """The machines side by side: what they are, and what each figure shows on each."""
    blocks: list[Block] = [
        Heading(1, f"{report.study.title}: machines side by side"),
        Text(f"The same programs at size {report.size}, the same policies; only the machine differs."),
        _machine_table(report.gpus),
    ]
    for figure, charts in report.figures():
        blocks += [Heading(2, f"{figure.name}: {figure.title}")]
        blocks.append(Images([(report.files[figure.name, gpu][0], gpu) for gpu in charts]))
        blocks.append(_value_table(charts))
    return blocks


def _value_table(charts: Mapping[str, Chart]) -> Table:
    """A row for each group, a column for each series on each machine."""
    first = next(iter(charts.values()))
    header, several = [first.group_label or "program"], len(charts) > 1
    header += [first.notes_label] if first.notes else []
    header += [f"{name}, {gpu}" if several else name for name in first.series for gpu in charts]
    rows = [
        [group, *([first.notes.get(group, "")] if first.notes else []),
         *(chart.written(chart.value(name, group)) for name in first.series for chart in charts.values())]
        for group in first.all_groups()
    ]  # fmt: skip
    return Table(header, rows)


def _expected_table(chart: Chart, expected: Sequence[Expected]) -> Table:
    rows = [
        [row["label"], row["source"], chart.written(row["paper"]), chart.written(row["ours"]),
         "–" if row["ratio"] is None else f"{row['ratio']:.2f}"]
        for row in compared(chart, expected)
    ]  # fmt: skip
    return Table(["number", "where in the paper", "paper", "ours", "ours / paper"], rows)


def _machine_table(gpus: Sequence[str]) -> Table:
    configs = [configuration(MachineChoice(gpu)) for gpu in gpus]
    values = [dict(config.items()) for config in configs]
    rows = [[label, *(_plain(one[key]) for one in values)] for label, key in MACHINE_FACTS]
    rows.append(["L2, bytes", *(str(config.l2.total_bytes) for config in configs)])
    rows.append(["peak DRAM bandwidth, GB/s", *(f"{config.peak_dram_bandwidth / 1e9:.1f}" for config in configs)])
    return Table(["", *gpus], rows)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _failure_table(failures: Sequence[Failure]) -> Table:
    return Table(["experiment", "error"], [[f"{f.workload} {f.size}, {f.machine}", f.error.splitlines()[0]] for f in failures])
