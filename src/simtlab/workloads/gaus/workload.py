"""GAUS, Gaussian elimination: solves a system of linear equations, two launches a column.

Suite: Rodinia (`gaussian`). Regular in its addresses, wasteful in its lanes.
The elimination has CTAs of 4 x 4 threads, half a warp, and its threads go down the columns: the four rows of a CTA lie in four
lines. The grid stays that of the whole matrix while what is left to do shrinks, so that ever more CTAs end at once.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.matrices import square_with_pivots

NAME = "GAUS"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("LOADS",)
ALIASES = ("gaussian",)
SIZES = {"tiny": {"n": 22}, "small": {"n": 112}, "paper": {"n": 1024}}  # LOADS Table I: matrix 1024
TOLERANCE = {"x": (1e-2, 1e-2), "triangle": (1e-4, 1e-4)}  # singles, and the matrix has a condition of about 4e4
FILES = {"a": "matrix"}
THREADS, TILE = 512, 4
DECAY = 0.01  # of Rodinia's own matrices: 10 exp(-0.01 |i - j|)


def inputs(*, n: int = 0, seed: int = 0, a: Any = None) -> dict[str, Any]:
    """Rodinia's matrix, symmetric with elements that fall off from the diagonal, and right-hand sides from 0.5 to 1.5."""
    if a is None:
        require(n >= 2, f"GAUS: n is {n}; it must be at least 2")
        place = np.arange(n)
        matrix = (10 * np.exp(-DECAY * np.abs(place[:, None] - place))).astype(np.float32)
    else:
        matrix = square_with_pivots("GAUS", "elimination", a)
    random = np.random.default_rng([seed, len(matrix)])
    return {"a": matrix, "b": random.uniform(0.5, 1.5, len(matrix)).astype(np.float32)}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n = len(data["b"])
    a, b = launcher.array(data["a"], label="a"), launcher.array(data["b"], label="b")
    m = launcher.zeros((n, n), "f4", label="m")
    tiles, size = -(-n // TILE), np.int32(n)
    for t in range(n - 1):
        launcher.launch("Fan1", -(-n // THREADS), THREADS, [m, a, size, np.int32(t)])
        launcher.launch("Fan2", (tiles, tiles), (TILE, TILE), [m, a, b, size, np.int32(n - t), np.int32(t)])
    triangle = np.triu(a.numpy())
    return {"triangle": triangle, "x": substituted(triangle, b.numpy())}


def substituted(triangle: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The host's part: from the last unknown to the first."""
    x = np.zeros(len(right))
    for row in range(len(right) - 1, -1, -1):
        x[row] = (right[row] - triangle[row] @ x) / triangle[row, row]
    return x.astype(np.float32)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The solution by LAPACK; the triangle by rows of Crout's scheme, which needs no steps over the whole matrix."""
    a, n = data["a"].astype(np.float64), len(data["b"])
    lower, upper = np.eye(n), np.zeros((n, n))
    for row in range(n):
        for column in range(row):
            lower[row, column] = (a[row, column] - lower[row, :column] @ upper[:column, column]) / upper[column, column]
        upper[row, row:] = a[row, row:] - lower[row, :row] @ upper[:row, row:]
    return {"triangle": upper, "x": np.linalg.solve(a, data["b"].astype(np.float64))}
