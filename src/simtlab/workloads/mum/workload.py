"""MUM, MUMmerGPU: where each of many short reads of DNA, and each of its suffixes, is found in a reference genome.

Suite: ISPASS 2009 (`MUM`), also in Rodinia (`mummergpu`). Irregular.
Each thread goes its own way down a suffix tree in 2D textures: loads depend on one another, lanes go apart at every letter, and
the tree is far larger than any cache. Reads are from the reference's strand only, as MUMmerGPU does by default; those shorter than
the shortest match are left out. Nodes are numbered breadth first, which is our choice.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.mum.tree import node_textures, reference_texture, suffix_tree
from simtlab.workloads.sequences import Sequence, genome

NAME = "MUM"
SUITE = "ISPASS 2009"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("MUMmerGPU", "mummergpu")
FILES = {"reference": "fasta", "reads": "fasta"}
SIZES = {
    "tiny": {"bases": 2_000, "count": 200, "length": 25, "shortest": 20},
    "small": {"bases": 100_000, "count": 92_160, "length": 17, "shortest": 16},  # 360 CTAs, and so shorter reads than ISPASS's
    # As long as ISPASS's reference, 20,000 lines of the genome of B. anthracis, and as many reads.
    "paper": {"bases": 1_400_000, "count": 50_000, "length": 25, "shortest": 20},
}
THREADS = 256
GENOME = 3.7  # times as long as the reference: reads are from all of it
MATCH = np.dtype([("node", "u4"), ("on_edge", "i2"), ("", "V2")])
MOST_LETTERS = 2**15 - 1  # of a read: what is matched of an edge is a short


def inputs(
    *,
    bases: int,
    count: int,
    length: int,
    shortest: int,
    reference: list[Sequence] | None = None,
    reads: list[Sequence] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """A reference that is the first part of a genome, and reads from all of the genome."""
    require(shortest >= 1, f"MUM: shortest is {shortest}; it must be 1 at least")
    if reference is None or reads is None:
        require(min(bases, count) >= 1, "MUM: there must be 1 base and 1 read at least")
        require(1 <= length <= bases, f"MUM: length is {length}; it must be from 1 to the reference's {bases} bases")
    whole = reference[0].bases if reference is not None else genome(int(GENOME * bases), seed)
    text = whole if reference is not None else whole[:bases]
    strange = text.translate(None, b"ACGT")
    require(not strange, f"MUM: the reference has the letter '{strange[:1].decode()}'; it must be of A, C, G and T alone")
    if reads is None:
        require(length <= len(whole), f"MUM: length is {length}, and the reference has {len(whole)} bases")
        at = np.random.default_rng([seed, count]).integers(0, len(whole) - length + 1, count)
        found = [whole[k : k + length] for k in at.tolist()]
    else:
        found = [read.bases for read in reads]
    longest = max(map(len, found))
    require(longest <= MOST_LETTERS, f"MUM: a read has {longest} bases; it must have {MOST_LETTERS} at most")
    long_enough = [read for read in found if len(read) >= shortest]
    require(bool(long_enough), f"MUM: no read has {shortest} bases, the shortest match asked for")
    lengths = np.array([len(read) for read in long_enough], np.int32)
    marked = b"".join(b"q" + read + b"\0" for read in long_enough)
    return {
        "reference": np.frombuffer(text, np.uint8),
        "reads": np.frombuffer(marked, np.uint8),
        "lengths": lengths,
        "places": (np.cumsum(lengths + 2) - (lengths + 2)).astype(np.int32),
        "shortest": shortest,
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    tree = suffix_tree(data["reference"].tobytes())
    textures = [launcher.gpu.texture(texels, channels=4) for texels in node_textures(tree)]
    textures.append(launcher.gpu.texture(reference_texture(data["reference"].tobytes())))
    reads, places, lengths = (launcher.array(data[name], label=name) for name in ("reads", "places", "lengths"))
    count, shortest = len(data["lengths"]), data["shortest"]
    matches = launcher.zeros(len(data["reads"]) - count * (shortest + 1), np.uint64, label="matches")
    arguments = [*textures, matches, reads, places, lengths, np.int32(count), np.int32(shortest)]
    launcher.launch("mummergpuKernel", -(-count // THREADS), THREADS, arguments)

    found = matches.numpy().view(MATCH)
    node, on_edge = found["node"].astype(np.int64), found["on_edge"].astype(np.int64)
    matched = np.where(on_edge > 0, tree.depth[tree.parent[node]] + on_edge, tree.depth[node])
    first, times = (np.where(node > 0, values[node], 0) for values in (tree.first, tree.leaves))
    return {"lengths": matched, "first": first, "times": times}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """A dictionary of where each word of the shortest length is in the reference; matches are the longest from there on."""
    text, shortest = data["reference"].tobytes(), data["shortest"]
    words = defaultdict(list)
    for place in range(len(text) - shortest + 1):
        words[text[place : place + shortest]].append(place)
    found = []
    for read in data["reads"].tobytes()[:-1].split(b"\0"):
        for start in range(1, len(read) - shortest + 1):
            places, length = words.get(read[start : start + shortest], []), shortest
            while start + length < len(read):
                longer = [k for k in places if k + length < len(text) and text[k + length] == read[start + length]]
                if not longer:
                    break
                places, length = longer, length + 1
            found.append((length, places[0], len(places)) if places else (0, 0, 0))
    lengths, first, times = np.array(found, np.int64).T
    return {"lengths": lengths, "first": first, "times": times}
