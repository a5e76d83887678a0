"""PFF, particle filter, the version that Rodinia calls float: the whole filter on the GPU, four launches a frame, in doubles.

Suite: Rodinia (`particlefilter_float`). Irregular, memory-bound.
A particle notes the points of the film under the object in memory, its own 69 one after another, so that a warp's lanes are 276
bytes apart; then reads those bytes of the film, whose frames are interleaved. One thread accumulates all weights alone, and the
search for the particles to draw is quadratic in their number, which keeps `small` to a few of the CTAs of 512 threads.
Rodinia's version normalises the weights in place while that one thread reads them, and hands the ladder's first step from CTA to
CTA within a launch. Here the result does not depend on the order of CTAs: normalised weights go to another array, those that are
accumulated are not normalised, and the first step is drawn by the launch before.
"""

from typing import Any

import numpy as np

from simtlab.workloads import tracking

NAME = "PFF"
SUITE = "Rodinia"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("particlefilter_float",)
SIZES = {
    "tiny": {"particles": 200, "frames": 2, "side": 24, "radius": 3},
    "small": {"particles": 4096, "frames": 2, "side": 128, "radius": 5},
    "paper": {"particles": 1000, "frames": 10, "side": 128, "radius": 5},  # Rodinia's run file; DYNCTA does not name its input
}
# Logarithms, cosines and exponentials differ from NumPy's in the last bits, and sums are in another order.
TOLERANCE = dict.fromkeys(("position", "x", "y", "weights"), (1e-9, 1e-12))
THREADS = 512


def inputs(*, particles: int, frames: int, side: int, radius: int, seed: int = 0) -> dict[str, Any]:
    return tracking.film_and_seeds(NAME, particles=particles, frames=frames, side=side, radius=radius, seed=seed)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    count, places, ctas = len(data["seeds"]), len(data["disk"]), -(-len(data["seeds"]) // THREADS)
    named = ("x", "y", "cumulative", "ladder", "likelihood", "weights", "normalised")
    x, y, cumulative, ladder, likelihood, raw, weights = (launcher.zeros(count, "f8", label=name) for name in named)
    sums, noted = launcher.zeros(ctas, "f8", label="sums"), launcher.zeros((count, places), "i4", label="noted")
    film, disk = launcher.array(data["film"], label="film"), launcher.array(data["disk"], label="disk")
    seeds = launcher.array(data["seeds"], label="seeds")
    new_x, new_y = (launcher.array(values) for values in tracking.start(data))
    _, height, frames = data["film"].shape
    for frame in range(1, frames):
        sizes = [np.int32(k) for k in (count, places, data["film"].size, frame, height, frames)]
        weigh = [x, y, new_x, new_y, noted, disk, likelihood, film, raw, *sizes, seeds, sums]
        launcher.launch("likelihood_kernel", ctas, THREADS, weigh)
        launcher.launch("sum_kernel", ctas, THREADS, [sums, ladder, seeds, np.int32(count)])
        launcher.launch("normalize_weights_kernel", ctas, THREADS, [raw, weights, np.int32(count), sums, cumulative, ladder])
        drawn = [x, y, cumulative, ladder, new_x, new_y, weights, np.int32(count)]
        launcher.launch("find_index_kernel", ctas, THREADS, drawn)
    found = {"x": new_x.numpy(), "y": new_y.numpy(), "weights": weights.numpy()}
    return {"position": np.array([x.numpy() @ found["weights"], y.numpy() @ found["weights"]]), **found}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The filter on whole arrays, the particles by bisection."""
    seeds = data["seeds"].copy()
    new_x, new_y = tracking.start(data)
    for frame in range(1, data["film"].shape[2]):
        x, y = tracking.moved(new_x, new_y, seeds)
        weights = tracking.weights(data, x, y, frame)
        index = tracking.chosen(np.cumsum(weights), tracking.ladder(seeds))
        new_x, new_y = x[index], y[index]
    return {"position": np.array([x @ weights, y @ weights]), "x": new_x, "y": new_y, "weights": weights}
