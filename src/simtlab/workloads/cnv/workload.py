"""CNV, convolutionSeparable of the CUDA SDK: a 17-tap filter along the rows of an image, then along its columns. Regular.

A thread loads ten elements one block apart (64 B along rows, eight rows of the
image along columns), so every load has one stride over warps and CTAs; the rest is shared and constant memory.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.images import natural

NAME = "CNV"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("convolutionSeparable",)
OPTIONS = ()
KERNEL_NAMES = ()
FILES = {"image": "image"}
SIZES = {
    "tiny": {"width": 128, "height": 64},
    "small": {"width": 1024, "height": 512},
    "paper": {"width": 3072, "height": 3072},  # the SDK's
}
TOLERANCE = {"rows": (1e-5, 1e-6), "image": (1e-5, 1e-6)}

RADIUS, STEPS = 8, 8
ROWS_BLOCK, COLUMNS_BLOCK = (16, 4), (16, 8)
TILE_WIDTH, TILE_HEIGHT = STEPS * ROWS_BLOCK[0], STEPS * COLUMNS_BLOCK[1]  # what one CTA computes along its direction


def inputs(*, seed: int = 0, width: int, height: int, image: np.ndarray | None = None) -> dict[str, Any]:
    """A natural image and a bell-shaped filter; an image given is cut to whole tiles."""
    if image is None:
        image = natural(height, width, seed)
    rows, columns = (n - n % tile for n, tile in zip(image.shape, (TILE_HEIGHT, TILE_WIDTH), strict=True))
    if not rows or not columns:
        given = f"{image.shape[1]}x{image.shape[0]}"
        raise WorkloadError(f"CNV needs an image of at least {TILE_WIDTH}x{TILE_HEIGHT} pixels, not {given}")
    place = np.arange(-RADIUS, RADIUS + 1)
    bell = np.exp(0.05 * place - (place / (0.4 * RADIUS)) ** 2)  # a little askew, so that its direction shows
    return {"image": np.ascontiguousarray(image[:rows, :columns], np.float32), "taps": (bell / bell.sum()).astype(np.float32)}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    height, width = data["image"].shape
    launcher.module.constant("taps")[...] = data["taps"]
    image = launcher.array(data["image"])
    along_rows, result = launcher.zeros((height, width), np.float32), launcher.zeros((height, width), np.float32)
    rows_grid = (width // TILE_WIDTH, height // ROWS_BLOCK[1])
    columns_grid = (width // COLUMNS_BLOCK[0], height // TILE_HEIGHT)
    launcher.launch("convolutionRowsKernel", rows_grid, ROWS_BLOCK, [along_rows, image, width, height, width])
    launcher.launch("convolutionColumnsKernel", columns_grid, COLUMNS_BLOCK, [result, along_rows, width, height, width])
    return {"rows": along_rows.numpy(), "image": result.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """NumPy's convolution of each row, then of each column, in double precision, with zeros outside."""
    taps = data["taps"].astype(np.float64)
    rows = np.apply_along_axis(np.convolve, 1, data["image"].astype(np.float64), taps, "same")
    image = np.apply_along_axis(np.convolve, 0, rows, taps, "same")
    return {"rows": rows.astype(np.float32), "image": image.astype(np.float32)}
