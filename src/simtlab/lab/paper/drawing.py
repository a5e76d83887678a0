"""Charts drawn, all in one style, as SVG and PNG; the same numbers give the same files."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

from simtlab.lab.paper.charts import Chart

COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#555555"]  # Okabe and Ito's
INK, GRID = "#222222", "#DDDDDD"
STYLE: Any = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "axes.grid.axis": "y", "grid.color": GRID, "grid.linewidth": 0.6, "legend.frameon": False,
    "svg.hashsalt": "simtlab", "svg.fonttype": "path", "figure.facecolor": "white",
}  # fmt: skip
MOST_STEPS = 16  # of a line's axis with their names
MOST_TEXT_LINES = 4  # of a label that is too long for its side
HEIGHT, LEAST_WIDTH, MOST_WIDTH = 3.0, 4.5, 14.0  # inches


def draw(chart: Chart, title: str, path: Path) -> list[Path]:
    """Write PATH.svg and PATH.png."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure = laid_out(chart, title)
        files = [path.with_suffix(".svg"), path.with_suffix(".png")]
        figure.savefig(files[0], metadata={"Date": None, "Creator": "simtlab"})
        figure.savefig(files[1], dpi=160, metadata={"Software": "simtlab"})
        pyplot.close(figure)
    return files


def laid_out(chart: Chart, title: str) -> Any:
    """The figure, everything in its place and no text beyond its edges."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(_width(chart), HEIGHT), layout="constrained")
    {"bars": _bars, "stacked": _stacked, "lines": _lines}[chart.kind](axes, chart)
    if chart.base is not None:
        axes.axhline(chart.base, color=INK, linewidth=0.8)
    axes.set_ylabel(chart.label)
    axes.set_xlabel(chart.group_label)
    heading = axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    if len(chart.series) > 1:
        _name_series(figure, max(1, int(_width(chart) / 1.7)))
    for lines in range(2, MOST_TEXT_LINES + 1):
        figure.draw_without_rendering()
        if axes.yaxis.label.get_window_extent().height > axes.get_window_extent().height:
            axes.set_ylabel(in_lines(chart.label, lines))
        if heading.get_window_extent().x1 > figure.bbox.x1:
            heading.set_text(in_lines(title, lines))
    return figure


def _name_series(figure: Any, most_columns: int) -> None:
    """A legend with as many names beside one another as fit."""
    for columns in range(most_columns, 0, -1):
        legend = figure.legend(loc="outside lower center", ncols=columns)
        figure.draw_without_rendering()
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def in_lines(text: str, lines: int) -> str:
    """A text in so many lines of about the same length, broken between words."""
    narrowest = range(-(-len(text) // lines), len(text) + 1)
    return next(("\n".join(found) for width in narrowest if len(found := _broken(text, width)) <= lines), text)


def _broken(text: str, width: int) -> list[str]:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _width(chart: Chart) -> float:
    if chart.kind == "lines":
        return LEAST_WIDTH + 1
    least = 4 if chart.notes else 1  # notes take room
    bars = len(chart.all_groups()) * (max(least, len(chart.series)) if chart.kind == "bars" else max(least, 2))
    return min(MOST_WIDTH, max(LEAST_WIDTH, 1.5 + 0.13 * bars))


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _places(chart: Chart) -> list[float]:
    """Where the groups stand; means stand apart."""
    return [k + (0.5 if k >= len(chart.groups) else 0.0) for k in range(len(chart.all_groups()))]


def _label_groups(axes: Any, chart: Chart) -> None:
    long = max(len(group) for group in chart.all_groups()) > 4 and len(chart.all_groups()) > 8
    names = [f"{group}\n{chart.notes[group]}" if group in chart.notes else group for group in chart.all_groups()]
    every = -(-len(names) // MOST_STEPS) if chart.kind == "lines" else 1  # of a long axis' steps, not all can have their name
    names = [name if k == 0 or (k + 1) % every == 0 else "" for k, name in enumerate(names)]
    axes.set_xticks(_places(chart), names, rotation=60 if long else 0, ha="right" if long else "center")
    axes.tick_params(axis="x", length=0)


def _bars(axes: Any, chart: Chart) -> None:
    width = 0.8 / len(chart.series)
    for number, name in enumerate(chart.series):
        places = [place + (number - (len(chart.series) - 1) / 2) * width for place in _places(chart)]
        heights = [float("nan") if value is None else value for value in chart.values(name)]
        axes.bar(places, heights, width, label=name, color=_colour(number))
    _label_groups(axes, chart)


def _stacked(axes: Any, chart: Chart) -> None:
    below = [0.0] * len(chart.all_groups())
    for number, name in enumerate(chart.series):
        heights = [value or 0.0 for value in chart.values(name)]
        hatch = "" if number < len(COLOURS) else "//"
        axes.bar(_places(chart), heights, 0.7, bottom=below, label=name, color=_colour(number), hatch=hatch)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    _label_groups(axes, chart)


def _lines(axes: Any, chart: Chart) -> None:
    for number, name in enumerate(chart.series):
        heights = [float("nan") if value is None else value for value in chart.values(name)]
        axes.plot(_places(chart), heights, marker="o", markersize=4, label=name, color=_colour(number))
    _label_groups(axes, chart)
