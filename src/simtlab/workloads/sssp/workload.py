"""SSSP, single-source shortest paths: how far every node is from a source along edges of given lengths.

Suite: LonestarGPU (`sssp`, its first, topology-driven variant). Irregular.
A thread has a node, whose own distance, degree and first edge are coalesced loads; targets and lengths lie where the edge list
has them, and a target's distance anywhere. A better way is made known by an atomic minimum, at once: how many rounds it takes
depends on which node comes first, what is found does not. Nodes not yet reached walk along their edges as well.
"""

import heapq
from typing import Any

import numpy as np

from simtlab.workloads import graphs
from simtlab.workloads.graphs import whole_weights

NAME = "SSSP"
SUITE = "LonestarGPU"
CATEGORY = "irregular"
PAPERS = ("LOADS",)
SIZES = {
    "tiny": {"nodes": 320, "degree": 3, "kind": "rmat"},
    "small": {"nodes": 57_344, "degree": 2, "kind": "uniform"},  # 112 CTAs; three waves on 30 cores are 9 M instructions
    "paper": {"nodes": 1 << 20, "degree": 8, "kind": "rmat"},  # LOADS Table I: 2048 CTAs of 512; the degree is our guess
}
FILES = {"graph": "graph"}
THREADS = 512
UNREACHED = 1_000_000_000  # as in kernel.cu, and the suite's


def inputs(
    *, nodes: int = 0, degree: int = 2, kind: str = "rmat", seed: int = 0, graph: graphs.Graph | None = None
) -> dict[str, Any]:
    """A graph with about `degree` edges a node, of lengths from 1 to 99. The source has the most neighbours."""
    chosen = graphs.given_or_generated("SSSP", graph, kind, nodes, degree, seed)
    weights = whole_weights("SSSP", chosen, UNREACHED)
    return {
        "offsets": chosen.offsets,
        "targets": chosen.targets,
        "weights": weights,
        "source": int(np.argmax(chosen.degrees)),
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    offsets = data["offsets"]
    n = len(offsets) - 1
    first_edge = launcher.array(offsets[:-1], "i4", label="first_edge")
    out_degree = launcher.array(np.diff(offsets), "i4", label="out_degree")
    targets = launcher.array(data["targets"], "i4", label="targets")
    weights = launcher.array(data["weights"], "u4", label="weights")
    distance, changed = launcher.zeros(n, "u4", label="distance"), launcher.zeros(1, "i4", label="changed")
    grid = -(-n // THREADS)
    launcher.launch("initialize", grid, THREADS, [distance, np.int32(n)])
    distance[data["source"]] = 0
    while True:
        changed[0] = 0
        launcher.launch("drelax", grid, THREADS, [distance, first_edge, out_degree, targets, weights, np.int32(n), changed])
        if not changed[0]:
            return {"distance": distance.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Dijkstra's algorithm."""
    offsets, targets, weights = (data[name].tolist() for name in ("offsets", "targets", "weights"))
    distance = [UNREACHED] * (len(offsets) - 1)
    distance[data["source"]] = 0
    queue = [(0, data["source"])]
    while queue:
        so_far, node = heapq.heappop(queue)
        if so_far > distance[node]:
            continue
        for edge in range(offsets[node], offsets[node + 1]):
            through, target = so_far + weights[edge], targets[edge]
            if through < distance[target]:
                distance[target] = through
                heapq.heappush(queue, (through, target))
    return {"distance": np.array(distance, np.uint32)}
