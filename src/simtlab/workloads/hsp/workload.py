"""HSP, hotspot: temperatures on a chip from the power drawn, by explicit steps of the heat equation.

Suite: Rodinia (`hotspot`). Regular.
A CTA loads 16 x 16 points of two arrays, of which neighbouring CTAs load four rows and columns again, and makes two
steps in shared memory before it stores the inner 12 x 12. Rows of 12 leave most of its accesses unaligned.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import natural

NAME = "HSP"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-C"
ALIASES = ("HOT", "HS", "hotspot")
SIZES = {
    "tiny": {"rows": 32, "columns": 40, "steps": 2, "pyramid": 2},
    "small": {"rows": 256, "columns": 256, "steps": 4, "pyramid": 2},
    "paper": {"rows": 512, "columns": 512, "steps": 2, "pyramid": 2},  # 43 x 43 CTAs, as the suite runs it
}
TOLERANCE = {"temperature": (0.0, 2e-4)}  # kelvin, of some 300: the kernel rounds to single after each step
BLOCK = 16
# The chip, from Rodinia's manual: metres, and SI units of silicon.
CHIP_SIDE, THICKNESS, HEATED_SHARE = 0.016, 0.0005, 0.5
HEAT_CAPACITY, CONDUCTIVITY, POWER_LIMIT, PRECISION, AMBIENT = 1.75e6, 100.0, 3.0e6, 0.001, 80.0


def inputs(*, rows: int, columns: int, steps: int, pyramid: int, seed: int = 0) -> dict[str, Any]:
    """A chip with warm units on it, which draw most of the power."""
    require(1 <= pyramid < BLOCK // 2, f"HSP: pyramid is {pyramid}; it must be from 1 to {BLOCK // 2 - 1}")
    units = natural(rows, columns, seed)
    random = np.random.default_rng([seed, rows, columns])
    squares = units.astype(np.float64) ** 2  # products alone, which are the same on every host
    return {
        "temperature": (320 + 30 * units).astype(np.float32),
        "power": (0.02 * squares * squares * random.random((rows, columns))).astype(np.float32),
        "steps": steps,
        "pyramid": pyramid,
    }


def constants(rows: int, columns: int) -> dict[str, float]:
    """Heat capacity and resistances of one grid point, and the length of a step."""
    height, width = CHIP_SIDE / rows, CHIP_SIDE / columns
    return {
        "capacity": HEATED_SHARE * HEAT_CAPACITY * THICKNESS * width * height,
        "rx": width / (2 * CONDUCTIVITY * THICKNESS * height),
        "ry": height / (2 * CONDUCTIVITY * THICKNESS * width),
        "rz": THICKNESS / (CONDUCTIVITY * width * height),
        "step": PRECISION * HEATED_SHARE * THICKNESS * HEAT_CAPACITY / POWER_LIMIT,
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    rows, columns = data["temperature"].shape
    pyramid = data["pyramid"]
    power, old = launcher.array(data["power"], label="power"), launcher.array(data["temperature"], label="temperature")
    new = launcher.zeros((rows, columns), "f4", label="new temperature")
    inner = BLOCK - 2 * pyramid
    grid = (-(-columns // inner), -(-rows // inner))
    sizes = [np.int32(n) for n in (columns, rows, pyramid, pyramid)]
    numbers = [np.float32(value) for value in constants(rows, columns).values()]
    for done in range(0, data["steps"], pyramid):
        steps = np.int32(min(pyramid, data["steps"] - done))
        launcher.launch("calculate_temp", grid, (BLOCK, BLOCK), [steps, power, old, new, *sizes, *numbers, np.float32(done)])
        old, new = new, old
    return {"temperature": old.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    t = data["temperature"].astype(np.float64)
    c = constants(*t.shape)
    for _ in range(data["steps"]):
        ring = np.pad(t, 1, mode="edge")
        flow_y = (ring[2:, 1:-1] + ring[:-2, 1:-1] - 2 * t) / c["ry"]
        flow_x = (ring[1:-1, 2:] + ring[1:-1, :-2] - 2 * t) / c["rx"]
        t = t + c["step"] / c["capacity"] * (data["power"] + flow_x + flow_y + (AMBIENT - t) / c["rz"])
    return {"temperature": t}
