"""Where the scheduler cycles went: a bar for each reason, with what it means."""

from __future__ import annotations

from pathlib import PurePath

from simtlab.report.markup import Markup, bar, element, grouped, join, number_cell, percent, row, table
from simtlab.report.profile import LaunchProfile
from simtlab.report.source_view import files_of, lines_of
from simtlab.report.stall_words import words_of

MOST_LINES, LEAST_SHARE = 3, 0.05  # named with a reason


def stall_part(profile: LaunchProfile, prefix: str) -> Markup:
    """Reasons that occurred, the largest first; the others are named below."""
    issued, whole = max(profile.stalls["issued"], 1), max(profile.scheduler_cycles, 1)
    reasons = sorted(((cause, count) for cause, count in profile.stalls.items() if cause != "issued"), key=lambda pair: -pair[1])
    longest = max(reasons[0][1], 1)
    each = grouped(profile.scheduler_cycles / issued)
    said = (
        f"{grouped(profile.scheduler_cycles)} scheduler cycles, {each} for each issued instruction: 1 to issue it, the others as "
        "below. Each cycle has one reason, the one closest to issuing."
    )
    rows = []
    for cause, count in reasons:
        if count:
            rows.append(one(cause, count, (issued, whole, longest), where(profile, cause, prefix)))
    rows.append(row(
        "All scheduler cycles, issued ones included", number_cell(each), number_cell(percent(1.0)), "",
        number_cell(grouped(profile.scheduler_cycles)), attributes={"class": "total"},
    ))  # fmt: skip
    each_head, share_head, all_head = (
        element("th", text, scope="col", class_="n") for text in ("Per issued instruction", "Share", "Scheduler cycles")
    )
    heads = ["Reason, and what to look at", each_head, share_head, "Against the largest", all_head]
    absent = [cause for cause, count in reasons if not count]
    rest = element("details", element("summary", f"{len(absent)} reasons did not occur"), element(
        "dl", *(join([element("dt", words_of(cause).title), element("dd", words_of(cause).meaning)]) for cause in absent)),
        class_="absent")  # fmt: skip
    return join([element("p", said, class_="note"), table("Scheduler cycles by reason", heads, rows, class_="bars stalls"), rest])


def where(profile: LaunchProfile, cause: str, prefix: str) -> Markup:
    """Links to the lines that were waited for most, for one reason."""
    numbers = {file: k for k, file in enumerate(files_of(profile))}
    counts = {place: sum(row.stalls.get(cause, 0) for row in rows) for place, rows in lines_of(profile).items()}
    most = sorted(((place, count) for place, count in counts.items() if count), key=lambda pair: -pair[1])[:MOST_LINES]
    links = []
    for (file, line), count in most:
        if count >= LEAST_SHARE * profile.stalls[cause]:
            link = element("a", f"{PurePath(file).name}:{line}", href=f"#{prefix}-s{numbers[file]}-{line}", class_="line-link")
            links.append(join([link, f" {percent(count / profile.stalls[cause])} "]))
    return element("span", "Most at ", *links, class_="where") if links else Markup("")


def one(cause: str, count: int, against: tuple[int, int, int], places: Markup) -> Markup:
    issued, whole, longest = against
    words = words_of(cause)
    look = element("span", words.look_at, class_="look")
    name = element("th", element("b", words.title), element("span", words.meaning), " ", look, places, scope="row", class_="words")
    return row(
        name, number_cell(grouped(count / issued)), number_cell(percent(count / whole)),
        bar(count / longest, "most" if count == longest else ""), number_cell(grouped(count)), attributes={"data-cause": cause},
    )  # fmt: skip
