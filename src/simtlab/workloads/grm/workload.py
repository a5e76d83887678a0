"""GRM, Gram-Schmidt orthogonalisation: A = Q R, three launches a column.

Suite: PolyBench/GPU (`gramschmidt`). Regular, with too few CTAs for the machine.
The length of a column is one thread's work, a row apart from load to load. Then a thread a column walks down all rows twice,
coalesced over its warp, beside one word of Q for all; it reads R again at every step, since A might overlap it. The grid is the
suite's: one CTA for the length, and one for every 256 rows or columns.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "GRM"
SUITE = "PolyBench/GPU"
CATEGORY = "regular"
PAPERS = ("LOADS",)
ALIASES = ("gramschmidt",)
SIZES = {
    "tiny": {"rows": 28, "columns": 20},
    "small": {"rows": 176, "columns": 160},
    "paper": {"rows": 2048, "columns": 2048},  # LOADS Table I
}
TOLERANCE = {"q": (1e-3, 1e-3), "r": (1e-3, 1e-3)}  # rounding grows with the matrix's condition
FILES = {"a": "matrix"}
THREADS = 256


def inputs(*, rows: int = 0, columns: int = 0, seed: int = 0, a: Any = None) -> dict[str, Any]:
    """Normal numbers, and a stronger diagonal. PolyBench's own matrix has rank 1, and no second column to orthogonalise."""
    random = np.random.default_rng([seed, rows, columns])
    if a is None:
        matrix = random.standard_normal((rows, columns)).astype(np.float32)
        np.fill_diagonal(matrix, matrix.diagonal() + np.float32(2 * np.sqrt(rows)))
    else:
        matrix = a.dense()
    rank, (height, width) = np.linalg.matrix_rank(matrix.astype(np.float64)), matrix.shape
    require(int(rank) == width, f"GRM: the matrix, {height} by {width}, has rank {rank}; its columns must be independent")
    return {"a": matrix}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows, columns = data["a"].shape
    a = launcher.array(data["a"], label="a")
    q, r = launcher.zeros((rows, columns), "f4", label="q"), launcher.zeros((columns, columns), "f4", label="r")
    steps = [
        ("gramschmidt_kernel1", 1),
        ("gramschmidt_kernel2", -(-rows // THREADS)),
        ("gramschmidt_kernel3", -(-columns // THREADS)),
    ]
    for k in range(columns):
        for kernel, grid in steps:
            launcher.launch(kernel, grid, THREADS, [np.int32(rows), np.int32(columns), a, r, q, np.int32(k)])
    return {"q": q.numpy(), "r": r.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """By LAPACK's reflections; there is one Q R with a positive diagonal."""
    q, r = np.linalg.qr(data["a"].astype(np.float64))
    signs = np.sign(r.diagonal())
    return {"q": q * signs, "r": r * signs[:, None]}
