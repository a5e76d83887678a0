"""Graphs in compressed sparse rows, and generators of the kinds that graph programs are measured on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simtlab.workloads.errors import require

RMAT_CORNERS = (0.57, 0.19, 0.19)  # probabilities a, b, c of Graph500 (Chakrabarti, Zhan, Faloutsos, SDM 2004)
ROAD_KEPT, ROAD_DIAGONALS = 0.75, 0.05  # share of a lattice's streets kept; crossings with a diagonal one


@dataclass(frozen=True)
class Graph:
    """Node v's edges lead to `targets[offsets[v]:offsets[v + 1]]`; `weights` go with them."""

    offsets: np.ndarray  # i4, nodes + 1
    targets: np.ndarray  # i4
    weights: np.ndarray  # f4

    @property
    def nodes(self) -> int:
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        return len(self.targets)

    @property
    def degrees(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def sources(self) -> np.ndarray:
        """The node each edge leaves, in the order of `targets`."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), self.degrees)


def from_edges(nodes: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> Graph:
    """A graph of these directed edges, in the order given within each node."""
    order = np.argsort(sources, kind="stable")
    offsets = np.zeros(nodes + 1, np.int32)
    np.cumsum(np.bincount(sources, minlength=nodes), out=offsets[1:])
    given = np.ones(len(order), np.float32) if weights is None else np.asarray(weights, np.float32)
    return Graph(offsets, np.asarray(targets, np.int32)[order], given[order])


def undirected(nodes: int, one: np.ndarray, other: np.ndarray, weights: np.ndarray) -> Graph:
    """Both directions of each edge, loops and repetitions left out."""
    low, high = np.minimum(one, other).astype(np.int64), np.maximum(one, other).astype(np.int64)
    _, first = np.unique(low * nodes + high, return_index=True)
    first = first[low[first] != high[first]]
    low, high, weights = low[first], high[first], weights[first]
    return from_edges(nodes, np.concatenate([low, high]), np.concatenate([high, low]), np.concatenate([weights, weights]))


def rmat(nodes: int, edges: int, seed: int = 0) -> Graph:
    """A scale-free graph, as social networks and the web are: few nodes with very many edges. Undirected.

    Each edge falls into one quarter of the adjacency matrix with Graph500's probabilities, and so on inward; node numbers
    are then shuffled, so that they say nothing about degrees. `edges` counts the edges drawn, before repetitions go.
    """
    random = np.random.default_rng([seed, nodes, edges])
    a, b, c = RMAT_CORNERS
    one, other = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(max(1, (nodes - 1).bit_length())):
        draw = random.random(edges)
        right = ((draw >= a) & (draw < a + b)) | (draw >= a + b + c)
        one, other = 2 * one + (draw >= a + b), 2 * other + right
    label = random.permutation(1 << max(1, (nodes - 1).bit_length())) % nodes
    return undirected(nodes, label[one], label[other], _lengths(random, edges))


def uniform(nodes: int, degree: int, seed: int = 0) -> Graph:
    """Every edge leads anywhere with the same probability, as in the inputs of Rodinia's BFS. Undirected."""
    random = np.random.default_rng([seed, nodes, degree])
    edges = nodes * degree // 2
    one, other = random.integers(nodes, size=edges), random.integers(nodes, size=edges)
    return undirected(nodes, one, other, _lengths(random, edges))


def road(nodes: int, seed: int = 0) -> Graph:
    """Like a road network: crossings on an uneven lattice, two to four streets each, neighbours numbered alike, far across.

    The last row is filled up, so that there may be a few nodes more than asked for.
    """
    random = np.random.default_rng([seed, nodes])
    width = max(2, int(np.sqrt(nodes)))
    height = -(-nodes // width)
    x = np.arange(width) + 0.3 * random.standard_normal((height, width))
    y = np.arange(height)[:, None] + 0.3 * random.standard_normal((height, width))
    number = np.arange(height * width).reshape(height, width)
    spans = [(number[:, :-1], number[:, 1:], ROAD_KEPT), (number[:-1], number[1:], ROAD_KEPT),
             (number[:-1, :-1], number[1:, 1:], ROAD_DIAGONALS)]  # fmt: skip
    kept = [(start[mask], end[mask]) for start, end, share in spans for mask in [random.random(start.shape) < share]]
    one = np.concatenate([start for start, _ in kept])
    other = np.concatenate([end for _, end in kept])
    length = np.hypot(x.flat[one] - x.flat[other], y.flat[one] - y.flat[other])
    return undirected(height * width, one, other, np.ceil(100 * length).astype(np.float32))


GENERATORS = {"rmat": "scale-free", "uniform": "uniformly random", "road": "like a road network"}


def generate(kind: str, nodes: int, degree: int, seed: int = 0) -> Graph:
    """A graph of one of the kinds in GENERATORS with about `degree` edges a node."""
    if kind == "rmat":
        return rmat(nodes, nodes * degree // 2, seed)
    return uniform(nodes, degree, seed) if kind == "uniform" else road(nodes, seed)


def _lengths(random: np.random.Generator, edges: int) -> np.ndarray:
    return random.integers(1, 100, edges).astype(np.float32)


def given_or_generated(who: str, graph: Graph | None, kind: str, nodes: int, degree: int, seed: int) -> Graph:
    """A program's graph: the one from the user's file, or a generated one; WorkloadError for a kind that there is not."""
    require(kind in GENERATORS, f"{who}: kind is '{kind}'; it must be one of {', '.join(GENERATORS)}")
    return generate(kind, nodes, degree, seed) if graph is None else graph


def whole_weights(who: str, graph: Graph, limit: int) -> np.ndarray:
    """Weights as u4; WorkloadError unless all are whole, not negative, and cannot add up to `limit` along a path."""
    weights = graph.weights.astype(np.float64)
    wrong = np.flatnonzero((weights < 0) | (weights != np.floor(weights)))
    if len(wrong):
        edge = int(wrong[0])
        one, other = int(graph.sources[edge]), int(graph.targets[edge])
        require(
            False, f"{who}: the edge from {one} to {other} has the weight {weights[edge]:g}; it must be a whole number, 0 or more"
        )
    longest = float(weights.max(initial=0)) * (graph.nodes - 1)
    require(longest < limit, f"{who}: a path may be {longest:,.0f} long; the program counts to {limit - 1:,}")
    return weights.astype(np.uint32)


def simple(graph: Graph) -> Graph:
    """The same graph undirected and without loops; of several edges between two nodes the lightest stays."""
    order = np.argsort(graph.weights, kind="stable")
    return undirected(graph.nodes, graph.sources[order], graph.targets[order], graph.weights[order])
