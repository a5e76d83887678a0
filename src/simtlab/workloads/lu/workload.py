"""LU decomposition in place: the upper factor with a diagonal of ones, the lower one with the pivots, two launches a column.

Suite: PolyBench/GPU (`lu`). Regular, memory-bound.
Every element of what is left is read and written once a launch, coalesced and never aligned, since it begins one element later
each time; a warp shares one word of the pivot's column, and all CTAs of a column of the grid a piece of its row. The grid shrinks.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.matrices import square_with_pivots

NAME = "LU"
SUITE = "PolyBench/GPU"
CATEGORY = "regular"
PAPERS = ("LOADS",)
SIZES = {
    "tiny": {"n": 28},
    "small": {"n": 224},  # 196 CTAs at first, fewer by and by; three waves on 30 cores are 12 M instructions
    "paper": {"n": 2048},  # LOADS Table I
}
TOLERANCE = {"product": (1e-5, 1e-3)}  # absolute: of sums of up to n products
FILES = {"a": "matrix"}
THREADS, BLOCK = 256, (32, 8)


def inputs(*, n: int = 0, seed: int = 0, a: Any = None) -> dict[str, Any]:
    """Numbers in [-1, 1] with a dominant diagonal, which needs no pivoting; or a matrix from a file, which must not either."""
    if a is not None:
        return {"a": square_with_pivots("LU", "decomposition", a)}
    require(n >= 2, f"LU: n is {n}; it must be at least 2")
    matrix = np.random.default_rng([seed, n]).uniform(-1, 1, (n, n)).astype(np.float32)
    np.fill_diagonal(matrix, np.abs(matrix).sum(1))
    return {"a": matrix}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n = len(data["a"])
    a = launcher.array(data["a"], label="a")
    for k in range(n - 1):
        left = n - (k + 1)
        launcher.launch("lu_kernel1", -(-left // THREADS), THREADS, [np.int32(n), a, np.int32(k)])
        launcher.launch("lu_kernel2", (-(-left // BLOCK[0]), -(-left // BLOCK[1])), BLOCK, [np.int32(n), a, np.int32(k)])
    return {"product": multiplied_back(a.numpy())}


def multiplied_back(factors: np.ndarray) -> np.ndarray:
    """The product of the two factors that lie in one matrix."""
    lower = np.tril(factors.astype(np.float64))
    return lower @ (np.triu(factors.astype(np.float64), 1) + np.eye(len(factors)))


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The factors' product is the matrix they were made from."""
    return {"product": data["a"].astype(np.float64)}
