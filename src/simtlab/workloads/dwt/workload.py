"""DWT, the discrete wavelet transform of an image, as JPEG 2000 has it: the reversible 5/3 filter, three levels, three colours.

Suite: Rodinia (`dwt2d`). Regular.
A CTA slides down a strip of 192, 128 or 64 columns, the narrower the smaller the image is: rows are loaded once, coalesced, and the
strip's borders by four threads; both filters work in shared memory, and four bands are stored. Few CTAs have long loops: the last
level of an image of 1024 x 1024 has 44 of 64 threads, the numbers of LOADS Table I. There are at most 15 strips above one another,
so that `small` cannot have three waves of CTAs.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural

NAME = "DWT"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("LOADS",)
ALIASES = ("dwt2d",)
KERNEL_NAMES = ("fdwt53Kernel<192, 8>", "fdwt53Kernel<128, 8>", "fdwt53Kernel<64, 8>")
SIZES = {
    "tiny": {"width": 40, "height": 22, "levels": 2},
    "small": {"width": 512, "height": 512, "levels": 3},
    "paper": {"width": 1024, "height": 1024, "levels": 3},  # LOADS Table I; three levels are Rodinia's default
}
FILES = {"image": "image"}
THREADS, WINDOW_ROWS, STRIPS_A_COLUMN = 256, 8, 15
WINDOWS = ((960, 192), (480, 128), (0, 64))  # from this width of the image on, strips are so wide
COLOURS = ("red", "green", "blue")


def inputs(*, width: int = 0, height: int = 0, levels: int, seed: int = 0, image: np.ndarray | None = None) -> dict[str, Any]:
    """Bytes red, green, blue: three shades of one picture. A file's grey levels are all three colours."""
    if image is None:
        light = natural(height, width, seed)
        shades = [light, 0.8 * light + 0.2 * natural(height, width, seed + 1), np.sqrt(light)]
    else:
        shades = [image] * 3
    height, width = shades[0].shape
    require(levels >= 1, f"DWT: levels is {levels}; it must be at least 1")
    least = 2**levels
    require(min(height, width) >= least, f"DWT: {levels} levels need at least {least}x{least} pixels, not {width}x{height}")
    return {"pixels": np.stack([grey_levels(shade) for shade in shades], 2), "levels": levels}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    height, width, _ = data["pixels"].shape
    pixels = launcher.array(data["pixels"], label="pixels")
    planes = [launcher.zeros(height * width, "i4", label=colour) for colour in COLOURS]
    arguments = [*planes, pixels, np.int32(height * width)]
    launcher.launch("c_CopySrcToComponents", -(-height * width // THREADS), THREADS, arguments)
    bands = [launcher.zeros(height * width, "i4", label=f"bands of {colour}") for colour in COLOURS]
    for plane, out in zip(planes, bands, strict=True):
        transform(launcher, plane, out, (width, height), data["levels"])
    return {colour: out.numpy() for colour, out in zip(COLOURS, bands, strict=True)}


def transform(launcher: Any, plane: Any, bands: Any, size: tuple[int, int], levels: int) -> None:
    """All levels of one colour: what is low in both directions is the next level's image."""
    width, height = size
    for level in range(levels):
        strip = next(columns for least, columns in WINDOWS if width >= least)
        steps = -(-height // (STRIPS_A_COLUMN * WINDOW_ROWS))
        grid = (-(-width // strip), -(-height // (WINDOW_ROWS * steps)))
        sizes = [np.int32(number) for number in (width, height, steps)]
        launcher.launch(f"fdwt53Kernel<{strip}, {WINDOW_ROWS}>", grid, strip, [plane, bands, *sizes])
        width, height = (width + 1) // 2, (height + 1) // 2
        if level + 1 < levels:
            plane[: width * height] = bands[: width * height]


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {colour: all_levels(data["pixels"][..., k].astype(np.int64) - 128, data["levels"]) for k, colour in enumerate(COLOURS)}


def all_levels(image: np.ndarray, levels: int) -> np.ndarray:
    """The bands one after another: low in both, high in x, high in y, high in both; the first of them split again."""
    low_x, high_x = split(image)
    low, high_y = (part.T for part in split(low_x.T))
    across, both = (part.T for part in split(high_x.T))
    first = low.ravel() if levels == 1 else all_levels(low, levels - 1)
    return np.concatenate([first, across.ravel(), high_y.ravel(), both.ravel()])


def split(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high band of every row by the 5/3 filter's lifting steps (ISO/IEC 15444-1, annex F)."""
    even, odd = rows[:, ::2], rows[:, 1::2]
    after = np.pad(even, ((0, 0), (0, 1)), mode="edge")[:, 1 : 1 + odd.shape[1]]
    high = odd - ((even[:, : odd.shape[1]] + after) >> 1)
    before = np.pad(high, ((0, 0), (1, 0)), mode="edge")[:, : even.shape[1]]
    beside = np.pad(high, ((0, 0), (0, 1)), mode="edge")[:, : even.shape[1]]
    return even + ((before + beside + 2) >> 2), high
