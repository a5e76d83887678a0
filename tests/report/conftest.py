"""Two small kernels, simulated once: a transpose whose stores are not coalesced, a reduction with bank conflicts."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.report.profile import profile_of

CUDA = r"""
template <typename T> __global__ void transpose(const T *in, T *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
template __global__ void transpose<float>(const float *, float *, int);

// Sums of 256 values; a stride that doubles makes banks conflict.
extern "C" __global__ void reduce(const float *in, float *out) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        int at = 2 * stride * t;
        if (at < blockDim.x)
            part[at] += part[at + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
"""
N = 128


@pytest.fixture(scope="session")
def profiled():
    """The runs and their profiles."""
    gpu = sl.Gpu("caps-gtx480")
    gpu.machine.interval_cycles = 64
    data, out = gpu.array(np.arange(N * N, dtype="f4").reshape(N, N)), gpu.zeros((N, N), "f4")
    module = gpu.compile(CUDA)
    transpose, reduce = module["transpose<float>"], module["reduce"]
    runs = [transpose((N // 32, N // 8), (32, 8), [data, out, N]), reduce(N * N // 256, 256, [data, out])]
    shapes = [(run.grid, run.block, run.shared_bytes) for run in runs]
    profiles = [profile_of(run.program, run.timing, shape, gpu.machine.config, gpu.machine.intervals())
                for run, shape in zip(runs, shapes, strict=True)]  # fmt: skip
    return runs, profiles


@pytest.fixture(scope="session")
def profiles(profiled):
    return profiled[1]
