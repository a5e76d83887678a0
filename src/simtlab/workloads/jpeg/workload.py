"""JPEG: pictures through the discrete cosine transform, quantisation and the inverse transform, block by block.

Suite: CUDA SDK (`dct8x8`). Regular, memory-bound.
DYNCTA's JPEG is no public program. This is the nearest that is: what the CUDA SDK computes, twice, once by matrices of cosines
(a thread a pixel, CTAs of 8 x 8, the picture through a texture, the matrix from constant memory) and once by a factored
transform (a thread a row and then a column, CTAs of 8 x 4 x 2, tiles of 32 x 16 pixels in shared memory). The picture is read
and written by every kernel, whole lines in the second version and pieces of 32 bytes in the first.
Steps of quantisation are those of the standard's example (ITU-T T.81, Table K.1), times `coarseness`.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural

NAME = "JPEG"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("dct8x8",)
SIZES = {
    "tiny": {"width": 64, "height": 48},
    "small": {"width": 416, "height": 416},
    "paper": {"width": 512, "height": 512},  # the SDK's picture; which one DYNCTA decodes is not said
}
FILES = {"image": "image"}
# Singles; sums of 64 products of up to 128 and 1.
TOLERANCE = {f"{what}{version}": (1e-5, 2e-2) for what in ("coefficients", "quantised", "image") for version in (1, 2)}
SIDE, TILE = 8, (32, 16)  # a block, and what a CTA of the factored transform has
STEPS = np.array([
    [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56], [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
], np.float64)  # fmt: skip
MARGIN = 2e-4  # of a step, by which a coefficient is away from the middle between two


def inputs(
    *, width: int = 0, height: int = 0, coarseness: float = 1.0, seed: int = 0, image: np.ndarray | None = None
) -> dict[str, Any]:
    """Grey levels from -128 to 127 of a natural picture, or of one from a file, cut to whole tiles of 32 x 16 pixels."""
    require(coarseness > 0, f"JPEG: coarseness is {coarseness}; it must be above 0")
    if image is None:
        require_tile(height, width)
        image = natural(height, width, seed)
    require_tile(*image.shape)
    rows, columns = (n // tile * tile for n, tile in zip(image.shape, reversed(TILE), strict=True))
    steps = np.maximum(STEPS * coarseness, 1)
    levels = grey_levels(image[:rows, :columns]).astype(np.float64) - 128
    return {"image": decided(levels, steps).astype(np.float32), "steps": steps.astype(np.float32)}


def require_tile(height: int, width: int) -> None:
    problem = f"JPEG: the picture must have at least {TILE[0]}x{TILE[1]} pixels, not {width}x{height}"
    require(width >= TILE[0] and height >= TILE[1], problem)


def decided(levels: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """A level more or less in blocks with a coefficient in the middle between two steps, which singles may round either way."""
    parts = blocks(levels)
    for k in range(SIDE * SIDE):
        ratio = cosines() @ parts @ cosines().T / steps.astype(np.float32)
        undecided = (np.abs(np.abs(ratio - np.floor(ratio)) - 0.5) < MARGIN).any((2, 3))
        if not undecided.any():
            break
        pixel = parts[undecided, k // SIDE, k % SIDE]
        parts[undecided, k // SIDE, k % SIDE] = np.where(pixel < 0, pixel + 1, pixel - 1)
    return unblocked(parts)


def cosines() -> np.ndarray:
    """The orthonormal transform of eight values, by frequency and place."""
    frequency, place = np.mgrid[0:SIDE, 0:SIDE]
    return np.cos((2 * place + 1) * frequency * np.pi / 16) * np.where(frequency, 0.5, np.sqrt(1 / 8))


def blocks(image: np.ndarray) -> np.ndarray:
    height, width = image.shape
    return image.reshape(height // SIDE, SIDE, width // SIDE, SIDE).swapaxes(1, 2).copy()


def unblocked(parts: np.ndarray) -> np.ndarray:
    down, across = parts.shape[:2]
    return parts.swapaxes(1, 2).reshape(down * SIDE, across * SIDE)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    height, width = data["image"].shape
    launcher.module.variable("DCTv8matrix", "f4")[...] = cosines().astype(np.float32).ravel()
    launcher.module.variable("Q", "f4")[...] = data["steps"].ravel()
    image = launcher.array(data["image"], label="image")
    coefficients, result = (launcher.zeros((height, width), "f4", label=name) for name in ("coefficients", "result"))
    found = {}
    for version in (1, 2):
        transform(launcher, version, "DCT", coefficients, image)
        found[f"coefficients{version}"] = coefficients.numpy()
        grid = (width // SIDE, height // SIDE)
        launcher.launch("CUDAkernelQuantizationFloat", grid, (SIDE, SIDE), [coefficients, np.int32(width)])
        found[f"quantised{version}"] = coefficients.numpy()
        transform(launcher, version, "IDCT", result, coefficients)
        found[f"image{version}"] = result.numpy()
    return found


def transform(launcher: Any, version: int, name: str, target: Any, source: Any) -> None:
    height, width = source.shape
    threads: tuple[int, ...]
    if version == 1:
        grid, threads = (width // SIDE, height // SIDE), (SIDE, SIDE)
        arguments = [target, np.int32(width), launcher.gpu.texture(source)]
    else:
        grid, threads = (width // TILE[0], height // TILE[1]), (SIDE, TILE[0] // SIDE, TILE[1] // SIDE)
        arguments = [target, source, np.int32(width)]
    launcher.launch(f"CUDAkernel{version}{name}", grid, threads, arguments)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """All blocks at once in doubles, by Fourier transforms of twice the length."""
    steps = data["steps"].astype(np.float64)
    coefficients = blocks(data["image"].astype(np.float64))
    for axis in (2, 3):
        coefficients = by_fourier(coefficients, axis)
    image = quantised = np.rint(coefficients / steps) * steps
    for axis in (2, 3):
        image = back_by_fourier(image, axis)
    found = {"coefficients": coefficients, "quantised": quantised, "image": image}
    return {f"{name}{version}": unblocked(values) for version in (1, 2) for name, values in found.items()}


FREQUENCY = np.arange(SIDE)
SCALE = np.where(FREQUENCY, 0.5, np.sqrt(1 / 8)) * np.exp(-1j * np.pi * FREQUENCY / 16)


def by_fourier(values: np.ndarray, axis: int) -> np.ndarray:
    """Cosine coefficients: values and their mirror image have a spectrum of cosines only."""
    values = np.moveaxis(values, axis, -1)
    spectrum = np.fft.fft(np.concatenate([values, values[..., ::-1]], -1))[..., :SIDE]
    return np.moveaxis((spectrum * SCALE).real / 2, -1, axis)


def back_by_fourier(values: np.ndarray, axis: int) -> np.ndarray:
    spectrum = np.moveaxis(values, axis, -1) * SCALE.conj()
    return np.moveaxis(16 * np.fft.ifft(spectrum, 16)[..., :SIDE].real, -1, axis)
