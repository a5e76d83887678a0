"""NN, a neural network that reads handwritten digits: LeCun's kind of convolutional network with four layers above the image.

Suite: ISPASS 2009 (`NN`). Regular.
CTAs are tiny: 169 threads in the first layer, 25 in the second, one in the last two, where a neuron goes through all the weights of
its own alone. A core has few warps, and each waits for a load of one lane after the other; neighbours share what is below them.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "NN"
SUITE = "ISPASS 2009"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("NeuralNetwork",)
SIZES = {
    "tiny": {"images": 1, "maps": 4, "hidden": 2, "digits": 4},
    "small": {"images": 6, "maps": 50, "hidden": 100, "digits": 10},  # 600 CTAs in the third layer; three waves: 5.4 M
    "paper": {"images": 28, "maps": 50, "hidden": 100, "digits": 10},  # GPGPU-Sim's own run of it
}
# Sums of singles in another order, and a tanh of fewer digits than the host's.
TOLERANCE = {"maps": (1e-4, 1e-5), "second": (1e-4, 1e-5), "hidden": (1e-4, 1e-4), "digits": (1e-4, 1e-4)}
SIDE, WINDOW, MAPS, SECOND_MAPS, HIDDEN, DIGITS = 29, 5, 6, 50, 100, 10  # as in kernel.cu
SECOND = 25 * SECOND_MAPS
# Strokes of a digit between the corners of two squares, one above the other.
STROKES = ("abfea", "bf", "abdcef", "abdcdfe", "acdbdf", "bacdfe", "bacefdc", "abf", "abdfeca cd", "fbacd")
CORNERS = {"a": (5, 9), "b": (5, 18), "c": (13, 9), "d": (13, 18), "e": (22, 9), "f": (22, 18)}


def inputs(*, images: int, maps: int, hidden: int, digits: int, seed: int = 0) -> dict[str, Any]:
    """Drawn digits, light on dark in 28 x 28 bytes as MNIST's are, and weights as large as keeps neurons from saturating.

    Fewer `maps` of the second layer, `hidden` neurons or `digits` leave the others silent.
    """
    require(images >= 1, f"NN: images is {images}; it must be 1 at least")
    for name, count, most in (("maps", maps, SECOND_MAPS), ("hidden", hidden, HIDDEN), ("digits", digits, DIGITS)):
        require(1 <= count <= most, f"NN: {name} is {count}; it must be from 1 to {most}")
    random = np.random.default_rng([seed, images])
    drawn = np.stack([digit(random, int(random.integers(10))) for _ in range(images)])
    shapes = ((MAPS, 26), (SECOND_MAPS, 26 * MAPS), (HIDDEN, SECOND + 1), (DIGITS, HIDDEN + 1))
    weights = [(random.standard_normal(shape) * shape[1] ** -0.5).astype(np.float32) for shape in shapes]
    sizes = {"maps": maps, "hidden": hidden, "digits": digits}
    return {"images": drawn, **{f"weights{k}": values for k, values in enumerate(weights, 1)}, **sizes}


def digit(random: np.random.Generator, number: int) -> np.ndarray:
    """A digit in strokes, somewhat moved and slanted."""
    y, x = np.mgrid[0:28, 0:28]
    shift, slant, width = random.uniform(-2, 2, 2), random.uniform(-0.25, 0.25), random.uniform(1.0, 1.8)
    image = np.zeros((28, 28))
    for stroke in STROKES[number].split():
        points = np.array([CORNERS[corner] for corner in stroke], float) + shift
        points[:, 1] += slant * (13 - points[:, 0])
        for begin, end in pairwise(points):
            along = end - begin
            share = ((y - begin[0]) * along[0] + (x - begin[1]) * along[1]) / max(along @ along, 1e-9)
            share = share.clip(0, 1)
            distance = np.hypot(y - begin[0] - share * along[0], x - begin[1] - share * along[1])
            image = np.maximum(image, (width + 0.5 - distance).clip(0, 1))
    return np.rint(255 * image).astype(np.uint8)


def neurons(images: np.ndarray) -> np.ndarray:
    """The first layer: 29 x 29, of which the last row and column are paper; ink is near 0."""
    padded = np.zeros((len(images), SIDE, SIDE))
    padded[:, :28, :28] = images
    return (1 - padded / 256).astype(np.float32)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    images = len(data["images"])
    weights = [launcher.array(data[f"weights{k}"], label=f"weights {k}") for k in range(1, 5)]
    layers = [launcher.array(neurons(data["images"]), label="image")]
    for size, label in ((MAPS * 169, "maps"), (SECOND, "second layer"), (HIDDEN, "hidden"), (DIGITS, "digits")):
        layers.append(launcher.zeros((images, size), "f4", label=label))
    counts, blocks = (MAPS, data["maps"], data["hidden"], data["digits"]), ((13, 13), (5, 5), 1, 1)
    for k, name in enumerate(("First", "Second", "Third", "Fourth")):
        launcher.launch(f"execute{name}Layer", (counts[k], images), blocks[k], [layers[k], weights[k], layers[k + 1]])
    return dict(zip(("maps", "second", "hidden", "digits"), (layer.numpy() for layer in layers[1:]), strict=True))


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Windows of whole layers at once, and matrix products."""
    w1, w2, w3, w4 = (data[f"weights{k}"].astype(np.float64) for k in range(1, 5))
    images = len(data["images"])
    maps = squashed(np.einsum("nyxij,mij->nmyx", windows(neurons(data["images"])), w1[:, 1:].reshape(-1, 5, 5)), w1[:, 0])
    second = np.zeros((images, SECOND_MAPS, 5, 5))
    kernels = w2[: data["maps"], 1:151].reshape(-1, 5, 5, MAPS)
    second[:, : data["maps"]] = squashed(np.einsum("nbyxij,mijb->nmyx", windows(maps), kernels), w2[: data["maps"], 0])
    flat = second.reshape(images, SECOND)
    hidden, digits = np.zeros((images, HIDDEN)), np.zeros((images, DIGITS))
    for layer, below, weights, count in ((hidden, flat, w3, data["hidden"]), (digits, hidden, w4, data["digits"])):
        layer[:, :count] = 1.7159 * np.tanh((below @ weights[:count, 1:].T + weights[:count, 0]) * 0.66666667)
    return {"maps": maps.reshape(images, -1), "second": flat, "hidden": hidden, "digits": digits}


def windows(layer: np.ndarray) -> np.ndarray:
    """5 x 5 windows at every second place."""
    return np.lib.stride_tricks.sliding_window_view(layer.astype(np.float64), (WINDOW, WINDOW), axis=(-2, -1))[..., ::2, ::2, :, :]


def squashed(sums: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return 1.7159 * np.tanh(0.66666667 * (sums + thresholds[:, None, None]))
