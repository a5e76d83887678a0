"""How every chart looks: the palette of Okabe and Ito, which colour-blind readers can tell apart, and no background of its own."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"
MID_GREY = "#7a7d82"  # until the page's script sets the colours of the theme


def new_figure(x_label: str, y_label: str, height: int, **options: Any) -> Any:
    """An empty chart as wide as its place."""
    from bokeh.plotting import figure  # slow to import: only when a page is written

    chart = figure(height=height, sizing_mode="stretch_width", x_axis_label=x_label, y_axis_label=y_label, active_scroll=None,
                   active_drag=options.pop("active_drag", None), min_border_right=12, **options)  # fmt: skip
    chart.toolbar.logo = None
    chart.background_fill_alpha = 0
    chart.border_fill_alpha = 0
    chart.outline_line_color = None
    chart.grid.grid_line_color = MID_GREY
    chart.grid.grid_line_alpha = 0.25
    for axis in chart.axis:
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "12px"
        axis.major_label_text_font_size = "12px"
        axis.axis_label_text_color = axis.major_label_text_color = MID_GREY
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = MID_GREY
    return chart
