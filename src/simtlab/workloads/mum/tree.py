"""A reference's suffix tree (Ukkonen, Algorithmica 1995), and as the textures that MUMmerGPU reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LETTERS = b"ACGT$"
ROOT = 1  # node 0 is none
WIDTH = 4096  # of a texture of nodes, in texels of a row


@dataclass(frozen=True)
class Tree:
    """Nodes breadth first. The edge to a node is letters `start` to `end` (included) of the text with its `$`."""

    start: np.ndarray
    end: np.ndarray
    children: np.ndarray  # of shape (nodes, 5): A, C, G, T and $
    link: np.ndarray
    parent: np.ndarray
    depth: np.ndarray  # letters from the root
    leaves: np.ndarray  # below a node, or 1
    first: np.ndarray  # the least place in the text where the letters from the root to the node begin


def suffix_tree(bases: bytes) -> Tree:
    """The tree of all suffixes of a sequence of A, C, G and T."""
    codes = list(bases.translate(bytes.maketrans(LETTERS, bytes(range(5)))) + b"\4")
    start, end, child, link = grown(codes)
    order = np.array(breadth_first(child))
    rank = np.zeros(len(start), np.int64)
    rank[order] = np.arange(1, len(order) + 1)

    def renumbered(values: list[int]) -> np.ndarray:
        return np.concatenate([[0], np.array(values, np.int64)[order]])

    children = np.zeros((len(order) + 1, 5), np.int64)
    children[1:] = rank[np.array(child).reshape(-1, 5)[order]]
    parent = np.zeros(len(order) + 1, np.int64)
    above, letter = np.nonzero(children)
    parent[children[above, letter]] = above
    begins, ends = renumbered(start), np.minimum(renumbered(end), len(codes)) - 1
    links = np.where(children.any(axis=1), rank[renumbered(link)], 0)  # leaves need none
    return Tree(begins, ends, children, links, parent, *below(children, parent, ends - begins + 1, len(codes)))


def grown(codes: list[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Letter by letter: beginnings and ends (one further) of edges, five children a node, suffix links."""
    growth = Growth(codes)
    node, edge, length, waiting = ROOT, 0, 0, 0  # the active point, and suffixes not yet in the tree
    for place, code in enumerate(codes):
        unlinked, waiting = 0, waiting + 1
        while waiting:
            if length == 0:
                edge = place
            down = growth.child[5 * node + codes[edge]]
            size = min(growth.end[down], place + 1) - growth.start[down]
            if down and length >= size:
                edge, length, node = edge + size, length - size, down
                continue
            there = down != 0 and codes[growth.start[down] + length] == code
            ended = node if there or not down else growth.split(5 * node + codes[edge], length)
            if unlinked:
                growth.link[unlinked] = ended
            if there:
                length += 1
                break
            growth.child[5 * ended + code] = growth.new_node(place, len(codes))
            unlinked = ended if ended != ROOT else 0
            waiting -= 1
            if node != ROOT:
                node = growth.link[node]
            elif length:
                edge, length = place - waiting + 1, length - 1
    growth.link[ROOT] = 0
    return growth.start, growth.end, growth.child, growth.link


class Growth:
    """A tree while it grows: node 0 is none, node 1 the root."""

    def __init__(self, codes: list[int]):
        self.codes = codes
        self.start, self.end, self.child, self.link = [0, 0], [0, 0], [0] * 10, [0, 0]

    def new_node(self, begin: int, stop: int) -> int:
        self.start.append(begin)
        self.end.append(stop)
        self.link.append(ROOT)
        self.child.extend((0, 0, 0, 0, 0))
        return len(self.start) - 1

    def split(self, slot: int, length: int) -> int:
        """A node on the edge that leads to the child in a slot, so many letters down."""
        down = self.child[slot]
        middle = self.child[slot] = self.new_node(self.start[down], self.start[down] + length)
        self.start[down] += length
        self.child[5 * middle + self.codes[self.start[down]]] = down
        return middle


def breadth_first(child: list[int]) -> list[int]:
    order = [ROOT]
    for node in order:  # grows as it is read
        order.extend(down for down in child[5 * node : 5 * node + 5] if down)
    return order


def below(children: np.ndarray, parent: np.ndarray, size: np.ndarray, letters: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depths, and of each node the leaves below it: how many, and the least place where one's suffix begins."""
    nodes = len(parent)
    above, sizes, depth = parent.tolist(), size.tolist(), [0] * nodes
    for node in range(ROOT + 1, nodes):
        depth[node] = depth[above[node]] + sizes[node]
    leaf = children.max(axis=1) == 0
    leaves: list[int] = leaf.astype(np.int64).tolist()
    first = [letters - deep if is_leaf else letters for deep, is_leaf in zip(depth, leaf.tolist(), strict=True)]
    for node in range(nodes - 1, ROOT, -1):
        leaves[above[node]] += leaves[node]
        first[above[node]] = min(first[above[node]], first[node])
    return np.array(depth), np.array(leaves), np.array(first)


# Textures -------------------------------------------------------------------------------------------------------------


def addresses(numbers: np.ndarray) -> np.ndarray:
    """Where nodes are in their textures: 32 that follow one another are above one another; x and y in half a word each."""
    column, row = numbers & 0x1FFFF, numbers >> 17
    return ((column >> 5) | ((column & 31) + (row << 5)) << 16).astype(np.uint32)


def node_textures(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Texels of four words: edge, child for the end of the text and suffix link; children for A, C, G and T."""
    nodes = len(tree.start)
    linked = np.column_stack([tree.start, tree.end, addresses(tree.children[:, 4]), addresses(tree.link)])
    at = addresses(np.arange(nodes))
    x, y = at & 0xFFFF, at >> 16
    images = []
    for texels in (linked, addresses(tree.children[:, :4])):
        image = np.zeros((int(y.max()) + 1, min(WIDTH, int(x.max()) + 1), 4), np.uint32)
        image[y, x] = texels
        images.append(image)
    return images[0], images[1]


def reference_texture(bases: bytes) -> np.ndarray:
    """Letters; four that follow one another are above one another."""
    letters = np.frombuffer(bases + b"$", np.uint8)
    place = np.arange(len(letters))
    x, y = (place & 0x3FFFF) >> 2, (place >> 18 << 2) + (place & 3)
    image = np.zeros((int(y.max()) + 1, int(x.max()) + 1), np.uint8)
    image[y, x] = letters
    return image
