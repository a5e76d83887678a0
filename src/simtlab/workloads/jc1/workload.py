"""JC1, jacobi1D of PolyBench/GPU: a three-point relaxation of a vector, two kernels a step. Regular, memory-bound.

One element a thread: loads of A[i-1], A[i], A[i+1] are coalesced, overlap within a warp, and
have one stride (128 B) from warp to warp; PolyBench's vector is 16 KB and stays in the L2 from launch to launch;
the two of `small` are 720 KB.
"""

from typing import Any

import numpy as np

NAME = "JC1"
SUITE = "PolyBench/GPU"
CATEGORY = "regular"
PAPERS = ("CAPS",)
ALIASES = ("jacobi1D",)
OPTIONS = ()
KERNEL_NAMES = ()
SIZES = {
    "tiny": {"n": 2048, "steps": 5},
    "small": {"n": 92_160, "steps": 20},  # 360 CTAs; PolyBench's 4096 elements are 16
    "paper": {"n": 4096, "steps": 10_000},  # PolyBench's
}
TOLERANCE: dict[str, tuple[float, float]] = {}

THREADS = 256


def inputs(*, seed: int = 0, n: int, steps: int) -> dict[str, Any]:
    """A rod with a few hot spots and a little noise."""
    rng = np.random.default_rng(seed)
    place = np.linspace(0, 1, n)
    heat = sum(np.exp(-(((place - centre) / 0.03) ** 2)) for centre in rng.random(5))
    return {"A": (heat + 0.05 * rng.random(n)).astype(np.float32), "steps": steps}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n = len(data["A"])
    grid = -(-n // THREADS)
    a, b = launcher.array(data["A"]), launcher.zeros(n, np.float32)
    for _ in range(data["steps"]):
        launcher.launch("runJacobiCUDA_kernel1", grid, THREADS, [n, a, b])
        launcher.launch("runJacobiCUDA_kernel2", grid, THREADS, [n, a, b])
    return {"A": a.numpy(), "B": b.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """The same sums in the same precisions, so that the bits are equal: float32 sums, a float64 product."""
    a = data["A"].copy()
    b = np.zeros_like(a)
    for _ in range(data["steps"]):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:]).astype(np.float64)
        a[1:-1] = b[1:-1]
    return {"A": a, "B": b}
