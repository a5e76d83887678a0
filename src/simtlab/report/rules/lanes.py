"""Rules about lanes: warps that diverge, and warps that a CTA does not fill."""

from __future__ import annotations

from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.ledger import QUEUE, SPECIAL, Ledger
from simtlab.report.rules.words import Finding, by_line, listed, named, percent, worst

RUNNING = (
    "issued", "math_pipe_throttle", "dispatch", "wait", "short_scoreboard", "long_scoreboard", QUEUE, SPECIAL, "branch_resolving",
    "replay", "imc_miss", "tex_throttle",
)  # fmt: skip
ISSUING = ("issued", "math_pipe_throttle", "dispatch")
MOST_LINES = 3


def full(profile: LaunchProfile) -> float:
    """Lanes of a warp that have a thread, in the mean."""
    return profile.threads / profile.warps


def active_lanes(profile: LaunchProfile) -> dict[int, float]:
    """Lanes that came to each instruction, in the mean, by pc. Of one with a guard only those are counted that it let through; the
    instruction before it, executed as often, has those that came there."""
    found: dict[int, float] = {}
    before: InstructionProfile | None = None
    for row in profile.rows:
        if not row.issued:
            continue
        guarded = row.is_guarded
        if not guarded or before is None or before.issued != row.issued:
            found[row.pc] = row.lanes / row.issued
        else:
            found[row.pc] = max(row.lanes, before.lanes) / row.issued
        before = before if guarded else row
    return found


def divergence(ledger: Ledger) -> Finding | None:
    """Instructions that only some of a warp's threads take part in: with all lanes at work they would be executed less often. The
    share of idle lanes is that of the cycles that could be saved at most, waits for their results included."""
    profile = ledger.profile
    width, active = full(profile), active_lanes(profile)
    taken = ledger.take(RUNNING, lambda row: max(0.0, 1 - active[row.pc] / width) if row.issued else 0.0)
    lines = by_line(profile, taken)
    together = sum(taken.values())
    if not together or not lines:
        return None
    most = [place for place, cycles in lines.items() if cycles >= 0.1 * together][:MOST_LINES] or [next(iter(lines))]
    here = [row for row in profile.rows if (row.file, row.line) in most and row.issued]
    lanes = sum(active[row.pc] * row.issued for row in here) / sum(row.issued for row in here)
    branch = branch_before(profile, worst(profile, taken), active)
    sentence = (
        f"Warps diverge: {listed(profile, most)} run{'s' * (len(most) == 1)} with {lanes:.1f} of "
        f"{width:.0f} lanes (the whole kernel with {profile.lanes_in_use:.1f})"
        + (f", after the branch of {named(profile, (branch.file, branch.line))}" if branch else "")
        + f"; the idle lanes are {percent(together / ledger.total)} of scheduler cycles. Give the threads of a warp equal work: "
        "sort or group it by length, or let several threads share one long piece."
    )
    places = (*most, *([(branch.file, branch.line)] if branch and (branch.file, branch.line) not in most else []))
    return Finding("divergence", sentence, places, together)


def branch_before(profile: LaunchProfile, first: InstructionProfile, active: dict[int, float]) -> InstructionProfile | None:
    """The branch that sent lanes another way: the last one before an instruction that more lanes came to."""
    for row in reversed(profile.rows[: first.pc]):
        if row.is_guarded and row.role == "branch" and row.issued and row.line and active[row.pc] > active[first.pc]:
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
        f"CTAs of {profile.threads} threads leave {32 * profile.warps - profile.threads} of the {32 * profile.warps} lanes of "
        f"their {profile.warps} warps empty, which is {percent(cycles / ledger.total)} of scheduler cycles. Use a multiple of 32 "
        "threads."
    )
    return Finding("part-filled-warps", sentence, (), cycles)
