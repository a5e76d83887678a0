"""Where the scheduler cycles went: a bar for each reason, with what it means."""

from __future__ import annotations

from simtlab.report.markup import Markup, bar, element, grouped, join, number_cell, percent, row, table
from simtlab.report.profile import LaunchProfile
from simtlab.report.stall_words import words_of


def stall_part(profile: LaunchProfile) -> Markup:
    """Reasons that occurred, the largest first; the others are named below."""
    issued, whole = max(profile.stalls["issued"], 1), max(profile.scheduler_cycles, 1)
    reasons = sorted(((cause, count) for cause, count in profile.stalls.items() if cause != "issued"), key=lambda pair: -pair[1])
    longest = max(reasons[0][1], 1)
    said = (
        f"{grouped(profile.scheduler_cycles)} scheduler cycles, {grouped(profile.scheduler_cycles / issued)} for each issued instruction: "
        f"1 to issue it, the others as below. Each cycle has one reason, the one closest to issuing."
    )
    rows = [one(cause, count, issued, whole, longest) for cause, count in reasons if count]
    rows.append(row(
        element("th", "All scheduler cycles", scope="row"), number_cell(grouped(profile.scheduler_cycles)),
        number_cell(grouped(profile.scheduler_cycles / issued)), number_cell(percent(1.0)), "", "Issued ones included.",
        attributes={"class": "total"},
    ))  # fmt: skip
    heads = ["Reason", *(element("th", text, scope="col", class_="n") for text in ("Scheduler cycles", "Per issued instruction", "Share")),
             "Against the largest", "What it means, what to look at"]  # fmt: skip
    absent = [cause for cause, count in reasons if not count]
    rest = element("details", element("summary", f"{len(absent)} reasons did not occur"), element(
        "dl", *(join([element("dt", words_of(cause).title), element("dd", words_of(cause).meaning)]) for cause in absent)),
        class_="absent")  # fmt: skip
    return join([element("p", said, class_="note"), table("Scheduler cycles by reason", heads, rows, class_="bars stalls"), rest])


def one(cause: str, count: int, issued: int, whole: int, longest: int) -> Markup:
    words = words_of(cause)
    return row(
        words.title, number_cell(grouped(count)), number_cell(grouped(count / issued)), number_cell(percent(count / whole)),
        bar(count / longest, "most" if count == longest else ""),
        element("td", element("span", words.meaning), " ", element("span", words.look_at, class_="look"), class_="words"),
        attributes={"data-cause": cause},
    )  # fmt: skip
