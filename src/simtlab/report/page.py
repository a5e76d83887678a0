"""The profile page: one HTML file that opens from disk and asks nothing of any network."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from simtlab.report.compare import compare_part, matched, unmatched
from simtlab.report.figures import FIGURES, lane_operations
from simtlab.report.markup import Markup, element, grouped, join
from simtlab.report.memory_chart import memory_part
from simtlab.report.profile import LaunchProfile
from simtlab.report.roofline import roofline_chart
from simtlab.report.source_view import cost_of, files_of, lines_of, source_part, unattributed
from simtlab.report.stalls import stall_part
from simtlab.report.summary import dimensions, summary
from simtlab.report.timeline import LABELS, series, timeline_chart

Advise = Callable[[LaunchProfile], Sequence[Any]]
ROW = ("issued", "lanes", "stalls", "accesses", "passes", "l1_hits", "l1_misses")
MOST_TIMELINES = 16  # on a page
ZOOMS = {"in": "Zoom in", "out": "Zoom out", "left": "Earlier", "right": "Later", "reset": "Whole launch"}


def no_advice(profile: LaunchProfile) -> Sequence[Any]:
    return ()


def write_page(
    path: str | Path, profiles: Sequence[LaunchProfile], title: str, baseline: Sequence[LaunchProfile] = (),
    advise: Advise = no_advice,
) -> None:  # fmt: skip
    """Write the page of some launches, each beside its baseline if there is one."""
    Path(path).write_text(page(profiles, title, baseline, advise), encoding="utf-8")


def page(profiles: Sequence[LaunchProfile], title: str, baseline: Sequence[LaunchProfile] = (), advise: Advise = no_advice) -> str:
    """The whole document."""
    pairs, left, kept = matched(profiles, baseline), unmatched(profiles, baseline), with_timeline(profiles)
    parts = []
    for k, (profile, before) in enumerate(zip(profiles, pairs, strict=True)):
        compared = compare_part(profile, before, left) if baseline else None
        parts.append(launch(profile, k, (k in kept, compared), advise(profile)))
    head = join([
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'),
        element("title", title), element("style", Markup(part_of_page("page.css"))),
    ])  # fmt: skip
    body = join([
        element("a", "Skip to the profile", href="#main", class_="skip"), header(profiles, title),
        element("main", *parts, id="main"), *scripts(profiles, kept),
    ])  # fmt: skip
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def part_of_page(name: str) -> str:
    return (files("simtlab.report") / name).read_text(encoding="utf-8")


def header(profiles: Sequence[LaunchProfile], title: str) -> Markup:
    """The title, the choice of launch, the switch of the theme."""
    options = [element("option", f"{k + 1}. {profile.kernel} ({grouped(profile.cycles)} cycles)", value=str(k))
               for k, profile in enumerate(profiles)]  # fmt: skip
    chooser = element("label", "Launch ", element("select", *options, id="launch-select")) if len(profiles) > 1 else ""
    return element("header", element("h1", title), element("div", chooser, element(
        "button", "Dark theme", type="button", id="theme", aria_pressed="false"), class_="controls"), class_="top")  # fmt: skip


def with_timeline(profiles: Sequence[LaunchProfile]) -> set[int]:
    """The longest launches, by number: the others' timelines would make the page large."""
    there = [k for k, profile in enumerate(profiles) if series(profile)]
    return set(sorted(there, key=lambda k: -profiles[k].cycles)[:MOST_TIMELINES])


def launch(profile: LaunchProfile, k: int, has: tuple[bool, Markup | None], advised: Sequence[Any]) -> Markup:
    """Everything of one launch; whether it has a timeline, and its comparison if there is one."""
    prefix, (timed, compared) = f"l{k}", has
    parts = [
        ("summary", "Summary", summary(profile, prefix)),
        ("advice", "Advice", advice_part(profile, prefix, advised)),
        ("stalls", "Stalls", stall_part(profile, prefix)),
        ("memory", "Memory", memory_part(profile)),
        ("source", "Source", source_part(profile, prefix)),
        ("timeline", "Timeline", timeline_part(profile, prefix, timed)),
    ]
    if compared is not None:
        parts.append(("compare", "Comparison with the baseline", compared))
    links = [element("a", title.split(" ")[0], href=f"#{prefix}-{name}") for name, title, _ in parts]
    shape = f" grid {dimensions(profile.grid)}, block {dimensions(profile.block)}"
    name = element("p", element("code", profile.kernel), shape, class_="kernel", id=f"{prefix}-name")
    if profile.sampled is not None:
        name = join([name, element("p", f"{profile.sampled}.".capitalize(), class_="note sampled")])
    sections = [element("section", element("h2", title), content, id=f"{prefix}-{ident}", class_=ident)
                for ident, title, content in parts]  # fmt: skip
    return element("article", name, element("nav", *links, aria_label="Parts of this launch"), *sections, id=f"launch-{k}",
                   class_="launch", aria_labelledby=f"{prefix}-name", hidden=k > 0)  # fmt: skip


def advice_part(profile: LaunchProfile, prefix: str, advised: Sequence[Any]) -> Markup:
    """What the rules say, with links to the lines they name."""
    if not advised:
        return element("p", "No rule has anything to say about this launch.")
    numbers, shown = {file: k for k, file in enumerate(files_of(profile))}, lines_of(profile)
    items = []
    for one in advised:
        links = [element("a", f"{Path(file).name}:{line}", href=f"#{prefix}-s{numbers[file]}-{line}", class_="line-link")
                 for file, line in one.lines if (file, line) in shown]  # fmt: skip
        items.append(element("li", one.sentence, *(join([" ", link]) for link in links), data_rule=one.rule))
    return element("ol", *items, class_="advised")


def timeline_part(profile: LaunchProfile, prefix: str, timed: bool) -> Markup:
    """Room for the charts, buttons that move them, and their numbers as a table that the script fills when it is opened."""
    found = series(profile)
    if not found:
        return element("p", "No interval ended within this launch: with shorter ones (interval_cycles) it shows over time.")
    if not timed:
        said = f"Only the {MOST_TIMELINES} longest launches of a page have a timeline; a page of this launch alone has one."
        return element("p", said)
    note = (
        f"{len(found['cycle'])} intervals of {grouped(float(max(found['length'])))} core cycles or less; the first may have begun "
        "before the launch, and what is left of the launch after the last is not shown. Move and zoom with the buttons, or drag a "
        "chart."
    )
    buttons = [element("button", text, type="button", data_zoom=how) for how, text in ZOOMS.items()]
    return join([
        element("p", note, class_="note"), element(
            "div", *buttons, class_="zooms", role="group", aria_label="Move the timeline", id=f"{prefix}-timeline-buttons"),
        element("div", id=f"{prefix}-timeline-chart", class_="chart", data_chart="timeline",
                role="figure", aria_label="Timeline; the table below has its numbers"),
        element("details", element("summary", "The timeline as a table"), element("div", class_="intervals"),
                class_="interval-table"),
    ])  # fmt: skip


def scripts(profiles: Sequence[LaunchProfile], kept: set[int]) -> list[Markup]:
    """Bokeh itself, the charts, the numbers of the page, and its script. Charts are drawn when their launch is first shown."""
    from bokeh.embed import json_item
    from bokeh.resources import Resources

    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    charts: dict[str, Any] = {}
    for k, profile in enumerate(profiles):
        if lane_operations(profile):
            charts[f"l{k}-roofline-chart"] = json_item(roofline_chart(profile))
        if k in kept:
            charts[f"l{k}-timeline-chart"] = json_item(timeline_chart(profile))
    data = {"launches": [data_of(profile, k in kept) for k, profile in enumerate(profiles)], "interval_labels": LABELS}
    return [
        element("script", Markup(as_json(data)), type="application/json", id="profile-data"),
        element("script", Markup(as_json(charts)), type="application/json", id="charts"),
        element("script", Markup(library)), element("script", Markup(part_of_page("page.js"))),
    ]  # fmt: skip


def as_json(value: Any) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=plain).replace("<", "\\u003c")


def plain(value: Any) -> Any:
    """A number of NumPy's as JSON knows it."""
    return value.item() if hasattr(value, "item") else float(value)


def data_of(profile: LaunchProfile, timed: bool) -> dict[str, Any]:
    """The numbers that the page shows of a launch."""
    columns = {name: [None if math.isnan(value) else float(f"{value:.6g}") for value in values.tolist()]
               for name, values in (series(profile) if timed else {}).items()}  # fmt: skip
    return {
        "kernel": profile.kernel, "grid": profile.grid, "block": profile.block, "cycles": profile.cycles,
        "instructions": profile.instructions, "seconds": profile.seconds, "counters": dict(profile.counters),
        "stalls": dict(profile.stalls), "energy": dict(profile.energy), "scheduler_cycles": profile.scheduler_cycles,
        "figures": {figure.name: figure.of(profile) for figure in FIGURES}, "unattributed": unattributed(profile),
        "rows": {name: [getattr(row, name) for row in profile.rows] for name in ROW},
        "lines": [{"file": file, "line": line, "issued": cost.issued, "stalls": cost.stalls}
                  for (file, line), cost in ((place, cost_of(rows)) for place, rows in lines_of(profile).items())],
        "intervals": columns,
    }  # fmt: skip
