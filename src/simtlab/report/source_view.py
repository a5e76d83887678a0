"""The source of a kernel, line by line and instruction by instruction, with what each cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from simtlab.report.figures import share
from simtlab.report.markup import Markup, element, grouped, join, number_cell, percent
from simtlab.report.profile import CAUSES, InstructionProfile, LaunchProfile
from simtlab.report.stall_words import words_of

WHOLE_FILE_LINES = 400  # of a longer file only the neighbourhood of lines with instructions is shown
NEIGHBOURHOOD = 3
HEAT_STEPS = 10
NOTHING = Markup("")
SORTABLE = ["Cycles", "Issued", "Lanes of 32", "Stall cycles", "Sectors per request", "Passes per access", "L1 hits", "Class",
            "Top stall reason"]  # fmt: skip
TEXTS = SORTABLE[-2:]


@dataclass(frozen=True)
class Cost:
    """What some instructions came to together."""

    issued: int
    lanes: int
    stalls: dict[str, int]
    accesses: int
    requests: int  # executions of those that made accesses
    passes: int
    shared: int  # executions of those that went to shared memory
    l1_hits: int
    l1_misses: int
    load_class: str

    @property
    def stalled(self) -> int:
        return sum(self.stalls.values())

    @property
    def cycles(self) -> int:
        return self.issued + self.stalled


def cost_of(rows: Sequence[InstructionProfile]) -> Cost:
    stalls = {cause: sum(row.stalls.get(cause, 0) for row in rows) for cause in CAUSES[1:]}
    return Cost(
        sum(row.issued for row in rows), sum(row.lanes for row in rows), {cause: count for cause, count in stalls.items() if count},
        sum(row.accesses for row in rows), sum(row.issued for row in rows if row.accesses),
        sum(row.passes for row in rows), sum(row.issued for row in rows if row.passes),
        sum(row.l1_hits for row in rows), sum(row.l1_misses for row in rows),
        "".join(dict.fromkeys(row.load_class for row in rows if row.load_class)),
    )  # fmt: skip


def unattributed(profile: LaunchProfile) -> dict[str, int]:
    """Scheduler cycles that belong to no instruction, by cause, `issued` among them; those above 0."""
    of_rows = {cause: sum(row.stalls.get(cause, 0) for row in profile.rows) for cause in CAUSES[1:]}
    of_rows["issued"] = sum(row.issued for row in profile.rows)
    return {cause: count - of_rows[cause] for cause, count in profile.stalls.items() if count != of_rows[cause]}


def files_of(profile: LaunchProfile) -> list[str]:
    """Of the lines that instructions come from, in the order of the program."""
    return list(dict.fromkeys(row.file for row in profile.rows if row.line))


def lines_of(profile: LaunchProfile) -> dict[tuple[str, int], list[InstructionProfile]]:
    """The instructions of each line."""
    found: dict[tuple[str, int], list[InstructionProfile]] = {}
    for row in profile.rows:
        if row.line:
            found.setdefault((row.file, row.line), []).append(row)
    return found


def source_part(profile: LaunchProfile, prefix: str) -> Markup:
    sector = profile.machine.l1d.sector_bytes
    note = (
        "A line's cycles are those in which its instructions were issued, and those in which a scheduler waited for them; the two "
        "tables and their last rows each add up to all scheduler cycles. The colour is against the row with the most cycles. "
        f"A sector has {sector} bytes here; of constant loads words are counted, of texture fetches lines. Passes are of shared "
        "memory. Class of a global load: D if its address comes from parameters, constants and indices alone, N if it depends on "
        "loaded data. Headings sort; the first one restores the order of the source. A line's number leads to its instructions, "
        "and back; an instruction that waits names the loads it waits for."
    )
    return join([element("p", note, class_="note"), line_table(profile, prefix), instruction_table(profile, prefix)])


def line_table(profile: LaunchProfile, prefix: str) -> Markup:
    """The CUDA lines; those without instructions are context."""
    files, lines = files_of(profile), lines_of(profile)
    rows: list[Markup] = []
    costs = {place: cost_of(rows) for place, rows in lines.items()}
    hottest = max((cost.cycles for cost in costs.values()), default=0)
    for k, file in enumerate(files):
        texts = profile.sources.get(file, "").splitlines()
        for line in shown_lines({line for name, line in lines if name == file}, len(texts)):
            text = texts[line - 1] if line <= len(texts) else "(source not available)"
            label = str(line) if len(files) == 1 else f"{PurePath(file).name}:{line}"
            here = {"id": f"{prefix}-s{k}-{line}", "data-line": f"{k}-{line}"}
            if (file, line) not in lines:
                rows.append(context_row(label, text, here))
                continue
            first = lines[file, line][0].pc
            link = element("a", label, href=f"#{prefix}-p{first}")
            rows.append(cost_row(link, text, costs[file, line], (profile, hottest), here))
    without = [row for row in profile.rows if not row.line]
    if without:
        here = {"id": f"{prefix}-s-0", "data-line": "none"}
        rows.append(cost_row("–", "(instructions of no line)", cost_of(without), (profile, hottest), here))
    return framed("CUDA source lines", "Line", "Source", rows, profile)


def shown_lines(busy: set[int], count: int) -> list[int]:
    """All lines of a file, or what is near lines with instructions."""
    if count <= WHOLE_FILE_LINES:
        return sorted({*range(1, count + 1), *busy})
    near = {line + step for line in busy for step in range(-NEIGHBOURHOOD, NEIGHBOURHOOD + 1)}
    return sorted({line for line in near if 1 <= line <= count} | busy)


def context_row(label: str, text: str, here: dict[str, Any]) -> Markup:
    code = element("td", element("code", text))
    rest = element("td", colspan=str(len(SORTABLE) - 1))
    return element("tr", element("th", label, scope="row"), element("td"), code, rest, class_="context", **here)


def instruction_table(profile: LaunchProfile, prefix: str) -> Markup:
    """The instructions in program order."""
    files = {file: k for k, file in enumerate(files_of(profile))}
    costs = [cost_of([row]) for row in profile.rows]
    hottest = max((cost.cycles for cost in costs), default=0)
    rows: list[Markup] = []
    for row, cost in zip(profile.rows, costs, strict=True):
        place = f"{files[row.file]}-{row.line}" if row.line else "none"
        here = {"id": f"{prefix}-p{row.pc}", "data-line": place}
        label = element("a", str(row.pc), href=f"#{prefix}-s{place if row.line else '-0'}")
        loads = [element("a", str(pc), href=f"#{prefix}-p{pc}") for pc in row.waits_on]
        waits = join([element("span", "waits for ", *(join([load, " "]) for load in loads), class_="waits")] if loads else [])
        rows.append(cost_row(label, row.text, cost, (profile, hottest), here, waits))
    return framed(f"{profile.language} instructions", "Number", "Instruction", rows, profile)


def cost_row(
    label: Any, text: str, cost: Cost, whole: tuple[LaunchProfile, int], here: dict[str, Any], waits: Markup = NOTHING
) -> Markup:
    """A row of either table. The script sorts by what stands in a cell, or by its key."""
    profile, hottest = whole
    of_all = cost.cycles / max(profile.scheduler_cycles, 1)
    step = round((HEAT_STEPS - 1) * cost.cycles / hottest) if hottest else 0
    hits = share(cost.l1_hits, cost.l1_hits + cost.l1_misses)
    texts = [grouped(cost.issued), mean(cost.lanes, cost.issued), grouped(cost.stalled), mean(cost.accesses, cost.requests),
             mean(cost.passes, cost.shared), "" if hits is None else percent(hits), cost.load_class]  # fmt: skip
    return element(
        "tr", element("th", label, scope="row"),
        element("td", percent(of_all) if cost.cycles else "", class_=f"h{step}" if step else None, data_key=cost.cycles),
        element("td", element("code", text)), *(element("td", text) for text in texts), reasons_cell(cost, waits), **here,
    )  # fmt: skip


def mean(above: int, below: int) -> str:
    """To two places, without zeros at the end; nothing of nothing."""
    return f"{above / below:.2f}".removesuffix("0").removesuffix(".0") if below else ""


def reasons_cell(cost: Cost, waits: Markup) -> Markup:
    """The largest reason, and for which loads it waits; all reasons unfold."""
    ordered = sorted(cost.stalls.items(), key=lambda pair: -pair[1])
    if not ordered:
        return element("td")
    cause, most = ordered[0]
    first = f"{words_of(cause).title} {percent(most / cost.stalled)}"
    waited = waits if any(name.endswith("scoreboard") for name in cost.stalls) else ""
    if len(ordered) == 1:
        return element("td", first, waited, data_key=cause)
    items = [element("li", f"{words_of(name).title}: {grouped(count)}") for name, count in ordered]
    return element("td", element("details", element("summary", first), element("ul", *items)), waited, data_key=cause)


def framed(title: str, first: str, code: str, rows: list[Markup], profile: LaunchProfile) -> Markup:
    """A sortable table with what adds up at its foot."""
    heads = [heading(first, "ascending"), heading(SORTABLE[0]), element("th", code, scope="col", class_="code"),
             *(heading(text) for text in SORTABLE[1:])]  # fmt: skip
    rest, total = unattributed(profile), profile.scheduler_cycles
    why = ", ".join(f"{words_of(cause).title} {grouped(count)}" for cause, count in rest.items() if cause != "issued")
    stalled = sum(count for cause, count in rest.items() if cause != "issued")
    foot = [
        foot_row("No instruction to blame", sum(rest.values()), (rest.get("issued", 0), stalled), total, why),
        foot_row("Total", total, (profile.stalls["issued"], total - profile.stalls["issued"]), total,
                 f"{grouped(total)} scheduler cycles"),
    ]  # fmt: skip
    whole = element("table", element("caption", title), element("thead", element("tr", *heads)), element("tbody", *rows),
                    element("tfoot", *foot), class_="source sortable", data_table=first.lower())  # fmt: skip
    return element("div", whole, class_="scroll tall", role="region", aria_label=title)


def heading(text: str, order: str = "none") -> Markup:
    kind = None if text in TEXTS else "n"
    return element("th", element("button", text, type="button"), scope="col", aria_sort=order, class_=kind)


def foot_row(name: str, cycles: int, parts: tuple[int, int], total: int, said: str) -> Markup:
    issued, stalled = parts
    return element(
        "tr", element("td"), number_cell(percent(cycles / max(total, 1)), cycles), element("th", name, scope="row"),
        element("td", grouped(issued)), element("td"), element("td", grouped(stalled)),
        element("td", said, colspan="5", class_="said"),
    )  # fmt: skip
