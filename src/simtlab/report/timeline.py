"""A launch over its time: what the intervals of the machine say, as linked charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simtlab.report.chart_style import BLUE, GREEN, ORANGE, PURPLE, VERMILION, new_figure
from simtlab.report.figures import dram_bytes
from simtlab.report.profile import CAUSES, LaunchProfile


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """NaN where nothing was counted."""
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below != 0)


def series(profile: LaunchProfile) -> dict[str, np.ndarray]:
    """A column for each curve, a row for each interval. The length of an interval is what its scheduler cycles say: the first may
    have begun before the launch."""
    got: Mapping[str, Any] = profile.intervals
    machine = profile.machine
    if not len(got.get("cycle", ())):
        return {}
    slots = machine.core.cores * machine.issue.schedulers
    length = sum(got[f"stall_{cause}"] for cause in CAUSES) / slots
    used = got["core_used_cycles"]
    return {
        "cycle": got["cycle"],
        "length": length,
        "ipc": ratio(got["instructions"], length),
        "resident_warps": ratio(got["occupied_warp_cycles"], used),
        "resident_ctas": ratio(got["resident_cta_cycles"], used),
        "l1_hit_rate": 100 * ratio(got["l1_hits"], got["l1_hits"] + got["l1_hits_reserved"] + got["l1_misses"]),
        "l2_hit_rate": 100 * ratio(got["l2_hits"], got["l2_hits"] + got["l2_hits_reserved"] + got["l2_misses"]),
        "dram_gb_s": ratio(dram_bytes(machine, got), length) * machine.clocks.core_mhz * 1e6 / 1e9,
    }


def from_start(found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """With a row before the first, where its interval begins, but not before the launch: a step is drawn from row to row."""
    drawn = {name: np.concatenate([values[:1], values]) for name, values in found.items()}
    drawn["cycle"][0] = max(0, found["cycle"][0] - found["length"][0])
    return drawn


CURVES = [
    ("IPC, chip", [("ipc", "IPC", BLUE)]),
    ("per core", [("resident_warps", "resident warps", VERMILION), ("resident_ctas", "resident CTAs", BLUE)]),
    ("hit rate, %", [("l1_hit_rate", "L1", ORANGE), ("l2_hit_rate", "L2", PURPLE)]),
    ("DRAM, GB/s", [("dram_gb_s", "DRAM bandwidth in use", GREEN)]),
]
LABELS = {"cycle": "Last cycle", "length": "Cycles", "ipc": "IPC", "resident_warps": "Warps", "resident_ctas": "CTAs",
          "l1_hit_rate": "L1 hits, %", "l2_hit_rate": "L2 hits, %", "dram_gb_s": "DRAM, GB/s"}  # fmt: skip


def timeline_chart(profile: LaunchProfile) -> Any:
    """The charts, one above the other; their time axes move together, and they have one bar of tools."""
    from bokeh.layouts import gridplot
    from bokeh.models import ColumnDataSource, HoverTool, Range1d

    source = ColumnDataSource({name: values.astype(np.float32) for name, values in from_start(series(profile)).items()})
    time = Range1d(0, float(profile.cycles), bounds=(0, float(profile.cycles)))
    charts = []
    for title, curves in CURVES:
        last = title == CURVES[-1][0]
        chart = new_figure("core cycles since the launch" if last else "", title, 190 if last else 155, x_range=time,
                           tools="xpan,xbox_zoom,xwheel_zoom,reset", active_drag="xpan")  # fmt: skip
        chart.y_range.start = 0
        chart.min_border_left = 62
        chart.xaxis.formatter.use_scientific = False
        chart.yaxis.ticker.desired_num_ticks, chart.yaxis.ticker.num_minor_ticks = 4, 0
        lines = [chart.step("cycle", name, source=source, mode="before", line_color=colour, line_width=1.6, legend_label=label)
                 for name, label, colour in curves]  # fmt: skip
        for name, _, colour in curves if title.startswith("hit") else ():  # an interval with none on either side has no line
            chart.scatter("cycle", name, source=source, size=3, color=colour)
        tips = [("up to cycle", "@cycle{0,0}"), *((label, f"@{name}{{0.00}}") for name, label, _ in curves)]
        chart.add_tools(HoverTool(renderers=lines[:1], mode="vline", tooltips=tips))
        style_legend(chart)
        charts.append(chart)
    return gridplot(charts, ncols=1, sizing_mode="stretch_width", toolbar_location="right", toolbar_options={"logo": None})


def style_legend(chart: Any) -> None:
    """A line above the chart, so that it covers no curve."""
    legend = chart.legend[0]
    chart.add_layout(legend, "above")
    legend.orientation = "horizontal"
    legend.background_fill_alpha, legend.border_line_color = 0, None
    legend.label_text_font_size = "12px"
    legend.padding = legend.margin = 2
    legend.spacing = 16
