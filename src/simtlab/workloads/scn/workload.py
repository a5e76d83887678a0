"""SCN, scan: exclusive prefix sums of several long arrays at once.

Suite: CUDA SDK (`scan`, the version for long arrays). Regular.
Every thread loads and stores four neighbouring words, a warp a contiguous 512 bytes, and each element is touched twice:
by the scan and by the update. Between the two, one CTA for 256 others gathers their last elements, 4096 bytes apart.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "SCN"
SUITE = "CUDA SDK"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("scan",)
SIZES = {
    "tiny": {"length": 4096, "batch": 3},
    "small": {"length": 262144, "batch": 5},
    "paper": {"length": 262144, "batch": 26},  # the SDK's longest arrays, 13/2 million elements
}
THREADS = 256
A_BLOCK = 4 * THREADS  # elements a CTA scans


def inputs(*, length: int, batch: int, seed: int = 0) -> dict[str, Any]:
    """Random words; sums wrap around. The length is a power of two from 2048 to 262144."""
    allowed = [1 << k for k in range(11, 19)]
    require(length in allowed, f"SCN: length is {length}; it must be a power of two from {allowed[0]} to {allowed[-1]}")
    random = np.random.default_rng([seed, length, batch])
    return {"values": random.integers(0, 2**32, (batch, length), dtype=np.uint32)}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    batch, length = data["values"].shape
    blocks = batch * length // A_BLOCK
    values = launcher.array(data["values"], label="values")
    sums = launcher.zeros((batch, length), "u4", label="sums")
    totals = launcher.zeros(blocks, "u4", label="totals")
    launcher.launch("scanExclusiveShared", blocks, THREADS, [sums, values, np.uint32(A_BLOCK)])
    arguments = [totals, sums, values, np.uint32(blocks), np.uint32(length // A_BLOCK)]
    launcher.launch("scanExclusiveShared2", -(-blocks // THREADS), THREADS, arguments)
    launcher.launch("uniformUpdate", blocks, THREADS, [sums, totals])
    return {"sums": sums.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    values = data["values"]
    return {"sums": np.cumsum(values, axis=1, dtype=np.uint32) - values}
