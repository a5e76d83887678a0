"""Functional profiles: what some CTAs, or a launch, executed by instruction (count_t), and whether two of them are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNKNOWN = -1  # lines of memory of a launch that was timed and not run functionally


def added(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Several together."""
    total = parts[0].copy()
    for part in parts[1:]:
        total.view(np.int64)[:] += part.view(np.int64)
    return total


def taken_from(later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """What was executed in between; lines of memory, which machines do not count so, stay unknown."""
    found = later.copy()
    for name in ("executed", "lanes"):
        found[name] -= earlier[name]
    return found


def are_alike(one: np.ndarray, other: np.ndarray, tolerance: float, with_cold: bool = False) -> bool:
    """Whether the shares of their instructions, the lanes that take part in one, and the lines of memory that one touches (with
    `with_cold` also those that its CTA had not touched lately) differ by no more than a tolerance. How many instructions there are
    makes no difference."""
    first, second = (int(counts["executed"].sum()) for counts in (one, other))
    if not first or not second:
        return first == second
    moved = np.abs(one["executed"] / first - other["executed"] / second).sum() / 2
    known: tuple[str, ...] = ("lanes",)
    if min(int(one["lines"].sum()), int(other["lines"].sum())) >= 0:
        known = ("lanes", "lines", "cold") if with_cold else ("lanes", "lines")
    rates = [(int(one[name].sum()) / first, int(other[name].sum()) / second) for name in known]
    return bool(moved <= tolerance) and all(differs_by(*pair) <= tolerance for pair in rates)


def differs_by(one: float, other: float) -> float:
    """By which share of the greater."""
    return abs(one - other) / max(one, other) if max(one, other) > 0 else 0.0
