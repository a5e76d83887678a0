"""PFN, particle filter, the naive version: the host follows an object through a film, a kernel draws its particles anew.

Suite: Rodinia (`particlefilter_naive`). Irregular.
A thread searches the cumulative weights, doubles, from the first on: all lanes read one address, and leave the loop one by one,
where it is their turn. The search makes the work quadratic in the particles, so that no size fills a machine with CTAs: DYNCTA's
30 cores would have three waves of them at 92,160 particles.
"""

from typing import Any

import numpy as np

from simtlab.workloads import tracking

NAME = "PFN"
SUITE = "Rodinia"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("particlefilter_naive",)
SIZES = {
    "tiny": {"particles": 300, "frames": 3, "side": 32, "radius": 5},
    "small": {"particles": 5120, "frames": 2, "side": 128, "radius": 5},
    "paper": {"particles": 1000, "frames": 10, "side": 128, "radius": 5},  # Rodinia's run file; DYNCTA does not name its input
}
TOLERANCE = {"x": (1e-9, 1e-9), "y": (1e-9, 1e-9)}  # the host's NumPy may differ in the last bit from machine to machine
THREADS = 128


def inputs(*, particles: int, frames: int, side: int, radius: int, seed: int = 0) -> dict[str, Any]:
    return tracking.film_and_seeds(NAME, particles=particles, frames=frames, side=side, radius=radius, seed=seed)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    count = len(data["seeds"])
    named = ("x", "y", "cumulative", "steps", "new x", "new y")
    *given, new_x, new_y = arrays = [launcher.zeros(count, "f8", label=name) for name in named]
    seeds = data["seeds"].copy()
    x, y = tracking.start(data)
    for frame in range(1, data["film"].shape[2]):
        x, y = tracking.moved(x, y, seeds)
        cumulative = np.cumsum(tracking.weights(data, x, y, frame))
        for array, values in zip(given, (x, y, cumulative, tracking.ladder(seeds)), strict=True):
            array[...] = values
        launcher.launch("kernel", -(-count // THREADS), THREADS, [*arrays, np.int32(count)])
        x, y = new_x.numpy(), new_y.numpy()
    return {"x": x, "y": y}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The particles by bisection."""
    seeds = data["seeds"].copy()
    x, y = tracking.start(data)
    for frame in range(1, data["film"].shape[2]):
        x, y = tracking.moved(x, y, seeds)
        cumulative = np.cumsum(tracking.weights(data, x, y, frame))
        index = tracking.chosen(cumulative, tracking.ladder(seeds))
        x, y = x[index], y[index]
    return {"x": x, "y": y}
