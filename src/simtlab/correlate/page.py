"""A page about how near a machine comes to a GPU: a scatter plot and every kernel's figures, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simtlab.correlate.compare import COLUMNS, Compared, Measured, beside, groups
from simtlab.report.chart_style import BLUE, MID_GREY, VERMILION, new_figure
from simtlab.report.markup import Markup, element, grouped, join, number_cell, row, table
from simtlab.report.page import part_of_page

SIZE = 560  # pixels of the chart


def write_page(path: Path, machine: str, measured: Measured, rows: Sequence[Compared]) -> None:
    path.write_text(page(machine, measured, rows), encoding="utf-8")


def page(machine: str, measured: Measured, rows: Sequence[Compared]) -> str:
    from bokeh.embed import components
    from bokeh.resources import Resources

    script, chart = components(scatter(rows))
    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    title = f"{machine} beside {measured.gpu}"
    head = join([
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'),
        element("title", title), element("style", Markup(part_of_page("page.css"))), element("script", Markup(library)),
    ])  # fmt: skip
    note = (
        f"Core cycles of {len(rows)} kernels, measured with ncu{f' on {measured.date}' * bool(measured.date)} from empty caches, "
        "and here. Kernels that are held out were chosen by a hash of their names and are kept out of all fitting."
    )
    body = element(
        "main", element("h1", title), element("p", note, class_="note"), summaries(rows), Markup(chart), kernels(rows), id="main"
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}{Markup(script)}</body>\n</html>\n'


def summaries(rows: Sequence[Compared]) -> Markup:
    found = []
    for name, one in groups(rows).items():
        texts = (str(one.kernels), *(f"{share:.1%}" for share in one.shares), one.told_correlation)
        found.append(row(name, *map(number_cell, texts)))
    headings = ["Kernels", "Number", "Mean error", "Geometric mean", "Median", "90%", "Worst", "Correlation"]
    return table("Errors of cycles", headings, found)


def kernels(rows: Sequence[Compared]) -> Markup:
    found = [row(one.name, "yes" if one.is_held_out else "", number_cell(grouped(one.cycles), one.cycles),
                 number_cell(grouped(one.measured["cycles"]), one.measured["cycles"]), number_cell(f"{one.error:+.1%}", one.error),
                 *(number_cell(beside(one, name)) for name in COLUMNS)) for one in rows]  # fmt: skip
    headings = ["Kernel", "Held out", "Cycles", "GPU's", "Error", *(f"{name}, ours over the GPU's" for name in COLUMNS)]
    return table("Every kernel", headings, found)


def scatter(rows: Sequence[Compared]) -> Any:
    """Ours over the GPU's, both in logarithms; on the line they are equal."""
    from bokeh.models import HoverTool

    ends = [f(value for one in rows for value in (one.cycles, one.measured["cycles"])) for f in (min, max)]
    chart = new_figure("cycles on the GPU", "cycles here", SIZE, x_axis_type="log", y_axis_type="log", tools="")
    chart.line(ends, ends, color=MID_GREY)
    for held_out, colour, name in ((False, BLUE, "open"), (True, VERMILION, "held out")):
        chosen = [one for one in rows if one.is_held_out == held_out]
        source = {"x": [one.measured["cycles"] for one in chosen], "y": [one.cycles for one in chosen],
                  "name": [one.name for one in chosen], "error": [f"{one.error:+.1%}" for one in chosen]}  # fmt: skip
        chart.scatter("x", "y", source=source, size=7, color=colour, alpha=0.7, legend_label=name)
    chart.legend.location = "top_left"
    chart.add_tools(HoverTool(tooltips=[("kernel", "@name"), ("GPU", "@x"), ("here", "@y"), ("error", "@error")]))
    return chart
