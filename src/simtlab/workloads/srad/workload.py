"""SRAD, speckle-reducing anisotropic diffusion of an ultrasound image, two kernels a step.

Suite: Rodinia (`srad_v2`; DYNCTA's SRAD2). Regular, memory-bound.
A CTA loads its tile of 16 x 16 and, with all threads again, the row above and below and the column left and right of it: sixteen
threads read one word there, a row apart from the next sixteen. Five arrays are written and read back by the second kernel.
LOADS names an image of 458 x 502, which is the other version's (`srad_v1`); its 16,384 CTAs are those of 2048 x 2048 here.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import natural

NAME = "SRAD"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("DYNCTA", "LOADS")
DYNCTA_TYPE = "Type-M"
ALIASES = ("SD2", "SRAD2")
SIZES = {
    "tiny": {"rows": 32, "columns": 48, "steps": 2},
    "small": {"rows": 320, "columns": 320, "steps": 2},
    "paper": {"rows": 2048, "columns": 2048, "steps": 2},  # as Rodinia's run file; 16,384 CTAs as in LOADS Table I
}
TOLERANCE = {"image": (1e-3, 1e-4)}  # singles, and quotients of small differences
FILES = {"image": "image"}
TILE, QUIET, LAMBDA = 16, 128, 0.5  # the speckle is measured in the corner of QUIET x QUIET points, as Rodinia's run file says
SPECKLE = 0.1  # standard deviation of the noise that is multiplied in


def inputs(*, rows: int = 0, columns: int = 0, steps: int, seed: int = 0, image: np.ndarray | None = None) -> dict[str, Any]:
    """An image with multiplied noise, as ultrasound has it; one from a file is cut to whole tiles."""
    random = np.random.default_rng([seed, rows, columns])
    if image is None:
        require(rows > 0 and columns > 0 and rows % TILE == columns % TILE == 0,
                f"SRAD: {rows} x {columns} points are no whole number of tiles of {TILE} x {TILE}")  # fmt: skip
        image = (natural(rows, columns, seed) * (1 + SPECKLE * random.standard_normal((rows, columns)))).clip(0, 1)
    height, width = (n // TILE * TILE for n in image.shape)
    require(
        height > 0 and width > 0, f"SRAD: the image must have at least {TILE}x{TILE} pixels, not {image.shape[1]}x{image.shape[0]}"
    )
    return {"image": np.exp(image[:height, :width]).astype(np.float32), "steps": steps}


def speckle(image: np.ndarray) -> float:
    """The host's part: the noise's variance over the square of its mean, in the corner that should be even."""
    quiet = image[:QUIET, :QUIET].astype(np.float64)
    return float(quiet.var() / quiet.mean() ** 2)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows, columns = data["image"].shape
    image = launcher.array(data["image"], label="image")
    names = ("east", "west", "north", "south")
    differences = [launcher.zeros((rows, columns), "f4", label=name) for name in names]
    coefficient = launcher.zeros((rows, columns), "f4", label="coefficient")
    grid, arrays = (columns // TILE, rows // TILE), [*differences, image, coefficient, np.int32(columns), np.int32(rows)]
    for _ in range(data["steps"]):
        q0sqr = np.float32(speckle(image.numpy()))
        launcher.launch("srad_cuda_1", grid, (TILE, TILE), [*arrays, q0sqr])
        launcher.launch("srad_cuda_2", grid, (TILE, TILE), [*arrays, np.float32(LAMBDA), q0sqr])
    return {"image": image.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Yu and Acton's equations (IEEE Trans. Image Processing 2002) on whole arrays of doubles."""
    image = data["image"].astype(np.float64)
    for _ in range(data["steps"]):
        image = diffused(image, speckle(image))
    return {"image": image}


def diffused(image: np.ndarray, q0sqr: float) -> np.ndarray:
    """One step of diffusion, which stops where an image varies more than its speckle does."""
    padded = np.pad(image, 1, mode="edge")
    around = np.stack([padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]) - image
    gradient, laplacian = (around**2).sum(0) / image**2, around.sum(0) / image
    qsqr = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
    free = (1 / (1 + (qsqr - q0sqr) / (q0sqr * (1 + q0sqr)))).clip(0, 1)
    wide = np.pad(free, ((0, 1), (0, 1)), mode="edge")
    north, south, west, east = around
    return image + LAMBDA / 4 * (free * (north + west) + wide[1:, :-1] * south + wide[:-1, 1:] * east)
