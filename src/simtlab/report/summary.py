"""The summary of a launch: its figures, how much of the machine it used, occupancy and what would change it, energy."""

from __future__ import annotations

from collections.abc import Callable

from simtlab.report.figures import (
    COMPONENTS,
    FIGURES,
    FULL_NAMES,
    dram_bytes,
    flops,
    issue_slots_used,
    l1_hit_rate,
    l2_hit_rate,
    lane_operations,
    network_bytes,
    share,
    theoretical_warps,
)
from simtlab.report.markup import Markup, bar, byte_count, element, grouped, join, number_cell, percent, row, scaled, table
from simtlab.report.profile import LaunchProfile
from simtlab.report.roofline import ceilings
from simtlab.report.what_if import Fit, block_sizes, register_counts, shared_sizes


def dimensions(shape: tuple[int, int, int]) -> str:
    """Of a grid or block, without the ones at its end."""
    kept = [shape[0], *(size for k, size in enumerate(shape[1:], 1) if any(rest > 1 for rest in shape[k:]))]
    return " × ".join(str(size) for size in kept)


def summary(profile: LaunchProfile, prefix: str) -> Markup:
    return join([
        key_figures(profile),
        element("div", speed_of_light(profile), roofline_part(profile, prefix), class_="pair"),
        occupancy_part(profile),
        element("div", split_part(profile), energy_part(profile), class_="pair"),
    ])  # fmt: skip


def key_figures(profile: LaunchProfile) -> Markup:
    """Every figure with what it means."""
    machine = profile.machine
    first = [
        ("Grid", dimensions(profile.grid), f"{grouped(profile.ctas)} CTAs."),
        ("Block", dimensions(profile.block), f"{profile.threads} threads, {profile.warps} warps a CTA."),
        ("Machine", machine.name, f"{machine.core.cores} cores at {machine.clocks.core_mhz:g} MHz, "
                                  f"{machine.issue.schedulers} scheduler{'s' * (machine.issue.schedulers > 1)} a core."),
    ]  # fmt: skip
    if profile.launches > 1:
        first.append(("Launches", str(profile.launches), "Of this kernel, added up."))
    cards = [*first, *((figure.name, figure.shown(profile), figure.meaning) for figure in FIGURES)]
    after = 1 + next(k for k, (name, _, _) in enumerate(cards) if name.startswith("CTAs per core"))
    cards.insert(after, ("Occupancy limited by", profile.limited_by, "What keeps one more CTA from fitting in a core."))
    return element("dl", *(element("div", element("dt", name), element("dd", value, class_="value"), element("dd", meaning))
                           for name, value, meaning in cards), class_="figures")  # fmt: skip


def speed_of_light(profile: LaunchProfile) -> Markup:
    """How much of its time each part worked."""
    used = [("issue slots", issue_slots_used(profile) or 0.0)]
    used += [(FULL_NAMES[part], value) for part, value in profile.utilisation.items()]
    rates = [("L1 hit rate", l1_hit_rate(profile.counters)), ("L2 hit rate", l2_hit_rate(profile.counters))]
    busiest = max(value for _, value in used)
    rows = [row(name, number_cell(percent(value)), bar(value, "most" if value == busiest else ""), attributes={"data-part": name})
            for name, value in used]  # fmt: skip
    hits = [row(name, number_cell(percent(value)), bar(value or 0.0, "hit")) for name, value in rates]
    note = "Of its peak over the launch, all parts of a kind together. The busiest part is the bound that is nearest."
    return element(
        "div", element("h3", "Speed of light"), element("p", note, class_="note"),
        table("Share of peak", ["Part", element("th", "Used", scope="col", class_="n"), "0 to 100 %"], rows, class_="bars"),
        table("Hit rates", ["Cache", element("th", "Hits", scope="col", class_="n"), "0 to 100 %"], hits, class_="bars"),
    )  # fmt: skip


def roofline_part(profile: LaunchProfile, prefix: str) -> Markup:
    """Room for the chart, and its numbers."""
    operations, roofs = lane_operations(profile), ceilings(profile.machine)
    levels = [("DRAM", dram_bytes(profile.machine, profile.counters), roofs.dram),
              ("L2", network_bytes(profile.machine, profile.counters), roofs.l2)]  # fmt: skip
    rows = []
    for name, moved, roof in levels:
        intensity = share(operations, moved)
        bound = None if intensity is None else min(roofs.operations, intensity * roof) if roof else roofs.operations
        rows.append(row(
            name, byte_count(moved), "–" if intensity is None else grouped(intensity), scaled(roof, "B/s") if roof else "no bound",
            "–" if bound is None else scaled(bound, "op/s"),
        ))  # fmt: skip
    reached = share(operations, profile.seconds) or 0.0
    also = ", integer operations included" if profile.machine.units.executed_on("int_add") == "sp" else ""
    note = (
        f"An operation is one lane's on the FP32 (SP) units{also}; a multiply-add counts once. "
        f"Reached: {scaled(reached, 'op/s')} of {scaled(roofs.operations, 'op/s')}. FP32 arithmetic alone, a multiply-add as two: "
        f"{scaled((share(flops(profile), profile.seconds) or 0.0), 'FLOP/s')}. Bytes of L2 are the flits of both networks, headers "
        "included."
    )
    chart = element("div", id=f"{prefix}-roofline-chart", class_="chart", data_chart="roofline", role="figure",
                    aria_label="Roofline; the table below has its numbers") if operations else element(
        "p", "No lane used an FP32 unit: there is no point to draw.")  # fmt: skip
    headings = ["Level", "Bytes", "Operations a byte", "Bandwidth ceiling", "Bound there"]
    return element("div", element("h3", "Roofline"), element("p", note, class_="note"), chart,
                   table("Roofline in numbers", headings, rows))  # fmt: skip


def occupancy_part(profile: LaunchProfile) -> Markup:
    """What fits, and what would fit."""
    said = (
        f"{profile.ctas_per_core} CTAs of {profile.warps} warps fit in a core, {theoretical_warps(profile)} of "
        f"{profile.machine.core.max_warps} warps; the limit is {profile.limited_by}. A thread has {profile.registers} registers, "
        f"a CTA {byte_count(profile.shared_bytes)} of shared memory. {profile.resident_warps:.1f} warps were resident on a core "
        "with work, on average."
    )
    tables = [
        fit_table("Other block sizes", "Threads", block_sizes(profile), grouped),
        fit_table("Other register counts of a thread", "Registers", register_counts(profile), grouped),
        fit_table("Other shared memory of a CTA", "Shared", shared_sizes(profile), byte_count),
    ]
    note = "What would fit if one number changed and the others stayed. It says nothing of the time the kernel would take."
    return element("div", element("h3", "Occupancy"), element("p", said), element("p", note, class_="note"),
                   element("div", *tables, class_="three"))  # fmt: skip


def fit_table(title: str, first: str, fits: list[Fit], written: Callable[[int], str]) -> Markup:
    """One what-if table; the row of the launch as it is stands out."""
    rows = []
    for fit in fits:
        now = element("span", " now", class_="now") if fit.current else ""
        head = element("th", written(fit.value), now, scope="row", class_="n")
        rows.append(row(
            head, number_cell(fit.ctas), number_cell(fit.warps), number_cell(percent(fit.share)),
            element("td", fit.limited_by, class_="limit"),
            attributes={"class": "current" if fit.current else None},
        ))  # fmt: skip
    heads = [element("th", text, scope="col", class_="n") for text in (first, "CTAs", "Warps", "Occupancy")]
    return table(title, [*heads, element("th", "Limit", scope="col", class_="limit")], rows, class_="bars fits")


def split_part(profile: LaunchProfile) -> Markup:
    """How the memory of a core was divided."""
    section = profile.machine.shared_memory
    how = (
        "One memory, divided at the launch: the least shared memory with which as many CTAs fit."
        if section.shares_l1 and section.split == "at-launch"
        else "One memory, divided as configured." if section.shares_l1 else "Two memories."
    )  # fmt: skip
    whole = max(profile.l1_bytes + profile.shared_memory_bytes, 1)
    used = profile.ctas_per_core * profile.shared_bytes
    rows = [
        row("L1", byte_count(profile.l1_bytes), bar(profile.l1_bytes / whole)),
        row("shared memory", byte_count(profile.shared_memory_bytes), bar(profile.shared_memory_bytes / whole)),
        row("of it taken by the CTAs that fit", byte_count(used), bar(used / whole, "hit")),
    ]
    return element("div", element("h3", "L1 and shared memory"), element("p", how, class_="note"),
                   table("Memory of a core", ["Part", "Bytes", "Of both"], rows, class_="bars"))  # fmt: skip


def energy_part(profile: LaunchProfile) -> Markup:
    """Joules by component, the largest first."""
    whole = sum(profile.energy.values())
    spent = sorted(((name, joules) for name, joules in profile.energy.items() if joules), key=lambda pair: -pair[1])
    rows = []
    for name, joules in spent:
        part = joules / whole
        rows.append(row(COMPONENTS.get(name, name), number_cell(scaled(joules, "J")), number_cell(percent(part)), bar(part)))
    watts = scaled(share(whole, profile.seconds) or 0.0, "W")
    note = f"{scaled(whole, 'J')} together, {watts} on average. An estimate from counted events, see docs/energy.md."
    heads = ["Component", *(element("th", text, scope="col", class_="n") for text in ("Energy", "Share")), "0 to 100 %"]
    return element("div", element("h3", "Energy"), element("p", note, class_="note"),
                   table("Energy by component", heads, rows, class_="bars"))  # fmt: skip
