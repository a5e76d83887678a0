"""Rules about lanes: warps that diverge, and warps that a CTA does not fill."""

from __future__ import annotations

from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.ledger import QUEUE, SPECIAL, Ledger
from simtlab.report.rules.words import Finding, by_line, named, percent

RUNNING = (
    "issued", "math_pipe_throttle", "dispatch", "wait", "short_scoreboard", "long_scoreboard", QUEUE, SPECIAL, "branch_resolving",
    "replay", "imc_miss", "tex_throttle",
)  # fmt: skip
ISSUING = ("issued", "math_pipe_throttle", "dispatch")
MOST_LINES = 3


def full(profile: LaunchProfile) -> float:
    """Lanes of a warp that have a thread, in the mean."""
    return profile.threads / profile.warps


def lanes_of(row: InstructionProfile) -> float:
    return row.lanes / row.issued if row.issued else 0.0


def divergence(ledger: Ledger) -> Finding | None:
    """Instructions that only some of a warp's threads take part in: with all lanes at work they would be executed less often. The
    share of idle lanes is that of the cycles that could be saved at most, waits for their results included."""
    profile = ledger.profile
    width = full(profile)
    taken = ledger.take(RUNNING, lambda row: max(0.0, 1 - lanes_of(row) / width) if row.issued else 0.0)
    lines = by_line(profile, taken)
    together = sum(taken.values())
    if not together or not lines:
        return None
    most = [place for place, cycles in lines.items() if cycles >= 0.1 * together][:MOST_LINES] or [next(iter(lines))]
    here = [row for row in profile.rows if (row.file, row.line) in most and row.issued]
    lanes = sum(row.lanes for row in here) / sum(row.issued for row in here)
    branch = branch_before(profile, here)
    sentence = (
        f"Warps diverge: {' and '.join(named(profile, place) for place in most)} run with {lanes:.1f} of {width:.0f} lanes (the whole "
        f"kernel with {profile.lanes_in_use:.1f})"
        + (f", after the branch of {named(profile, (branch.file, branch.line))}" if branch else "")
        + f"; the idle lanes are {percent(together / ledger.total)} of scheduler cycles. Give the threads of a warp equal work: sort or "
        "group it by length, or let several threads share one long piece."
    )
    places = (*most, *([(branch.file, branch.line)] if branch and (branch.file, branch.line) not in most else []))
    return Finding("divergence", sentence, places, together)


def branch_before(profile: LaunchProfile, rows: list[InstructionProfile]) -> InstructionProfile | None:
    """The branch that sent lanes another way: the last one before these instructions that more lanes took part in, in the mean."""
    first = min(rows, key=lambda row: row.pc)
    lanes = sum(row.lanes for row in rows) / sum(row.issued for row in rows)
    for row in reversed(profile.rows[: first.pc]):
        if row.text.startswith("@") and " bra" in row.text and row.issued and row.line and lanes_of(row) > lanes:
            return row
    return None


def part_filled_warps(ledger: Ledger) -> Finding | None:
    """A CTA whose threads do not fill its warps issues as often as one that does."""
    profile = ledger.profile
    empty = 1 - full(profile) / 32
    if not empty:
        return None
    cycles = sum(ledger.take(ISSUING, lambda row: empty).values())
    sentence = (
        f"CTAs of {profile.threads} threads leave {32 * profile.warps - profile.threads} of the {32 * profile.warps} lanes of their "
        f"{profile.warps} warps empty, which is {percent(cycles / ledger.total)} of scheduler cycles. Use a multiple of 32 threads."
    )
    return Finding("part-filled-warps", sentence, (), cycles)
