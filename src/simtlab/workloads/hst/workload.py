"""HST, histogram of the CUDA SDK: byte histograms with 64 and with 256 bins, partial ones first, then their sum. Regular.

Loads of the data are coalesced and stride by the whole grid; counters lie in shared memory,
bytes of each thread's own for 64 bins, words shared by a warp and fought for with tags for 256; the merge strides by the bins.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.images import grey_levels, natural

NAME = "HST"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("histogram",)
OPTIONS = ()
KERNEL_NAMES = tuple(f"mergeHistogram{bins}Kernel<{threads}>" for bins in (64, 256) for threads in (32, 256))
FILES = {"image": "image"}
SIZES = {
    # CTAs of 256 threads to merge 256 bins would be most of a tiny run
    "tiny": {"width": 64, "height": 64, "frames": 1, "partial_256": 2, "merge_threads": 32},
    # The 240 CTAs of 256 bins are the SDK's, whatever the data; three waves of those of 64 bins need 11 MB, 19 M instructions.
    "small": {"width": 1024, "height": 512, "frames": 1, "partial_256": 240, "merge_threads": 256},
    "paper": {"width": 2048, "height": 2048, "frames": 16, "partial_256": 240, "merge_threads": 256},  # the SDK's 64 MB
}
TOLERANCE: dict[str, tuple[float, float]] = {}

THREADS_64, THREADS_256 = 64, 192
VECTOR_BYTES = 16
BYTES_PER_CTA_64 = THREADS_64 * (255 // VECTOR_BYTES) * VECTOR_BYTES  # a thread's counters are bytes


def inputs(
    *,
    seed: int = 0,
    width: int,
    height: int,
    frames: int,
    partial_256: int,
    merge_threads: int,
    image: np.ndarray | None = None,
) -> dict[str, Any]:
    """The bytes of grey images, whose neighbours are alike: lanes of a warp often meet in a bin."""
    images = [natural(height, width, seed + n) for n in range(frames)] if image is None else [image]
    pixels = np.concatenate([grey_levels(one).ravel() for one in images])
    whole = pixels[: len(pixels) - len(pixels) % VECTOR_BYTES]
    if not len(whole):
        raise WorkloadError(f"HST needs at least {VECTOR_BYTES} pixels, not {len(pixels)}")
    return {"pixels": np.ascontiguousarray(whole), "partial_256": partial_256, "merge_threads": merge_threads}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    pixels = launcher.array(data["pixels"])
    size, threads = len(data["pixels"]), data["merge_threads"]
    found = {}
    for bins, partials, block, element_bytes in (
        (64, -(-size // BYTES_PER_CTA_64), THREADS_64, VECTOR_BYTES),
        (256, data["partial_256"], THREADS_256, 4),
    ):
        partial, histogram = launcher.zeros((partials, bins), np.uint32), launcher.zeros(bins, np.uint32)
        launcher.launch(f"histogram{bins}Kernel", partials, block, [partial, pixels, size // element_bytes])
        launcher.launch(f"mergeHistogram{bins}Kernel<{threads}>", bins, threads, [histogram, partial, partials])
        found[f"histogram{bins}"] = histogram.numpy()
    return found


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    levels = np.bincount(data["pixels"], minlength=256).astype(np.uint32)
    return {"histogram64": levels.reshape(64, 4).sum(axis=1, dtype=np.uint32), "histogram256": levels}
