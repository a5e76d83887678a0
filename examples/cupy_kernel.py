"""A CuPy kernel, run on simtlab without a GPU.    pip install cupy-cuda13x

A RawKernel keeps its source and name, and a RawModule its source: simtlab compiles that, and takes NumPy arrays where CuPy has its own
(`x.get()` gives one).
"""

import cupy
import numpy as np

import simtlab as sl

saxpy = cupy.RawKernel(
    """
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
""",
    "saxpy",
)

gpu = sl.Gpu()
kernel = gpu.compile(saxpy.code, options=saxpy.options)[saxpy.name]
n = 5000
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
device_y = gpu.array(y)
run = kernel(-(-n // 256), 256, [n, 2.0, gpu.array(x), device_y])
assert np.array_equal(device_y.numpy(), 2 * x + y)
print(f"cupy: {run.instructions} warp instructions, the result matches NumPy")
