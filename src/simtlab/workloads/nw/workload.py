"""NW, Needleman-Wunsch: the global alignment of two sequences of amino acids, a wavefront of blocks of 16 x 16 scores.

Suite: Rodinia (`nw`). Regular, few threads.
A CTA is half a warp. A launch has as many CTAs as the wavefront has blocks, from one to n / 16 and back to one; within a block, 31
steps with a barrier after each, and about half of the threads at work on average. Rows are n + 1 words, never aligned. The
similarity of every pair of places is looked up by the host and read from memory once.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "NW"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-X"
ALIASES = ("needle",)
SIZES = {
    "tiny": {"n": 112, "penalty": 10},
    "small": {"n": 1200, "penalty": 10},  # never more than 75 CTAs at once; three waves of a machine would be 90 times the work
    "paper": {"n": 2048, "penalty": 10},  # Rodinia's run file; DYNCTA does not name its input
}
BLOCK = 16
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
# BLOSUM62 (Henikoff and Henikoff, PNAS 1992), the lower triangle in the order of AMINO_ACIDS.
BLOSUM62 = """
 4
-1  5
-2  0  6
-2 -2  1  6
 0 -3 -3 -3  9
-1  1  0  0 -3  5
-1  0  0  2 -4  2  5
 0 -2  0 -1 -3 -2 -2  6
-2  0  1 -1 -3  0  0 -2  8
-1 -3 -3 -3 -1 -3 -3 -4 -3  4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
"""


def substitutions() -> np.ndarray:
    """BLOSUM62 in full."""
    table = np.zeros((len(AMINO_ACIDS), len(AMINO_ACIDS)), np.int32)
    for row, line in enumerate(BLOSUM62.split("\n")[1:-1]):
        table[row, : row + 1] = table[: row + 1, row] = [int(word) for word in line.split()]
    return table


def inputs(*, n: int, penalty: int, seed: int = 0) -> dict[str, Any]:
    """Two sequences of amino acids, each as likely as any other, as Rodinia draws them."""
    require(n >= BLOCK and n % BLOCK == 0, f"NW: n is {n}; it must be a multiple of {BLOCK}, {BLOCK} at least")
    require(penalty >= 0, f"NW: penalty is {penalty}; it must be at least 0")
    random = np.random.default_rng([seed, n])
    return {"one": random.integers(0, len(AMINO_ACIDS), n), "other": random.integers(0, len(AMINO_ACIDS), n), "penalty": penalty}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n, penalty = len(data["one"]), data["penalty"]
    similarity, border = (np.zeros((n + 1, n + 1), np.int32) for _ in range(2))
    similarity[1:, 1:] = substitutions()[np.ix_(data["one"], data["other"])]
    border[0] = border[:, 0] = -penalty * np.arange(n + 1)
    scores = launcher.array(border, label="scores")
    arguments = [launcher.array(similarity, label="similarity"), scores, np.int32(n + 1), np.int32(penalty)]
    blocks = n // BLOCK
    for length in range(1, blocks + 1):
        launcher.launch("needle_cuda_shared_1", length, BLOCK, [*arguments, np.int32(length), np.int32(blocks)])
    for length in range(blocks - 1, 0, -1):
        launcher.launch("needle_cuda_shared_2", length, BLOCK, [*arguments, np.int32(length), np.int32(blocks)])
    return {"scores": scores.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Row by row: what comes from the row above, then the best way along the row by a running maximum."""
    n, penalty, table = len(data["one"]), data["penalty"], substitutions()
    gaps = penalty * np.arange(n + 1)
    rows = [-gaps]
    for one in data["one"]:
        above = rows[-1]
        here = above - penalty
        here[1:] = np.maximum(here[1:], above[:-1] + table[one, data["other"]])
        rows.append(np.maximum.accumulate(here + gaps) - gaps)
    return {"scores": np.stack(rows)}
