"""A launch beside its baseline: every figure, stall reason and counter, and by how much it changed."""

from __future__ import annotations

from collections.abc import Sequence

from simtlab.machine.counters import COUNTERS
from simtlab.report.figures import COMPONENTS, FIGURES, FULL_NAMES
from simtlab.report.markup import THIN, Markup, element, grouped, join, number_cell, percent, row, scaled, table
from simtlab.report.profile import LaunchProfile
from simtlab.report.stall_words import words_of

MOST_OPEN = 12  # rows of settings that are shown unasked
UNITS = {counter.name: counter.unit for counter in COUNTERS}


def matched(profiles: Sequence[LaunchProfile], baseline: Sequence[LaunchProfile]) -> list[LaunchProfile | None]:
    """For each launch the baseline's of the same kernel: its first with the first, its second with the second."""
    waiting: dict[str, list[LaunchProfile]] = {}
    for profile in baseline:
        waiting.setdefault(profile.kernel, []).append(profile)
    return [waiting[profile.kernel].pop(0) if waiting.get(profile.kernel) else None for profile in profiles]


def unmatched(profiles: Sequence[LaunchProfile], baseline: Sequence[LaunchProfile]) -> list[LaunchProfile]:
    """Launches of the baseline that no launch stands against."""
    taken = {id(profile) for profile in matched(profiles, baseline) if profile}
    return [profile for profile in baseline if id(profile) not in taken]


def change(now: float | None, before: float | None) -> str:
    """In percent of the baseline's."""
    if now is None or before is None:
        return "–"
    if now == before:
        return "="
    if not before:
        return "new"
    part = 100 * (now - before) / before
    return f"{part:+.1f}{THIN}%".replace("-", "−") if abs(part) < 1000 else f"× {now / before:.1f}"


def compared(name: object, now: float | None, before: float | None, texts: tuple[str, str]) -> Markup:
    kind = None if now is None or before is None or now == before else "up" if now > before else "down"
    changed = element("td", change(now, before), class_=f"n {kind or ''}".strip())
    return row(name, number_cell(texts[0]), number_cell(texts[1]), changed)


def compare_part(profile: LaunchProfile, before: LaunchProfile | None, left: Sequence[LaunchProfile] = ()) -> Markup:
    """The tables, or why there are none."""
    names = ", ".join(one.kernel for one in left)
    missing = element("p", "Launches of the baseline that nothing stands against: ", names, ".") if left else Markup("")
    if before is None:
        return join([element("p", "The baseline has no launch of this kernel in this place."), missing])
    differ = settings_that_differ(profile, before)
    return join([
        missing, element("p", "The configurations of the two machines are the same.") if not differ else "", differ,
        element("div", summary_table(profile, before), element("div", stall_table(profile, before), parts_table(profile, before)),
                class_="pair"), counter_table(profile, before),
    ])  # fmt: skip


def heads(first: str) -> list[Markup]:
    return [element("th", first, scope="col"),
            *(element("th", text, scope="col", class_="n") for text in ("This run", "Baseline", "Change"))]  # fmt: skip


def summary_table(profile: LaunchProfile, before: LaunchProfile) -> Markup:
    rows = [compared(figure.name, figure.of(profile), figure.of(before), (figure.shown(profile), figure.shown(before)))
            for figure in FIGURES]  # fmt: skip
    return table("Figures compared", heads("Figure"), rows, class_="compare")


def parts_table(profile: LaunchProfile, before: LaunchProfile) -> Markup:
    """How much of the machine was used, and the energy of each component."""
    was = before.utilisation
    rows = [compared(f"Used: {FULL_NAMES[part]}", share, was.get(part), (percent(share), percent(was.get(part))))
            for part, share in profile.utilisation.items() if share or was.get(part)]  # fmt: skip
    for name, joules in profile.energy.items():
        spent = before.energy.get(name, 0.0)
        if joules or spent:
            rows.append(compared(f"Energy: {COMPONENTS.get(name, name)}", joules, spent, (scaled(joules, "J"), scaled(spent, "J"))))
    return table("Parts compared", heads("Part"), rows, class_="compare")


def stall_table(profile: LaunchProfile, before: LaunchProfile) -> Markup:
    """Per issued instruction, so that launches with more work can be told from those that wait more."""
    rows = []
    for cause, count in profile.stalls.items():
        was = before.stalls.get(cause, 0)
        if cause == "issued" or not (count or was):
            continue
        now_each, was_each = count / max(profile.stalls["issued"], 1), was / max(before.stalls["issued"], 1)
        rows.append(compared(words_of(cause).title, now_each, was_each, (grouped(now_each), grouped(was_each))))
    return table("Stalls compared, scheduler cycles per issued instruction", heads("Reason"), rows, class_="compare")


def counter_table(profile: LaunchProfile, before: LaunchProfile) -> Markup:
    """Every counter that moved in either."""
    rows = []
    for name, count in profile.counters.items():
        was = before.counters.get(name, 0)
        if count or was:
            title = join([element("code", name), element("span", f" {UNITS.get(name, '')}", class_="unit")])
            rows.append(compared(title, count, was, (grouped(count), grouped(was))))
    return element("details", element("summary", f"{len(rows)} counters compared; the others are 0 in both"),
                   table("Counters compared", heads("Counter"), rows, class_="compare"))  # fmt: skip


def settings_that_differ(profile: LaunchProfile, before: LaunchProfile) -> Markup:
    """Keys of the two machines' configurations with different values, and what differs of the launch."""
    pairs = [("grid", profile.grid, before.grid), ("block", profile.block, before.block),
             ("shared memory of a CTA", profile.shared_bytes, before.shared_bytes)]  # fmt: skip
    then = dict(before.machine.items())
    pairs += [(key, value, then[key]) for key, value in profile.machine.items()]
    rows = [row(element("code", name), element("td", str(now)), element("td", str(was))) for name, now, was in pairs if now != was]
    if not rows:
        return Markup("")
    said = table("What differs in the launch and its machine", ["Key", "This run", "Baseline"], rows, class_="keys")
    return element("details", element("summary", f"{len(rows)} settings of the launch and its machine differ"), said,
                   open=len(rows) <= MOST_OPEN)  # fmt: skip
