"""KM, k-means: points join their nearest centre, centres move to the mean of their points, and so on.

Suite: Rodinia (`kmeans`). Irregular, as CAPS counts it.
A thread reads all features of its point once for every centre, each load coalesced and a whole array of points away
from the last: the points a core works on are read again and again, and do not fit its cache. They are plain loads here, so
that the L1 cache takes part; `texture=True` reads through a texture, as Rodinia's own version does.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "KM"
SUITE = "Rodinia"
CATEGORY = "irregular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-M"
ALIASES = ("KMN", "kmeans")
SIZES = {
    "tiny": {"points": 1024, "features": 8, "clusters": 4, "rounds": 2},
    "small": {"points": 92_160, "features": 30, "clusters": 5, "rounds": 1},  # 360 CTAs; one round reads as any other does
    "paper": {"points": 494_020, "features": 34, "clusters": 5, "rounds": 5},  # the size of Rodinia's kdd_cup
}
# A point that lies between two centres may join either, so what is compared is its distance from the one it joined.
TOLERANCE = {"centres": (1e-3, 1e-4), "distances": (1e-3, 1e-4)}
THREADS = 256
MAX_CLUSTERS, MAX_FEATURES = 32, 34  # as in kernel.cu


def inputs(*, points: int, features: int, clusters: int, rounds: int, texture: bool = False, seed: int = 0) -> dict[str, Any]:
    """Groups of very different sizes, as in logs of network traffic, and points that belong to none."""
    require(1 <= clusters <= min(MAX_CLUSTERS, points), f"KM: clusters is {clusters}; it must be from 1 to {MAX_CLUSTERS}")
    require(1 <= features <= MAX_FEATURES, f"KM: features is {features}; it must be from 1 to {MAX_FEATURES}")
    random = np.random.default_rng([seed, points, features, clusters])
    shares = random.zipf(1.6, 4 * clusters).astype(np.float64)
    middles = random.random((len(shares), features))
    group = random.choice(len(shares), points, p=shares / shares.sum())
    values = middles[group] + 0.08 * random.standard_normal((points, features))
    stray = random.random(points) < 0.02
    values[stray] = random.random((int(stray.sum()), features))
    return {
        "values": values.clip(0, 1).astype(np.float32),
        "clusters": clusters,
        "rounds": rounds,
        "texture": texture,
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    values, clusters = data["values"], data["clusters"]
    n, width = values.shape
    by_point = launcher.array(values, label="features by point")
    features = launcher.zeros((width, n), "f4", label="features")
    blocks = -(-n // THREADS)
    launcher.launch("invert_mapping", blocks, THREADS, [by_point, features, np.int32(n), np.int32(width)])

    side = int(np.ceil(np.sqrt(blocks)))
    membership = launcher.zeros(n, "i4", label="membership")
    kernel, source = ("kmeansPoint", features)
    if data["texture"]:
        kernel, source = "kmeansPointTexture", launcher.gpu.texture(features.view("f4"))
    centres = values[:clusters].copy()
    for _ in range(data["rounds"]):
        launcher.module.variable("centres", "f4")[: centres.size] = centres.ravel()
        sizes = [np.int32(k) for k in (width, n, clusters)]
        launcher.launch(kernel, (side, side), THREADS, [source, *sizes, membership])
        joined = membership.numpy()
        before, centres = centres, moved(values, joined, centres)
    return {"centres": centres, "distances": np.square(values - before[joined], dtype=np.float64).sum(1)}


def moved(values: np.ndarray, joined: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Each centre at the mean of the points that joined it; one that none joined stays."""
    counts = np.bincount(joined, minlength=len(centres))
    sums = [np.bincount(joined, values[:, k], len(centres)) for k in range(values.shape[1])]
    means = np.stack(sums, 1) / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, centres).astype(values.dtype)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    values = data["values"].astype(np.float64)
    centres = values[: data["clusters"]].copy()
    for _ in range(data["rounds"]):
        distances = np.stack([((values - centre) ** 2).sum(1) for centre in centres])
        joined = distances.argmin(0)
        centres = np.stack([values[joined == c].mean(0) if (joined == c).any() else centres[c] for c in range(len(centres))])
    return {"centres": centres, "distances": distances.min(0)}
