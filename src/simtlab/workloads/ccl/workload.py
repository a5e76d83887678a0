"""CCL, connected-component labelling of a graph by hooking and pointer jumping. Irregular.

Papers call it CCL, after the graph programs that Xu, Jeon and Annavaram measured (IISWC 2014); the papers do not name the code.
Loads of the edge list and of a node's own label are coalesced with one stride; labels of an edge's two ends and of a parent
are gathered from wherever they lie, and a few labels near the roots are read by everyone.
"""

from typing import Any

import numpy as np

from simtlab.workloads.graphs import Graph, generate

NAME = "CCL"
SUITE = "graph programs"
CATEGORY = "irregular"
PAPERS = ("CAPS", "LOADS")
OPTIONS = ()
KERNEL_NAMES = ()
FILES = {"graph": "graph"}
SIZES = {
    "tiny": {"kind": "road", "nodes": 1100, "degree": 3},
    "small": {"kind": "rmat", "nodes": 188_416, "degree": 8},  # 184 CTAs for the nodes, 90 for the edges
    "paper": {"kind": "rmat", "nodes": 1 << 20, "degree": 8},
}
TOLERANCE: dict[str, tuple[float, float]] = {}

THREADS = 1024
CHUNK = 8  # edges a thread hooks


def inputs(*, seed: int = 0, kind: str, nodes: int, degree: int, graph: Graph | None = None) -> dict[str, Any]:
    """Both ends of every edge, ordered by the lower one: an undirected edge once, a node's edge to itself never."""
    if graph is None:
        graph = generate(kind, nodes, degree, seed)
    low, high = np.minimum(graph.sources, graph.targets), np.maximum(graph.sources, graph.targets)
    pairs = np.unique(low.astype(np.int64) * graph.nodes + high)
    source, target = (end.astype(np.int32) for end in np.divmod(pairs, graph.nodes))
    return {"nodes": graph.nodes, "source": source[source != target], "target": target[source != target]}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    nodes, edges = data["nodes"], len(data["source"])
    node_grid, edge_grid = -(-nodes // THREADS), max(1, -(-edges // (THREADS * CHUNK)))
    source, target = launcher.array(data["source"]), launcher.array(data["target"])
    label, hooked = launcher.zeros(nodes, np.int32), launcher.zeros(nodes, np.int32)
    changed = launcher.zeros(1, np.int32)

    launcher.launch("initialize", node_grid, THREADS, [nodes, label])
    while True:
        launcher.launch("kernel_update", node_grid, THREADS, [nodes, label, hooked])
        changed[0] = 0
        launcher.launch("kernel_hooking", edge_grid, THREADS, [edges, source, target, label, hooked, changed])
        if not changed[0]:
            return {"label": label.numpy()}
        while changed[0]:
            changed[0] = 0
            launcher.launch("kernel_pointer_jumping", node_grid, THREADS, [nodes, hooked, label, changed])
            label, hooked = hooked, label
        label, hooked = hooked, label  # the last jump changed nothing: both are the same


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Union and find, one edge after the other; a component is called by its lowest node."""
    parent = list(range(data["nodes"]))

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in zip(data["source"].tolist(), data["target"].tolist(), strict=True):
        a, b = find(one), find(other)
        if a != b:
            parent[max(a, b)] = min(a, b)
    return {"label": np.array([find(node) for node in range(data["nodes"])], np.int32)}
