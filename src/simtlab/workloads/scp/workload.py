"""SCP, scalarProd: the scalar products of many pairs of vectors.

Suite: CUDA SDK (`scalarProd`). Regular, memory-bound.
Every element is read once, coalesced, 4096 bytes on from step to step; sums go through shared memory and a tree of ten barriers
with ever fewer threads. 128 CTAs take the pairs in turns.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "SCP"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("scalarProd",)
SIZES = {
    "tiny": {"vectors": 5, "elements": 2100, "ctas": 4},
    "small": {"vectors": 384, "elements": 4096, "ctas": 384},
    "paper": {"vectors": 256, "elements": 4096, "ctas": 128},  # the SDK's
}
TOLERANCE = {"products": (1e-4, 1e-3)}  # sums of singles in another order
THREADS = 256


def inputs(*, vectors: int, elements: int, ctas: int, seed: int = 0) -> dict[str, Any]:
    """Numbers from 0 to 1, as the SDK's."""
    require(min(vectors, elements, ctas) >= 1, "SCP: there must be 1 vector, 1 element and 1 CTA at least")
    random = np.random.default_rng([seed, vectors, elements])
    return {"a": random.random((vectors, elements), np.float32), "b": random.random((vectors, elements), np.float32), "ctas": ctas}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    vectors, elements = data["a"].shape
    a, b = launcher.array(data["a"], label="a"), launcher.array(data["b"], label="b")
    products = launcher.zeros(vectors, "f4", label="products")
    launcher.launch("scalarProdGPU", data["ctas"], THREADS, [products, a, b, np.int32(vectors), np.int32(elements)])
    return {"products": products.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"products": np.einsum("ij,ij->i", data["a"].astype(np.float64), data["b"].astype(np.float64))}
