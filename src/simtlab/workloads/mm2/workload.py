"""2MM, two matrix products: D = alpha A B C + beta D.

Suite: PolyBench/GPU (`2mm`). Regular, memory-bound.
A thread computes one element without shared memory: it walks along a row of the left matrix, one word for the whole warp, and
down a column of the right one, coalesced, a row apart from step to step; and it stores its sum after every step. CTAs of a row of
the grid read the same rows, those of a column the same columns.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "2MM"
SUITE = "PolyBench/GPU"
CATEGORY = "regular"
PAPERS = ("LOADS",)
SIZES = {
    "tiny": {"ni": 24, "nj": 32, "nk": 40, "nl": 32},
    "small": {"ni": 1536, "nj": 64, "nk": 64, "nl": 64},
    "paper": {"ni": 2048, "nj": 2048, "nk": 2048, "nl": 2048},  # LOADS Table I
}
TOLERANCE = {"d": (1e-5, 1e-4)}  # sums of singles in another order
FILES = {"a": "matrix", "b": "matrix", "c": "matrix"}
BLOCK = (32, 8)
ALPHA, BETA = np.float32(1.5), np.float32(1.2)


def inputs(
    *, ni: int = 0, nj: int = 0, nk: int = 0, nl: int = 0, seed: int = 0, a: Any = None, b: Any = None, c: Any = None
) -> dict[str, Any]:
    """Matrices of numbers in [-1, 1], or from files; a generated one fits the others."""
    random = np.random.default_rng([seed, ni, nj, nk, nl])
    given = [file.dense() if file is not None else None for file in (a, b, c)]
    edges = [ni, nk, nj, nl]  # A is ni by nk, B nk by nj, C nj by nl
    for k, matrix in enumerate(given):
        if matrix is not None:
            edges[k], edges[k + 1] = matrix.shape
    left, middle, right = (uniform(random, (edges[k], edges[k + 1])) if m is None else m for k, m in enumerate(given))
    for one, other, names in ((left, middle, "ab"), (middle, right, "bc")):
        same = f"2MM: {names[0]} has {one.shape[1]} columns and {names[1]} has {other.shape[0]} rows; these must be equal"
        require(one.shape[1] == other.shape[0], same)
    return {"a": left, "b": middle, "c": right, "d": uniform(random, (left.shape[0], right.shape[1]))}


def uniform(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return random.uniform(-1, 1, shape).astype(np.float32)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    (ni, nk), (nj, nl) = data["a"].shape, data["c"].shape
    a, b, c, d = (launcher.array(data[name], label=name) for name in "abcd")
    tmp = launcher.zeros((ni, nj), "f4", label="tmp")
    numbers = [*map(np.int32, (ni, nj, nk, nl)), ALPHA, BETA]
    for kernel, columns, arrays in (("mm2_kernel1", nj, [tmp, a, b]), ("mm2_kernel2", nl, [tmp, c, d])):
        grid = (-(-columns // BLOCK[0]), -(-ni // BLOCK[1]))
        launcher.launch(kernel, grid, BLOCK, [*numbers, *arrays])
    return {"d": d.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    a, b, c, d = (data[name].astype(np.float64) for name in "abcd")
    return {"d": float(ALPHA) * (a @ (b @ c)) + float(BETA) * d}
