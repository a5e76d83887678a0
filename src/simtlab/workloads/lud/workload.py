"""LUD, LU decomposition in place by blocks of 16 x 16, three launches a diagonal block: corner, perimeter, what is left.

Suite: Rodinia (`lud`). Regular.
The corner is one CTA of half a warp, the perimeter is CTAs of one warp whose halves do different work; only the last of the three,
with CTAs of 256 threads and a grid that shrinks to one, fills a machine. All work is on blocks in shared memory.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.matrices import square_with_pivots

NAME = "LUD"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-X"
ALIASES = ("lud",)
SIZES = {
    "tiny": {"n": 48},
    "small": {"n": 400},
    "paper": {"n": 256},  # Rodinia's run file; DYNCTA does not name its input
}
TOLERANCE = {"product": (1e-5, 1e-3)}  # absolute: of sums of up to n products
FILES = {"a": "matrix"}
BLOCK = 16


def inputs(*, n: int = 0, seed: int = 0, a: Any = None) -> dict[str, Any]:
    """Numbers in [-1, 1] with a dominant diagonal, which needs no pivoting; or a matrix from a file, which must not either."""
    size = n if a is None else a.shape[0]
    require(size >= BLOCK and size % BLOCK == 0, f"LUD: n is {size}; it must be a multiple of {BLOCK}, {BLOCK} at least")
    if a is not None:
        return {"a": square_with_pivots("LUD", "decomposition", a)}
    matrix = np.random.default_rng([seed, n]).uniform(-1, 1, (n, n)).astype(np.float32)
    np.fill_diagonal(matrix, np.abs(matrix).sum(1))
    return {"a": matrix}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n = len(data["a"])
    a = launcher.array(data["a"], label="a")
    for offset in range(0, n, BLOCK):
        arguments = [a, np.int32(n), np.int32(offset)]
        left = (n - offset) // BLOCK - 1
        launcher.launch("lud_diagonal", 1, BLOCK, arguments)
        if left:
            launcher.launch("lud_perimeter", left, 2 * BLOCK, arguments)
            launcher.launch("lud_internal", (left, left), (BLOCK, BLOCK), arguments)
    return {"product": multiplied_back(a.numpy())}


def multiplied_back(factors: np.ndarray) -> np.ndarray:
    """The product of the two factors that lie in one matrix; the lower one's diagonal is ones."""
    upper = np.triu(factors.astype(np.float64))
    return (np.tril(factors.astype(np.float64), -1) + np.eye(len(factors))) @ upper


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The factors' product is the matrix they were made from."""
    return {"product": data["a"].astype(np.float64)}
