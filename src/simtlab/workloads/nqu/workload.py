"""NQU, the N-queens puzzle: in how many ways queens stand on a board so that none attacks another.

Suite: ISPASS (GPGPU-Sim's benchmarks of 2009). Irregular.
The host places the first rows and a thread finishes one such board, with its stack in shared memory: loops of very different
length, so that most of a warp waits for a few threads. Two rows (of up to 11 queens) make few boards: most CTAs have none and
end at once, and one does nearly all the work. A queen of the first row stands in the left half only; what that finds counts
twice.
`small` is not as the suite would have it: with six rows placed, 276 of its 288 CTAs have work.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "NQU"
SUITE = "ISPASS 2009"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-X"
ALIASES = ("nqueen",)
SIZES = {
    "tiny": {"queens": 9, "ctas": 12},
    "small": {"queens": 12, "ctas": 288, "rows": 6},
    "paper": {"queens": 8, "ctas": 256},  # what the suite's program does when it is given no arguments
}
THREADS, MOST_ROWS = 96, 10  # as in kernel.cu; a thread places ten rows at most


def inputs(*, queens: int, ctas: int, rows: int = 0, seed: int = 0) -> dict[str, Any]:
    """Boards with `rows` rows of queens (0: as many as the suite's host places); a seed deals them out to other threads."""
    require(4 <= queens <= 20, f"NQU: queens is {queens}; it must be from 4 to 20")
    require(ctas >= 1, f"NQU: ctas is {ctas}; there must be 1 at least")
    placed = rows or max(2, queens - MOST_ROWS)
    least = max(1, queens - MOST_ROWS)
    require(least <= placed < queens, f"NQU: rows is {placed}; with {queens} queens it must be from {least} to {queens - 1}")
    columns = range(queens // 2)
    half = begun(queens, placed, [1 << column for column in columns])
    middle = begun(queens, placed, [1 << queens // 2] if queens % 2 else [])
    if seed:  # seed 0 leaves them as the suite's host finds them
        random = np.random.default_rng([seed, queens])
        half, middle = random.permutation(half), random.permutation(middle)
    return {"half": half, "middle": middle, "queens": queens, "rows": queens - placed, "ctas": ctas}


def begun(queens: int, rows: int, first: list[int]) -> np.ndarray:
    """Attacked columns and diagonals of every board that begins with one of these squares, in the host's order."""
    boards = [(square, square << 1, square >> 1) for square in first]
    for _ in range(rows - 1):
        boards = [
            (column | square, (left | square) << 1, (right | square) >> 1)
            for column, left, right in boards
            for square in (1 << k for k in range(queens))
            if not square & (column | left | right)
        ]
    return np.array(boards, np.uint32).reshape(-1, 3)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    """One launch for every grid full of boards, those of the left half first."""
    most = data["ctas"] * THREADS
    results = launcher.zeros(data["ctas"], "u4", label="results")
    found: dict[str, np.ndarray] = {}
    for name in ("half", "middle"):
        parts = []
        for first in range(0, len(data[name]), most):
            boards = data[name][first : first + most]
            masks = [launcher.array(boards[:, k], label=mask) for k, mask in enumerate(("columns", "lefts", "rights"))]
            sizes = np.int32(data["queens"]), np.int32(data["rows"])
            launcher.launch("solve_nqueen_cuda_kernel", data["ctas"], THREADS, [*sizes, *masks, results, np.int32(len(boards))])
            parts.append(results.numpy())
        found[name] = np.concatenate(parts) if parts else np.zeros(0, np.uint32)
    return found | {"solutions": solutions(found)}


def solutions(found: dict[str, np.ndarray]) -> np.ndarray:
    return np.array(2 * int(found["half"].sum()) + int(found["middle"].sum()))


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """All boards at once, column by column of the next row; each remembers whose it was."""
    found = {}
    for name in ("half", "middle"):
        boards = data[name].astype(np.int64)
        grids = -(-len(boards) // (data["ctas"] * THREADS))
        owner = np.arange(len(boards)) // THREADS
        column, left, right = boards.T
        for _ in range(data["rows"]):
            free = [(np.flatnonzero((column | left | right) >> k & 1 == 0), 1 << k) for k in range(data["queens"])]
            chosen = np.concatenate([which for which, _ in free])
            square = np.concatenate([np.full(len(which), square) for which, square in free])
            column, left, right = column[chosen] | square, (left[chosen] | square) << 1, (right[chosen] | square) >> 1
            owner = owner[chosen]
        found[name] = np.bincount(owner, minlength=grids * data["ctas"])
    return found | {"solutions": solutions(found)}
