"""Confidence intervals of few values."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

# Student's t, two-sided 95%, for 1, 2, … degrees of freedom; a table of any textbook
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
        2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip
T_MANY = 1.96


def t_95(values: int) -> float:
    """For the mean of so many values, two or more."""
    return T_95[values - 2] if values - 2 < len(T_95) else T_MANY


def half_width(values: Sequence[float] | np.ndarray) -> float:
    """Half of the 95% confidence interval of the mean of values."""
    return float(half_widths(np.asarray(values, np.float64)[:, None])[0])


def half_widths(rows: np.ndarray) -> np.ndarray:
    """The same for each column of a table with a row for each value."""
    count = len(rows)
    return t_95(count) * rows.std(axis=0, ddof=1) / sqrt(count) if count > 1 else np.full(rows.shape[1], np.inf)
