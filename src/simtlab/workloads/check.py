"""Compare results with a reference: equal, or within a stated tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simtlab.workloads.errors import WrongResult

Tolerance = tuple[float, float]  # relative to the expected value, and absolute


def check(who: str, outputs: Mapping[str, Any], expected: Mapping[str, Any], tolerances: Mapping[str, Tolerance]) -> None:
    """WrongResult unless every output is there, has the right shape, and holds the right values."""
    for name in [*expected, *(name for name in outputs if name not in expected)]:
        if name not in outputs or name not in expected:
            lacking = "the program gave no" if name not in outputs else "the reference has no"
            raise WrongResult(name, 0, f"{who}: {lacking} array '{name}'")
        compare(who, name, np.asarray(outputs[name]), np.asarray(expected[name]), tolerances.get(name))


def compare(who: str, name: str, got: np.ndarray, expected: np.ndarray, tolerance: Tolerance | None) -> None:
    """One array against its reference."""
    if got.shape != expected.shape:
        raise WrongResult(name, got.size, f"{who}: array '{name}' has the shape {got.shape}; expected {expected.shape}")
    wrong = np.argwhere(np.atleast_1d(differs(got, expected, tolerance)))
    if not len(wrong):
        return
    place = tuple(int(k) for k in wrong[0]) if got.ndim else ()
    at = f"[{', '.join(map(str, place))}]" if place else ""
    bound = "" if tolerance is None else f" (allowed: {tolerance[0]:g} of it and {tolerance[1]:g})"
    raise WrongResult(
        name,
        len(wrong),
        f"{who}: {len(wrong):,} of {got.size:,} elements of '{name}' are wrong; "
        f"the first is {name}{at}: expected {expected[place]}, got {got[place]}{bound}",
    )


def differs(got: np.ndarray, expected: np.ndarray, tolerance: Tolerance | None) -> np.ndarray:
    """Which elements differ. NaN where NaN is expected is right, and so is zero of either sign."""
    same = (got == expected) | ((got != got) & (expected != expected))
    if tolerance is None:
        return ~same
    relative, absolute = tolerance
    exact = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(got.astype(np.float64) - exact) <= absolute + relative * np.abs(exact)
    return ~(same | (near & np.isfinite(exact)))
