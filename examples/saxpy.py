"""saxpy on a million elements, from CUDA C++ to a result that NumPy confirms. No GPU takes part."""

import time
from pathlib import Path

import numpy as np

import simtlab as sl

n, a = 1 << 20, np.float32(2)
x, y = np.random.default_rng(0).random((2, n), np.float32)

gpu = sl.Gpu()
saxpy = gpu.compile(Path(__file__).parent / "saxpy.cu")["saxpy"]
device_x, device_y = gpu.array(x), gpu.array(y)
saxpy(1, 32, [0, a, device_x, device_y])  # no elements: gets the executor ready, which takes a while the first time

begin = time.perf_counter()
run = saxpy(n // 256, 256, [n, a, device_x, device_y])
seconds = time.perf_counter() - begin

print(f"saxpy on {n:,} elements: {run.instructions:,} warp instructions in {seconds:.3f} s "
      f"({run.instructions / seconds / 1e6:.1f} million a second)")  # fmt: skip
if not np.array_equal(device_y.numpy(), a * x + y):
    raise SystemExit("the result differs from NumPy's")
print("the result matches NumPy")
