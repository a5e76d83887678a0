"""LPS, laplace3D: Jacobi steps of the Laplace equation on a box with fixed walls.

Suite: ISPASS 2009 (GPGPU-Sim), after Mike Giles's CUDA course. Regular.
A CTA marches through the planes of its column and loads each plane once, coalesced, its border as well, into shared
memory. The stride from one load of a thread to its next is a whole plane; neighbouring CTAs share the border's lines.
"""

from typing import Any

import numpy as np

NAME = "LPS"
SUITE = "ISPASS 2009"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("laplace3D",)
SIZES = {
    "tiny": {"nx": 64, "ny": 10, "nz": 8, "steps": 1},
    "small": {"nx": 256, "ny": 360, "nz": 28, "steps": 1},  # 8 x 90 CTAs
    "paper": {"nx": 100, "ny": 100, "nz": 100, "steps": 1},  # 4 x 25 CTAs
}
TOLERANCE = {"u": (1e-6, 1e-6)}  # a sum of six in another order and another precision
BLOCK = (32, 4)
LINE_BYTES = 128


def inputs(*, nx: int, ny: int, nz: int, steps: int, seed: int = 0) -> dict[str, Any]:
    """A box heated through one wall, its inside at random temperatures."""
    random = np.random.default_rng([seed, nx, ny, nz])
    u = random.random((nz, ny, nx)).astype(np.float32)
    u[0] = 1.0
    u[-1] = 0.0
    return {"u": u, "steps": steps}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    nz, ny, nx = data["u"].shape
    pitch = -(-nx * 4 // LINE_BYTES) * LINE_BYTES // 4  # rows begin at a line, as cudaMallocPitch has it
    padded = np.zeros((nz, ny, pitch), np.float32)
    padded[:, :, :nx] = data["u"]
    old, new = launcher.array(padded, label="u"), launcher.zeros(padded.shape, "f4", label="new u")
    grid = (-(-nx // BLOCK[0]), -(-ny // BLOCK[1]))
    for _ in range(data["steps"]):
        launcher.launch("GPU_laplace3d", grid, BLOCK, [*map(np.int32, (nx, ny, nz, pitch)), old, new])
        old, new = new, old
    return {"u": old.numpy()[:, :, :nx]}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    u = data["u"].astype(np.float64)
    for _ in range(data["steps"]):
        inner = (u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
                 + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:])  # fmt: skip
        u = u.copy()
        u[1:-1, 1:-1, 1:-1] = inner / 6
    return {"u": u}
