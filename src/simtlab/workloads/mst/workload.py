"""MST, a minimum spanning tree by Boruvka's rounds, or one for each component of the graph.

Suite: LonestarGPU (`mst`). Irregular.
Every round, every node walks along its edges up to three times; from the edge it comes to the neighbour, and from there up a
chain of parents to the neighbour's component: one load after the other, each at an address from the one before. Components
gather their minima by atomics. The kernel that joins them has 56 CTAs of 384 threads, as LOADS Table I; where the suite's own
waits there for all CTAs at a barrier of its own making, here a launch ends: such a barrier hangs a machine that cannot hold
all CTAs at once.
"""

from typing import Any

import numpy as np

from simtlab.workloads import graphs
from simtlab.workloads.graphs import whole_weights

NAME = "MST"
SUITE = "LonestarGPU"
CATEGORY = "irregular"
PAPERS = ("LOADS",)
SIZES = {
    "tiny": {"nodes": 160, "degree": 3, "kind": "rmat", "joining_ctas": 2},
    # 90 CTAs, 1.5 waves on 30 cores, in eight rounds of seven launches; three waves are 9.3 M instructions.
    "small": {"nodes": 34_560, "degree": 3, "kind": "uniform", "joining_ctas": 56},
    "paper": {
        "nodes": 4096,
        "degree": 16,
        "kind": "rmat",
        "joining_ctas": 56,
    },  # LOADS Table I: rmat12, 2^12 nodes; the degree is our guess
}
FILES = {"graph": "graph"}
THREADS = 384
LARGEST_WEIGHT_SUM = 2**32 - 1


def inputs(
    *,
    nodes: int = 0,
    degree: int = 4,
    kind: str = "rmat",
    joining_ctas: int = 56,
    seed: int = 0,
    graph: graphs.Graph | None = None,
) -> dict[str, Any]:
    """A graph with about `degree` edges a node, weights from 1 to 99; one from a file counts as undirected."""
    chosen = graphs.simple(graphs.given_or_generated("MST", graph, kind, nodes, degree, seed))
    low, high = np.minimum(chosen.sources, chosen.targets), np.maximum(chosen.sources, chosen.targets)
    _, numbers = np.unique(low.astype(np.int64) * chosen.nodes + high, return_inverse=True)
    return {
        "offsets": chosen.offsets,
        "targets": chosen.targets,
        "weights": whole_weights("MST", chosen, LARGEST_WEIGHT_SUM),
        "numbers": numbers.astype(np.uint32),
        "joining_ctas": joining_ctas,
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n = len(data["offsets"]) - 1
    first_edge, targets = (launcher.array(data[name], "i4", label=name) for name in ("offsets", "targets"))
    weights, numbers = (launcher.array(data[name], "u4", label=name) for name in ("weights", "numbers"))
    parent, partner, joins = (launcher.zeros(n, "i4", label=name) for name in ("parent", "partner", "joins"))
    node_least, least, chosen = (launcher.zeros(n, "u4", label=name) for name in ("node_least", "least", "chosen"))
    total, repeat = launcher.zeros(1, "u8", label="total"), launcher.zeros(1, "i4", label="repeat")
    edges, minima = [parent, first_edge, targets], [node_least, least]
    round_of_launches = [
        ("dinit", [*minima, chosen, partner]),
        ("dfindelemin", [*edges, weights, *minima]),
        ("dfindelemin2", [*edges, weights, numbers, *minima, chosen]),
        ("verify_min_elem", [*edges, numbers, *minima, chosen, partner]),
        ("elim_dups", [partner, joins]),
        ("dfindcompmintwo", [parent, partner, joins, least, total, repeat]),
        ("dcompress", [parent]),
    ]
    grid = -(-n // THREADS)
    launcher.launch("dinitcs", grid, THREADS, [parent, np.int32(n)])
    while True:
        repeat[0] = 0
        for kernel, arrays in round_of_launches:
            ctas = data["joining_ctas"] if kernel == "dfindcompmintwo" else grid
            launcher.launch(kernel, ctas, THREADS, [*arrays, np.int32(n)])
        if not repeat[0]:
            trees = np.count_nonzero(parent.numpy() == np.arange(n))
            return {"weight": total.numpy(), "trees": np.array([trees])}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Kruskal's algorithm: the lightest edge first, unless its ends are connected already."""
    n = len(data["offsets"]) - 1
    sources = np.repeat(np.arange(n), np.diff(data["offsets"]))
    order = np.argsort(data["weights"], kind="stable")
    ends, parent = np.stack([sources, data["targets"]], 1)[order].tolist(), list(range(n))
    weight, trees = 0, n

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for (one, other), cost in zip(ends, data["weights"][order].tolist(), strict=True):
        a, b = find(one), find(other)
        if a != b:
            parent[a] = b
            weight, trees = weight + cost, trees - 1
    return {"weight": np.array([weight], np.uint64), "trees": np.array([trees])}
