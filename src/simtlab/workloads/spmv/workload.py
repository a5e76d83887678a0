"""SPMV, a sparse matrix times a dense vector, again and again, in the format of jagged diagonals.

Suite: Parboil (`spmv`). Irregular.
Entries and their columns are coalesced loads, a diagonal apart from step to step; the vector is read wherever a column says, near
by for a matrix from a mesh. The CTAs of 192 threads are those of LOADS Table I, whose matrix Dubcova3 (146,689 rows, a mesh of
finite elements) is the pattern of the generated ones.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.matrices import Matrix, from_entries

NAME = "SPMV"
SUITE = "Parboil"
CATEGORY = "irregular"
PAPERS = ("DYNCTA", "LOADS")
DYNCTA_TYPE = "Type-M"
SIZES = {
    "tiny": {"rows": 500, "rounds": 2},
    "small": {"rows": 86_400, "rounds": 2},
    "paper": {"rows": 146_689, "rounds": 50},  # LOADS Table I: Dubcova3; fifty rounds are Parboil's
}
TOLERANCE = {"result": (1e-4, 1e-4)}  # sums of singles in another order
FILES = {"matrix": "matrix"}
THREADS, WARP = 192, 32
MOST_WARPS = 5000  # and diagonals: words of constant memory
KEPT = 0.9  # of a node's 25 neighbours in the mesh; Dubcova3 has 24.8 entries a row


def inputs(*, rows: int = 0, rounds: int, seed: int = 0, matrix: Matrix | None = None) -> dict[str, Any]:
    """A matrix of a mesh, two nodes in each direction being neighbours, or one from a file; the vector has numbers in [0, 1]."""
    chosen = mesh(rows, seed) if matrix is None else matrix
    height, width = chosen.shape
    warps, longest = -(-height // WARP), int(np.diff(chosen.offsets).max(initial=0))
    require(warps <= MOST_WARPS, f"SPMV: the matrix has {height} rows; there may be {MOST_WARPS * WARP}")
    require(longest <= MOST_WARPS, f"SPMV: a row of the matrix has {longest} entries; there may be {MOST_WARPS}")
    vector = np.random.default_rng([seed, width]).random(width, dtype=np.float32)
    return {"offsets": chosen.offsets, "columns": chosen.columns, "values": chosen.values, "vector": vector, "rounds": rounds}


def mesh(rows: int, seed: int) -> Matrix:
    random = np.random.default_rng([seed, rows])
    across = max(1, int(np.sqrt(rows)))
    node = np.arange(rows)
    pairs = []
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            other = node + dy * across + dx
            inside = (other >= 0) & (other < rows) & (np.abs(node % across + dx - other % across) == 0)
            inside &= (random.random(rows) < KEPT) | (dy == dx == 0)
            pairs.append(np.stack([node[inside], other[inside]]))
    one, other = np.concatenate(pairs, 1)
    return from_entries((rows, rows), one, other, random.uniform(-1, 1, len(one)))


def jagged(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The matrix by diagonals: `begins` of each, `lengths` of each warp's rows, and which row every sorted one was."""
    lengths = np.diff(data["offsets"])
    rows = len(lengths)
    permutation = np.argsort(-lengths, kind="stable")
    by_warp = lengths[permutation[::WARP]]
    filled = np.repeat(by_warp, WARP)[:rows]
    begins = np.concatenate([[0], np.cumsum([np.count_nonzero(filled > k) for k in range(int(filled.max(initial=0)))])]).astype(int)
    rank = np.empty(rows, int)
    rank[permutation] = np.arange(rows)
    within = np.arange(len(data["columns"])) - np.repeat(data["offsets"][:-1], lengths)
    place = begins[within] + np.repeat(rank, lengths)
    entries, index = np.zeros(begins[-1], np.float32), np.zeros(begins[-1], np.int32)
    entries[place], index[place] = data["values"], data["columns"]
    return {"entries": entries, "index": index, "permutation": permutation, "begins": begins[:-1], "lengths": by_warp}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    stored, rows = jagged(data), len(data["offsets"]) - 1
    for name, values in (("jds_ptr_int", stored["begins"]), ("sh_zcnt_int", stored["lengths"])):
        launcher.module.variable(name, "i4")[: len(values)] = values.astype(np.int32)
    entries, vector = launcher.array(stored["entries"], label="data"), launcher.array(data["vector"], label="vector")
    index, permutation = (launcher.array(stored[name], "i4", label=name) for name in ("index", "permutation"))
    result = launcher.zeros(rows, "f4", label="result")
    arguments = [result, entries, index, permutation, vector, np.int32(rows), np.int32(len(stored["begins"]))]
    for _ in range(data["rounds"]):
        launcher.launch("spmv_jds", -(-rows // THREADS), THREADS, arguments)
    return {"result": result.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows = np.repeat(np.arange(len(data["offsets"]) - 1), np.diff(data["offsets"]))
    products = data["values"].astype(np.float64) * data["vector"][data["columns"]]
    return {"result": np.bincount(rows, products, len(data["offsets"]) - 1)}
