"""MM, matrixMul: the product of two dense matrices by tiles.

Suite: CUDA SDK (`matrixMul`). Regular.
A CTA loads a tile of A and one of B into shared memory, coalesced, and works on them between two barriers; from one
iteration to the next its address in A moves by a tile and in B by a whole row of tiles. CTAs in a row of the grid read
the same tiles of A, those in a column the same of B.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "MM"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-C"
ALIASES = ("MUL", "matrixMul")
KERNEL_NAMES = ("matrixMul<16>", "matrixMul<32>")
SIZES = {
    "tiny": {"rows": 48, "inner": 64, "columns": 48, "tile": 16},
    "small": {"rows": 240, "inner": 240, "columns": 480, "tile": 16},  # 450 CTAs in the SDK's proportions; its 160 x 320 are 200
    "paper": {"rows": 320, "inner": 320, "columns": 640, "tile": 16},  # the SDK's largest; tile=32 is its other kernel
}
TOLERANCE = {"c": (1e-5, 1e-4)}  # sums of singles in another order
FILES = {"a": "matrix", "b": "matrix"}


def inputs(
    *, rows: int = 0, inner: int = 0, columns: int = 0, tile: int = 16, seed: int = 0, a: Any = None, b: Any = None
) -> dict[str, Any]:
    """Matrices of numbers in [-1, 1]; ones from files are filled up with zeros to whole tiles."""
    random = np.random.default_rng([seed, rows, inner, columns])
    left = a.dense() if a is not None else uniform(random, (rows, inner if b is None else b.shape[0]))
    right = b.dense() if b is not None else uniform(random, (left.shape[1], columns))
    require(tile in (16, 32), f"MM: tile is {tile}; it must be 16 or 32")
    same = f"MM: a has {left.shape[1]} columns and b has {right.shape[0]} rows; these must be equal"
    require(left.shape[1] == right.shape[0], same)
    return {"a": whole_tiles(left, tile), "b": whole_tiles(right, tile), "tile": tile}


def uniform(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return random.uniform(-1, 1, shape).astype(np.float32)


def whole_tiles(matrix: np.ndarray, tile: int) -> np.ndarray:
    return np.pad(matrix, [(0, -n % tile) for n in matrix.shape])


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    (rows, inner), columns, tile = data["a"].shape, data["b"].shape[1], data["tile"]
    a, b = launcher.array(data["a"], label="a"), launcher.array(data["b"], label="b")
    c = launcher.zeros((rows, columns), "f4", label="c")
    arguments = [c, a, b, np.int32(inner), np.int32(columns)]
    launcher.launch(f"matrixMul<{tile}>", (columns // tile, rows // tile), (tile, tile), arguments)
    return {"c": c.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"c": data["a"].astype(np.float64) @ data["b"].astype(np.float64)}
