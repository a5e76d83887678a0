"""BPR, back propagation: one step of training a neural network with a hidden layer.

Suite: Rodinia (`backprop`). Regular.
Each CTA reads a block of 16 x 16 weights whose rows of 17 are never aligned, reduces it in shared memory with ever fewer
threads, and later reads it again to correct it. The stride between CTAs is constant: 16 rows.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "BPR"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("CAPS", "DYNCTA", "LOADS")
DYNCTA_TYPE = "Type-M"
ALIASES = ("BP", "BKP", "backprop")
SIZES = {"tiny": {"n_inputs": 256}, "small": {"n_inputs": 16384}, "paper": {"n_inputs": 65536}}
TOLERANCE = {  # sums of many singles in another order, and all that follows from them
    "hidden": (1e-4, 1e-6),
    "weights": (1e-4, 1e-6),
    "last": (1e-4, 1e-6),
}
BLOCK = (16, 16)
N_HIDDEN, N_OUTPUT = 16, 1
ETA, MOMENTUM = 0.3, 0.3  # as in kernel.cu


def inputs(*, n_inputs: int, seed: int = 0) -> dict[str, Any]:
    """Inputs in [0, 1], weights as training begins with them, and a correction from a step before."""
    require(n_inputs >= 16 and n_inputs % 16 == 0, f"BPR: n_inputs is {n_inputs}; it must be a multiple of 16")
    random = np.random.default_rng([seed, n_inputs])

    def normal(rows: int, columns: int, scale: float) -> np.ndarray:
        return (scale * random.standard_normal((rows + 1, columns + 1))).astype(np.float32)

    scale = 1 / np.sqrt(n_inputs)
    return {
        "input": np.concatenate([[1], random.random(n_inputs)]).astype(np.float32),  # the first is the bias
        "target": np.full(N_OUTPUT, 0.1, np.float32),
        "weights": normal(n_inputs, N_HIDDEN, scale),
        "last": normal(n_inputs, N_HIDDEN, 0.1 * scale),
        "output_weights": normal(N_HIDDEN, N_OUTPUT, 0.5),
    }


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n_inputs = len(data["input"]) - 1
    parts = n_inputs // BLOCK[1]
    input, weights = launcher.array(data["input"], label="input"), launcher.array(data["weights"], label="weights")
    hidden = launcher.zeros(N_HIDDEN + 1, "f4", label="hidden")
    sums = launcher.zeros((parts, N_HIDDEN), "f4", label="partial sums")
    sizes = (np.int32(n_inputs), np.int32(N_HIDDEN))
    launcher.launch("bpnn_layerforward_CUDA", (1, parts), BLOCK, [input, hidden, weights, sums, *sizes])

    total = np.zeros(N_HIDDEN, np.float32)
    for row in sums.numpy():
        total += row
    active, hidden_delta = backwards(total + data["weights"][0, 1:], data["output_weights"], data["target"])

    delta, last = launcher.array(hidden_delta, label="delta"), launcher.array(data["last"], label="last")
    weights[...] = data["weights"]
    launcher.launch("bpnn_adjust_weights_cuda", (1, parts), BLOCK, [delta, sizes[1], input, sizes[0], weights, last])
    return {"hidden": active, "weights": weights.numpy(), "last": last.numpy()}


def backwards(sums: np.ndarray, output_weights: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The host's part: the hidden layer's values, and its share in the output's error (with a place for the bias). In double
    precision, whose last bit, in which hosts' exponential functions differ, is not left in a single-precision result."""
    active = squashed(sums.astype(np.float64))
    output = squashed(active @ output_weights[1:, 1:] + output_weights[0, 1:])
    output_delta = output * (1 - output) * (target - output)
    hidden_delta = active * (1 - active) * (output_weights[1:, 1:] @ output_delta)
    return active.astype(sums.dtype), np.concatenate([[0], hidden_delta]).astype(sums.dtype)


def squashed(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    exact = {name: values.astype(np.float64) for name, values in data.items()}
    input, weights, last = exact["input"], exact["weights"], exact["last"]
    active, delta = backwards((input @ weights)[1:], exact["output_weights"], exact["target"])
    step = ETA * np.outer(input, delta) + MOMENTUM * last
    step[:, 0] = 0
    return {"hidden": active, "weights": weights + step, "last": np.where(np.arange(len(delta)) == 0, last, step)}
