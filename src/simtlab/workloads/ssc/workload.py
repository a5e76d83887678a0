"""SSC, similarity score of Mars: every two of a set of documents, from the most to the least similar, as a MapReduce job.

Irregular. A task walks along two rows of the features' matrix, four numbers at a time; its neighbour has the same first row and the
next second one, so that a warp's loads are 32 rows apart. What it emits is sorted by score and grouped; there is no reduce.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.mars.stages import directory_of, map_records, sort_and_group

NAME = "SSC"
SUITE = "Mars"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("SS", "SimilarityScore")
SIZES = {
    "tiny": {"documents": 18, "features": 36},
    "small": {"documents": 256, "features": 64},  # 128 CTAs; the sort's next power of two is 10.9 M instructions
    "paper": {"documents": 1024, "features": 256},  # what Mars's own script runs; DYNCTA does not say
}

KEY_BYTES = 8  # a pointer to the matrix
PAIR = np.dtype([("one", "i4"), ("other", "i4"), ("features", "i4"), ("score", "f4")])
EMITTED_BYTES = 20  # of a task, in the map's shared memory
LARGEST = 99  # of a feature, a whole number as in Mars's generator
MOST_FEATURES = 2**24 // LARGEST**2 // 4 * 4  # so that sums of products are exact in a float, and scores are equal to the bit


def inputs(*, documents: int, features: int, seed: int = 0) -> dict[str, Any]:
    """How often each word is in each document: whole numbers, each as likely as any other."""
    require(documents >= 2, f"SSC: documents is {documents}; it must be 2 at least")
    require(4 <= features <= MOST_FEATURES, f"SSC: features is {features}; it must be from 4 to {MOST_FEATURES}")
    require(features % 4 == 0, f"SSC: features is {features}; it must be a multiple of 4, as rows are read by four numbers")
    require(documents * features < 2**31, "SSC: documents x features must be below 2^31")
    random = np.random.default_rng([seed, documents, features])
    matrix = random.integers(0, LARGEST + 1, (documents, features)).astype(np.float32)
    matrix[:, 0] = np.maximum(matrix[:, 0], 1)  # a document without a word has no direction
    return {"matrix": matrix}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    documents, features = data["matrix"].shape
    matrix = launcher.array(data["matrix"], label="features")
    one, other = np.triu_indices(documents, 1)
    keys, vals = np.full(len(one), matrix.address, np.uint64), np.zeros(len(one), PAIR)
    vals["one"], vals["other"], vals["features"] = one, other, features
    directory = launcher.array(directory_of(len(one), KEY_BYTES, PAIR.itemsize))
    records = (launcher.array(keys.view(np.uint8)), launcher.array(vals.view(np.uint8)), directory)
    mapped = map_records(launcher, *records, shared=EMITTED_BYTES)
    scores, pairs, ranges, _ = sort_and_group(launcher, *mapped)
    return {"scores": scores.numpy().view("f4"), "pairs": pairs.numpy().view("i4").reshape(-1, 2), "groups": ranges.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """A matrix product in whole numbers, and a stable sort. What is rounded is rounded as in single precision."""
    matrix = data["matrix"].astype(np.int64)
    products = (matrix @ matrix.T).astype(np.float32)
    lengths = np.sqrt(products.diagonal())
    cosines = products / (lengths[:, None] * lengths[None, :])
    one, other = np.triu_indices(len(matrix), 1)
    order = np.argsort(-cosines[one, other], kind="stable")
    scores = cosines[one, other][order]
    starts = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])
    groups = np.column_stack([starts, np.r_[starts[1:], len(scores)]]).astype(np.int32)
    return {"scores": scores, "pairs": np.column_stack([one, other])[order].astype(np.int32), "groups": groups}
