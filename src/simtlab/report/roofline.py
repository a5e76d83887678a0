"""The ceilings of a machine, and the roofline chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simtlab.machine.config import MachineConfig
from simtlab.report.chart_style import BLUE, MID_GREY, ORANGE, VERMILION, new_figure
from simtlab.report.figures import WARP, dram_bytes, lane_operations, network_bytes
from simtlab.report.markup import scaled
from simtlab.report.profile import LaunchProfile


@dataclass(frozen=True)
class Ceilings:
    """A second."""

    operations: float  # of lanes on the FP32 units
    dram: float  # bytes
    l2: float  # bytes between cores and L2, both directions; 0: the network has no bound


def ceilings(machine: MachineConfig) -> Ceilings:
    """What the configuration allows: FP32 units that take a multiply-add whenever they can, schedulers that issue in every cycle,
    buses and network ports that always carry something."""
    units, issue, clocks = machine.units, machine.issue, machine.clocks
    taken = units.sp_units * WARP / units.sp_mad.initiation_cycles
    issued = issue.schedulers * machine.core.simd_width * (2 if issue.dual_issue else 1)
    ports = min(machine.clusters, machine.l2.slices) if machine.network.kind != "ideal" else 0
    return Ceilings(
        min(taken, issued) * machine.core.cores * clocks.core_mhz * 1e6,
        machine.peak_dram_bandwidth,
        2 * ports * machine.network.flit_bytes * clocks.network_mhz * 1e6,
    )


@dataclass(frozen=True)
class Point:
    """Where the launch stands with respect to one level of memory."""

    level: str
    intensity: float  # operations a byte
    reached: float  # operations a second
    bandwidth: float


def points(profile: LaunchProfile) -> list[Point]:
    """Those that can be drawn: something was computed, something moved."""
    operations, roofs = lane_operations(profile), ceilings(profile.machine)
    levels = [("DRAM", dram_bytes(profile.machine, profile.counters), roofs.dram),
              ("L2", network_bytes(profile.machine, profile.counters), roofs.l2)]  # fmt: skip
    if not operations:
        return []
    return [Point(name, operations / moved, operations / profile.seconds, roof) for name, moved, roof in levels if moved]


def roofline_chart(profile: LaunchProfile) -> Any:
    """Operations a second over operations a byte, both axes logarithmic."""
    from bokeh.models import HoverTool, LabelSet, Legend, LegendItem, Range1d

    drawn, roofs = points(profile), ceilings(profile.machine)
    corners = [roofs.operations / roof for roof in (roofs.dram, roofs.l2) if roof]
    left = min([*(point.intensity for point in drawn), *corners]) / 6
    right = max([*(point.intensity for point in drawn), *corners]) * 6
    low = min([*(point.reached for point in drawn), left * min(roof for roof in (roofs.dram, roofs.l2) if roof)]) / 2
    chart = new_figure(
        "operations a byte moved", "operations a second", 330, tools="pan,box_zoom,wheel_zoom,reset",
        x_axis_type="log", y_axis_type="log", x_range=Range1d(left, right), y_range=Range1d(low, roofs.operations * 3),
    )  # fmt: skip
    items = []
    for level, roof, colour, marker in (("DRAM", roofs.dram, VERMILION, "circle"), ("L2", roofs.l2, BLUE, "square")):
        if roof:
            corner = roofs.operations / roof
            line = chart.line([left, corner], [left * roof, roofs.operations], line_color=colour, line_width=2)
            items.append(LegendItem(label=f"{level} ceiling, {scaled(roof, 'B/s')}", renderers=[line]))
        for point in (point for point in drawn if point.level == level):
            data = {"x": [point.intensity], "y": [point.reached], "name": [level]}
            mark = chart.scatter("x", "y", source=data, marker=marker, size=12, color=colour)
            tips = [("by", "@name"), ("operations a byte", "@x"), ("a second", "@y{0.0a}")]
            chart.add_tools(HoverTool(renderers=[mark], tooltips=tips))
            chart.add_layout(LabelSet(x="x", y="y", text="name", source=mark.data_source, x_offset=9, y_offset=5,
                                      text_font_size="12px", text_color=MID_GREY))  # fmt: skip
            items.append(LegendItem(label=f"this launch by {level} bytes", renderers=[mark]))
    start = min(corners) if corners else left
    flat = chart.line([start, right], [roofs.operations] * 2, line_color=ORANGE, line_width=2)
    items.append(LegendItem(label=f"FP32 units, {scaled(roofs.operations, 'op/s')}", renderers=[flat]))
    chart.add_layout(Legend(items=items, orientation="horizontal", ncols=2, border_line_color=None, background_fill_alpha=0,
                            label_text_font_size="11px", padding=2, margin=2), "above")  # fmt: skip
    return chart
