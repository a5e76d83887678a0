"""CP, coulombic potential: the potential of a molecule's charges on a plane of grid points.

Suite: ISPASS 2009 (GPGPU-Sim), after Parboil's `cp`. Regular.
All threads walk through the same atoms, which constant memory broadcasts, and compute on registers alone. Global memory
is touched at the end only: each warp reads and writes two coalesced half rows of the plane.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "CP"
SUITE = "ISPASS 2009"
CATEGORY = "regular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-C"
SIZES = {
    "tiny": {"width": 64, "height": 32, "atoms": 32},
    "small": {"width": 480, "height": 384, "atoms": 96},  # 720 CTAs, and so fewer atoms than the suite's
    "paper": {"width": 256, "height": 256, "atoms": 200},  # 256 CTAs, as the suite's; its 200 atoms are from memory
}
TOLERANCE = {"potential": (2e-5, 1e-3)}  # a sum of single-precision terms, of both signs
BLOCK = (16, 8)
POINTS_A_THREAD = 2
MAX_ATOMS = 4000  # as in kernel.cu
SPACING = 0.1  # angstrom between grid points


def inputs(*, width: int, height: int, atoms: int, seed: int = 0) -> dict[str, Any]:
    """Atoms in a box over the plane, with partial charges as a force field gives them, and what other atoms left there."""
    require(width % 32 == 0 and height % 8 == 0, f"CP: {width} x {height} points are no whole number of tiles of 32 x 8")
    require(1 <= atoms <= MAX_ATOMS, f"CP: atoms is {atoms}; constant memory holds 1 to {MAX_ATOMS}")
    random = np.random.default_rng([seed, width, height, atoms])
    box = (SPACING * width, SPACING * height, SPACING * max(width, height) / 2)
    places = random.random((atoms, 3)) * box
    places[:, 2] += 1.0  # no atom lies in the plane
    charges = np.clip(0.4 * random.standard_normal(atoms), -1, 1)
    return {
        "atoms": np.column_stack([places, charges]).astype(np.float32),
        "before": (0.1 * random.standard_normal((height, width))).astype(np.float32),
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    height, width = data["before"].shape
    table = data["atoms"].copy()
    table[:, 2] **= 2  # the plane is z = 0: the kernel wants the distance from it, squared
    launcher.module.variable("atoms", "f4")[: table.size] = table.ravel()
    potential = launcher.array(data["before"], label="potential")
    grid = (width // (BLOCK[0] * POINTS_A_THREAD), height // BLOCK[1])
    launcher.launch("cenergy", grid, BLOCK, [np.int32(len(table)), np.float32(SPACING), potential])
    return {"potential": potential.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    potential = data["before"].astype(np.float64)
    rows, columns = np.indices(potential.shape) * np.float64(np.float32(SPACING))
    for x, y, z, charge in data["atoms"].astype(np.float64):
        potential += charge / np.sqrt((columns - x) ** 2 + (rows - y) ** 2 + z**2)
    return {"potential": potential}
