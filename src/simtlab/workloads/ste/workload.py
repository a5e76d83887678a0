"""STE, stencil of Parboil: Jacobi steps of a seven-point stencil on a 3-D grid (the hybrid 2-D blocking). Regular.

A CTA walks its 64-by-4 column in z: every trip loads the next plane with two coalesced loads a
thread at a stride of nx·ny elements, takes in-plane neighbours from shared memory, and the rim's from global memory.
"""

from typing import Any

import numpy as np

from simtlab.workloads.images import natural

NAME = "STE"
SUITE = "Parboil"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("stencil",)
OPTIONS = ()
KERNEL_NAMES = ()
SIZES = {
    "tiny": {"nx": 128, "ny": 16, "nz": 7, "steps": 2},
    "small": {"nx": 512, "ny": 360, "nz": 20, "steps": 1},  # 720 CTAs; Parboil's input "small" has 64 in 100 steps
    "paper": {"nx": 512, "ny": 512, "nz": 64, "steps": 100},  # Parboil's input "default"
}
TOLERANCE = {"grid": (1e-5, 1e-6)}

BLOCK_X, BLOCK_Y = 32, 4
POINTS_PER_THREAD = 2
C0, C1 = 1.0 / 6.0, 1.0 / 36.0  # Parboil's weights of the centre and of a neighbour


def inputs(*, seed: int = 0, nx: int, ny: int, nz: int, steps: int) -> dict[str, Any]:
    """A temperature-like field: a natural image in each plane, fading into another one along z."""
    first, last = natural(ny, nx, seed), natural(ny, nx, seed + 1)
    z = np.linspace(0, 1, nz, dtype=np.float32)[:, None, None]
    return {"grid": (1 - z) * first + z * last, "steps": steps}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    nz, ny, nx = data["grid"].shape
    now, following = launcher.array(data["grid"]), launcher.array(data["grid"])  # borders stay as they are
    grid = (-(-nx // (BLOCK_X * POINTS_PER_THREAD)), -(-ny // BLOCK_Y))
    shared = 4 * BLOCK_X * POINTS_PER_THREAD * BLOCK_Y
    for _ in range(data["steps"]):
        arguments = [C0, C1, now, following, nx, ny, nz]
        launcher.launch("block2D_hybrid_coarsen_x", grid, (BLOCK_X, BLOCK_Y), arguments, shared=shared)
        now, following = following, now
    return {"grid": now.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The six shifted grids added up, in double precision."""
    grid = data["grid"].astype(np.float64)
    inside = (slice(1, -1),) * 3
    for _ in range(data["steps"]):
        shifted = [np.roll(grid, shift, axis)[inside] for axis in range(3) for shift in (-1, 1)]
        grid[inside] = C1 * sum(shifted) - C0 * grid[inside]
    return {"grid": grid.astype(np.float32)}
