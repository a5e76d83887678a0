"""SD1, the first version of speckle-reducing anisotropic diffusion: a point a thread, four or more launches a step.

Suite: Rodinia (`srad_v1`; its second version is SRAD here). Regular.
The image lies column by column in one row of CTAs of 512 threads. Neighbours are found through four lists of rows and columns and
read from memory, no tile in shared memory; the statistics of the whole image are summed by a tree whose threads at work are ever
further apart, and the last CTA, which is not full, adds what is beyond a power of two with one thread.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural
from simtlab.workloads.srad.workload import LAMBDA, SPECKLE, diffused

NAME = "SD1"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("SRAD1", "srad_v1")
SIZES = {
    "tiny": {"rows": 41, "columns": 25, "steps": 2},
    "small": {"rows": 384, "columns": 367, "steps": 2},  # 276 CTAs, three waves where three are resident
    "paper": {"rows": 502, "columns": 458, "steps": 100},  # Rodinia's run file; DYNCTA does not name its input
}
TOLERANCE = {"image": (1e-3, 0.1)}  # grey levels up to 255; singles, and quotients of small differences
FILES = {"image": "image"}
THREADS = 512


def inputs(*, rows: int = 0, columns: int = 0, steps: int, seed: int = 0, image: np.ndarray | None = None) -> dict[str, Any]:
    """Grey levels with multiplied noise, as ultrasound has it; or those of an image from a file."""
    if image is None:
        require(min(rows, columns) >= 2, f"SD1: the image must have at least 2x2 pixels, not {columns}x{rows}")
        noise = 1 + SPECKLE * np.random.default_rng([seed, rows, columns]).standard_normal((rows, columns))
        image = (natural(rows, columns, seed) * noise).clip(0, 1)
    height, width = image.shape
    require(min(height, width) >= 2, f"SD1: the image must have at least 2x2 pixels, not {width}x{height}")
    require(bool(np.ptp(image)), "SD1: the image is all of one grey, whose speckle is 0")
    return {"image": grey_levels(image).astype(np.float32), "steps": steps}


def speckle(mean: float, mean_square: float) -> float:
    """The host's part: the variance of all points over the square of their mean.

    Points are exponentials, 1 or more: a mean of 0 is that of no image, where a kernel has summed nothing.
    """
    return mean_square / mean**2 - 1 if mean else 0.0


def neighbours(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Who comes before and after each row or column; beyond the image's edge lies the edge itself."""
    number = np.arange(count)
    return np.maximum(number - 1, 0).astype(np.int32), np.minimum(number + 1, count - 1).astype(np.int32)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows, columns = data["image"].shape
    points, ctas = np.int64(rows * columns), -(-rows * columns // THREADS)
    image = launcher.array(np.ascontiguousarray(data["image"].T), label="image")
    named = ("sums", "squares", "north", "south", "east", "west", "coefficient")
    sums, squares, *differences, coefficient = (launcher.zeros((columns, rows), "f4", label=name) for name in named)
    (above, below), (left, right) = neighbours(rows), neighbours(columns)
    lists = [launcher.array(values) for values in (above, below, right, left)]
    fixed = [np.float32(LAMBDA), np.int32(rows), np.int32(columns), points, *lists, *differences]

    launcher.launch("extract", ctas, THREADS, [points, image])
    for _ in range(data["steps"]):
        launcher.launch("prepare", ctas, THREADS, [points, image, sums, squares])
        count, stride = int(points), 1
        while count > 1:
            ctas_left = -(-count // THREADS)
            launcher.launch("reduce", ctas_left, THREADS, [points, np.int32(count), np.int32(stride), sums, squares])
            count, stride = ctas_left, stride * THREADS
        q0sqr = np.float32(speckle(float(sums[0, 0]) / points, float(squares[0, 0]) / points))
        launcher.launch("srad", ctas, THREADS, [*fixed, q0sqr, coefficient, image])
        launcher.launch("srad2", ctas, THREADS, [*fixed, coefficient, image])
    launcher.launch("compress", ctas, THREADS, [points, image])
    return {"image": image.numpy().T}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Yu and Acton's equations (IEEE Trans. Image Processing 2002) on whole arrays of doubles."""
    image = np.exp(data["image"].astype(np.float64) / 255)
    for _ in range(data["steps"]):
        image = diffused(image, speckle(float(image.mean()), float((image**2).mean())))
    return {"image": np.log(image) * 255}
