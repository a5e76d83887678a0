"""A kernel written in Python with Numba, run on simtlab.    pip install "simtlab[numba-cuda]"

Numba compiles the function to PTX without a GPU. It passes an array as seven numbers: two unused pointers, the number of
elements, the size of one, the data, then shape and strides.
"""

import numpy as np
from numba import cuda, types

import simtlab as sl


def scale(x, a, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = x[i] * a


def array_arguments(array: sl.DeviceArray) -> list:
    """A one-dimensional array as Numba's kernels take it."""
    size = array.dtype.itemsize
    return [np.uint64(0), np.uint64(0), np.int64(len(array)), np.int64(size), array, np.int64(len(array)), np.int64(size)]


signature = (types.float32[::1], types.float32, types.int32)
ptx, _ = cuda.compile(scale, signature, device=False, cc=(7, 5), output="ptx", abi="numba")

gpu = sl.Gpu()
module = gpu.load(ptx)
values = np.arange(1000, dtype=np.float32)
x = gpu.array(values)
run = module[module.kernels[0]](4, 256, [*array_arguments(x), np.float32(3), np.int32(1000)])
assert np.array_equal(x.numpy(), values * np.float32(3))
print(f"numba: {run.instructions} warp instructions, the result matches NumPy")
