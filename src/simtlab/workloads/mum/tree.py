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
    far = len(codes)
    start, end, child, link = [0, 0], [0, 0], [0] * 10, [0, 0]
    node, edge, length, waiting = ROOT, 0, 0, 0  # the active point, and suffixes not yet in the tree

    def new_node(begin: int, stop: int) -> int:
        start.append(begin)
        end.append(stop)
        link.append(ROOT)
        child.extend((0, 0, 0, 0, 0))
        return len(start) - 1

    for place, code in enumerate(codes):
        unlinked, waiting = 0, waiting + 1
        while waiting:
            if length == 0:
                edge = place
            slot = 5 * node + codes[edge]
            down = child[slot]
            if down:
                size = min(end[down], place + 1) - start[down]
                if length >= size:
                    edge, length, node = edge + size, length - size, down
                    continue
                if codes[start[down] + length] == code:
                    if unlinked:
                        link[unlinked] = node
                    length += 1
                    break
                split = new_node(start[down], start[down] + length)
                child[slot] = split
                start[down] += length
                child[5 * split + codes[start[down]]] = down
                child[5 * split + code] = new_node(place, far)
                ended = split
            else:
                child[slot] = new_node(place, far)
                ended = node
            if unlinked:
                link[unlinked] = ended
            unlinked = ended if ended != ROOT else 0
            waiting -= 1
            if node != ROOT:
                node = link[node]
            elif length:
                edge, length = place - waiting + 1, length - 1
    link[ROOT] = 0
    return start, end, child, link


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
