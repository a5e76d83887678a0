"""SAD, sums of absolute differences: how well each block of a frame fits each place around it in another frame.

Suite: Parboil (`sad`), the full search of a video encoder (H.264). Regular, memory-bound.
The first kernel reads the other frame through a two-dimensional texture, six texels for three places side by side, eighteen
places a thread, and writes 1,089 sums of two bytes for 16 pixels; two more kernels read those back and write two and a half
times as many again for blocks of 4 x 8 up to 16 x 16 pixels. Sixty-one threads a CTA: a thread's places are 18 apart from its
neighbour's.
`search` is how far a block is sought in each direction: 16, or 10 where time is short.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural

NAME = "SAD"
SUITE = "Parboil"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
SIZES = {
    "tiny": {"width": 16, "height": 16, "search": 10},
    "small": {"width": 128, "height": 96, "search": 16},
    "paper": {"width": 176, "height": 144, "search": 16},  # Parboil's frames, QCIF
}
SEARCHES = (10, 16)
KERNELS = ("mb_sad_calc", "larger_sad_calc_8", "larger_sad_calc_16")
KERNEL_NAMES = tuple(f"{kernel}<{search}>" for search in SEARCHES for kernel in KERNELS)
FILES = {"reference": "image", "frame": "image"}
MACROBLOCK, PLACES_PER_THREAD = 16, 18
SHAPES = ((16, 16), (16, 8), (8, 16), (8, 8), (8, 4), (4, 8), (4, 4))  # width and height, in the order of memory
MOTION = (3, -5)  # of the generated camera from frame to frame, down and to the right


def inputs(
    *,
    width: int = 0,
    height: int = 0,
    search: int,
    seed: int = 0,
    reference: np.ndarray | None = None,
    frame: np.ndarray | None = None,
) -> dict[str, Any]:
    """Two frames of a film: the second is the first seen a little aside, with noise of its own; or frames from files, cut to whole
    macroblocks of 16 x 16 pixels."""
    require(search in SEARCHES, f"SAD: search is {search}; it must be {' or '.join(map(str, SEARCHES))}")
    require((reference is None) == (frame is None), "SAD: both frames are needed: reference=FILE and frame=FILE")
    if reference is None or frame is None:
        require(width > 0 and height > 0 and width % MACROBLOCK == height % MACROBLOCK == 0,
                f"SAD: {width} x {height} pixels are no whole number of macroblocks of {MACROBLOCK} x {MACROBLOCK}")  # fmt: skip
        scene = natural(height + 16, width + 16, seed)
        noise = 0.01 * np.random.default_rng([seed, width, height]).standard_normal((height, width))
        reference = scene[8:-8, 8:-8]
        frame = (scene[8 + MOTION[0] : height + 8 + MOTION[0], 8 + MOTION[1] : width + 8 + MOTION[1]] + noise).clip(0, 1)
    sizes = [f"{image.shape[1]}x{image.shape[0]}" for image in (reference, frame)]
    require(sizes[0] == sizes[1], f"SAD: the frames must be of one size, not {sizes[0]} and {sizes[1]}")
    rows, columns = (n // MACROBLOCK * MACROBLOCK for n in reference.shape)
    require(rows > 0 and columns > 0, f"SAD: the frames must have at least {MACROBLOCK}x{MACROBLOCK} pixels, not {sizes[0]}")
    pixels = {"reference": reference, "frame": frame}
    return {name: grey_levels(image[:rows, :columns]).astype(np.uint16) for name, image in pixels.items()} | {"search": search}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    search, (height, width) = data["search"], data["frame"].shape
    places = (2 * search + 1) ** 2
    padded = -(-places // 8) * 8
    down, across = height // MACROBLOCK, width // MACROBLOCK
    frame = launcher.array(data["frame"], label="frame")
    other = launcher.gpu.texture(launcher.array(data["reference"], label="reference"))
    blocks = [256 // (w * h) for w, h in SHAPES]
    sads = launcher.zeros((down * across * sum(blocks), padded), "u2", label="sads")
    sizes = np.int32(across), np.int32(down)
    first, second, third = (f"{kernel}<{search}>" for kernel in KERNELS)
    grid, threads = (width // 4, height // 4), max(32, -(-places // PLACES_PER_THREAD))
    launcher.launch(first, grid, threads, [sads, frame, other, *sizes], shared=2 * padded)
    launcher.launch(second, (across, down), (32, 4), [sads, *sizes])
    launcher.launch(third, (across, down), (32, 1), [sads, *sizes])
    ends = np.cumsum(blocks) * down * across
    parts = np.split(sads.numpy()[:, :places], ends[:-1])
    return {f"{w}x{h}": part for (w, h), part in zip(SHAPES, parts, strict=True)}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The whole frame against the other one, moved by each place in turn; beyond the edge lies the edge."""
    search, frame = data["search"], data["frame"].astype(np.int64)
    height, width = frame.shape
    wide = np.pad(data["reference"].astype(np.int64), search, mode="edge")
    side = 2 * search + 1
    sums: dict[str, list[np.ndarray]] = {f"{w}x{h}": [] for w, h in SHAPES}
    for y in range(side):
        for x in range(side):
            differences = np.abs(wide[y : y + height, x : x + width] - frame)
            tiles = differences.reshape(height // MACROBLOCK, MACROBLOCK, width // MACROBLOCK, MACROBLOCK).swapaxes(1, 2)
            for w, h in SHAPES:
                parts = tiles.reshape(*tiles.shape[:2], MACROBLOCK // h, h, MACROBLOCK // w, w).sum((3, 5))
                sums[f"{w}x{h}"].append(parts.ravel())
    return {name: np.stack(found, axis=1) for name, found in sums.items()}
