"""Why is this kernel slow? A transpose on a model of an H200, and what to do about it. No GPU takes part."""

from pathlib import Path

import numpy as np

import simtlab as sl

n = 1024
a = np.random.default_rng(0).random((n, n), np.float32)

gpu = sl.Gpu("h200")
gpu.machine.interval_cycles = 64  # a fine timeline on the page
kernels = gpu.compile(Path(__file__).parent / "transpose.cu")
matrix, result = gpu.array(a), gpu.zeros((n, n), "f4")

slow = kernels["transpose"]((n // 32, n // 8), (32, 8), [matrix, result, n])
if not np.array_equal(result.numpy(), a.T):
    raise SystemExit("the result differs from NumPy's")
print(slow.explain())

result[...] = 0
fast = kernels["transpose_tiled"]((n // 32, n // 32), (32, 8), [matrix, result, n])
if not np.array_equal(result.numpy(), a.T):
    raise SystemExit("the result differs from NumPy's")
print(f"\nThrough shared memory it takes {fast.cycles:,} cycles instead of {slow.cycles:,}. Both results are NumPy's, bit for bit.")
print(f"The whole story: open {slow.profile('transpose.html')} in a browser.")
