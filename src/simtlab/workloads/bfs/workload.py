"""BFS, breadth-first search: how many edges every node is away from a source, level by level.

Suite: Rodinia (`bfs`), two kernels a level; Fig. 6b of CAPS shows its loads. Irregular.
Masks, costs and the list of nodes are read by thread number, coalesced; edges by an address that was loaded, and a
neighbour's mask by one that was loaded from there, so that a warp's accesses scatter and its threads take loops of
different lengths.
"""

from typing import Any

import numpy as np

from simtlab.workloads import graphs
from simtlab.workloads.errors import require

NAME = "BFS"
SUITE = "Rodinia"
CATEGORY = "irregular"
PAPERS = ("CAPS", "DYNCTA", "LOADS")
DYNCTA_TYPE = "Type-M"
SIZES = {
    "tiny": {"nodes": 1024, "degree": 3, "kind": "rmat"},
    "small": {"nodes": 92_160, "degree": 5, "kind": "rmat"},  # 180 CTAs
    "paper": {"nodes": 1_000_000, "degree": 6, "kind": "uniform"},  # as Rodinia's graph1MW_6
}
FILES = {"graph": "graph"}
THREADS = 512
UNREACHED = -1


def inputs(
    *, nodes: int = 0, degree: int = 6, kind: str = "rmat", seed: int = 0, graph: graphs.Graph | None = None
) -> dict[str, Any]:
    """A graph with about `degree` edges a node: "rmat", "uniform" or "road". The source has the most neighbours."""
    require(kind in graphs.GENERATORS, f"BFS: kind is '{kind}'; it must be one of {', '.join(graphs.GENERATORS)}")
    if graph is None:
        graph = graphs.generate(kind, nodes, degree, seed)
    return {"offsets": graph.offsets, "edges": graph.targets, "source": int(np.argmax(graph.degrees))}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    offsets, source = data["offsets"], data["source"]
    n = len(offsets) - 1
    nodes = launcher.array(np.column_stack([offsets[:-1], np.diff(offsets)]), "i4", label="nodes")
    edges = launcher.array(data["edges"], "i4", label="edges")
    frontier, found, visited = (launcher.zeros(n, "?", label=name) for name in ("frontier", "found", "visited"))
    cost = launcher.array(np.full(n, UNREACHED), "i4", label="cost")
    more = launcher.zeros(1, "?", label="more")
    frontier[source] = visited[source] = True
    cost[source] = 0
    grid = -(-n // THREADS)
    while True:
        more[0] = False
        launcher.launch("Kernel", grid, THREADS, [nodes, edges, frontier, found, visited, cost, np.int32(n)])
        launcher.launch("Kernel2", grid, THREADS, [frontier, found, visited, more, np.int32(n)])
        if not more[0]:
            return {"cost": cost.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    offsets, edges = data["offsets"], data["edges"]
    cost = np.full(len(offsets) - 1, UNREACHED, np.int32)
    frontier, level = np.array([data["source"]]), 0
    while len(frontier):
        cost[frontier] = level
        reached = np.concatenate([edges[offsets[node] : offsets[node + 1]] for node in frontier])
        frontier, level = np.unique(reached[cost[reached] == UNREACHED]), level + 1
    return {"cost": cost}
