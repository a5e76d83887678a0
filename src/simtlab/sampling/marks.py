"""The marks of several launches as one."""

from __future__ import annotations

from collections.abc import Iterable

from simtlab.machine.machine import TimedRun
from simtlab.machine.sampled import Sampled

Marked = tuple[Sampled | None, int, int]  # a launch's mark, its warp instructions and its cycles


def mark_of(runs: Iterable[TimedRun]) -> Sampled | None:
    """Of launches of which some may be sampled; None if no machine that samples ran them."""
    return combined((run.sampled, run.instructions, run.cycles) for run in runs)


def combined(launches: Iterable[Marked]) -> Sampled | None:
    """Errors are added up as if all were wrong in the same direction."""
    given = list(launches)
    if all(mark is None for mark, _, _ in given):
        return None
    marked = [(mark or Sampled(1.0, 0.0), instructions, cycles) for mark, instructions, cycles in given]
    if len(marked) == 1:
        return marked[0][0]
    instructions, cycles = sum(count for _, count, _ in marked), sum(count for _, _, count in marked)
    share = sum(mark.share * count for mark, count, _ in marked) / instructions if instructions else 1.0
    error = sum(mark.error * count for mark, _, count in marked) / cycles if cycles else 0.0
    errors: dict[str, float] = {}
    for mark, _, _ in marked:
        for name, value in mark.errors.items():
            errors[name] = errors.get(name, 0.0) + value
    reasons = dict.fromkeys(mark.reason for mark, _, _ in marked if mark.reason)
    windows, gaps = (sum(getattr(mark, name) for mark, _, _ in marked) for name in ("windows", "gaps"))
    return Sampled(share, error, errors, windows, gaps, "; ".join(reasons) if share == 1 else "")


def as_json(mark: Sampled) -> dict[str, object]:
    return {"share": mark.share, "error": mark.error, "errors": dict(mark.errors), "windows": mark.windows, "gaps": mark.gaps,
            "reason": mark.reason}  # fmt: skip
