"""MIS, a maximal independent set of a graph: no two of its nodes are neighbours, and no further node could join. Irregular.

Suite: Pannotia (`mis`), three kernels a round; LOADS does not name the code it ran, and what its input `512` is; the sizes here are
our guess. Loads of a node's own state, number and row are coalesced; every look at a neighbour is two loads, the second anywhere.
Fewer nodes are undecided from round to round, so that most lanes of a warp soon idle.
"""

from typing import Any

import numpy as np

from simtlab.workloads import graphs

NAME = "MIS"
SUITE = "Pannotia"
CATEGORY = "irregular"
PAPERS = ("LOADS",)
SIZES = {
    "tiny": {"nodes": 600, "degree": 4, "kind": "rmat"},
    "small": {"nodes": 92_160, "degree": 6, "kind": "uniform"},
    "paper": {"nodes": 1 << 20, "degree": 8, "kind": "rmat"},
}
FILES = {"graph": "graph"}
THREADS = 128


def inputs(
    *, nodes: int = 0, degree: int = 4, kind: str = "rmat", seed: int = 0, graph: graphs.Graph | None = None
) -> dict[str, Any]:
    """A graph with about `degree` edges a node, and a number for every node, each another."""
    chosen = graphs.simple(graphs.given_or_generated("MIS", graph, kind, nodes, degree, seed))
    random = np.random.default_rng([seed, chosen.nodes])
    numbers = ((random.permutation(chosen.nodes) + 0.5) / chosen.nodes).astype(np.float32)
    return {"offsets": chosen.offsets, "targets": chosen.targets, "numbers": numbers}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n, edges = len(data["numbers"]), len(data["targets"])
    row, column = launcher.array(data["offsets"], "i4", label="row"), launcher.array(data["targets"], "i4", label="column")
    number = launcher.array(data["numbers"], "f4", label="number")
    state, chosen, following = (launcher.zeros(n, "i4", label=name) for name in ("state", "set", "next"))
    least, stop = launcher.zeros(n, "f4", label="least"), launcher.zeros(1, "i4", label="stop")
    grid, sizes = -(-n // THREADS), [np.int32(n), np.int32(edges)]
    launcher.launch("init", grid, THREADS, [state, chosen, following, least, np.int32(n)])
    while True:
        stop[0] = 0
        launcher.launch("mis1", grid, THREADS, [row, column, number, state, chosen, least, stop, *sizes])
        if not stop[0]:
            return {"set": chosen.numpy()}
        launcher.launch("mis2", grid, THREADS, [row, column, number, state, chosen, following, least, *sizes])
        launcher.launch("mis3", grid, THREADS, [following, state, np.int32(n)])


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """One node after the other by its number, each that has no neighbour in the set: the rounds can find no other set."""
    offsets, targets = data["offsets"].tolist(), data["targets"]
    chosen, barred = np.zeros(len(offsets) - 1, np.int32), np.zeros(len(offsets) - 1, bool)
    for node in np.argsort(data["numbers"]).tolist():
        if not barred[node]:
            chosen[node] = 1
            barred[targets[offsets[node] : offsets[node + 1]]] = True
    return {"set": chosen}
