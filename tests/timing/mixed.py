"""A kernel with a little of everything. Its results depend on no order: any machine must give the same."""

from functools import cache

import numpy as np

import simtlab as sl

SOURCE = r"""
__constant__ float table[1024];
extern "C" __global__ void mixed(cudaTextureObject_t t, const float *x, float *y, double *d, int *count, int size) {
    __shared__ float tile[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own[16];
    for (int k = 0; k < 16; k++) own[k * 5 + i & 15] = x[i * (1 + (k & 1)) + k * 4096 & size - 1];
    tile[threadIdx.x * 4] = own[i & 15];
    __syncthreads();
    float sum = tile[(127 - threadIdx.x) * 4];
    sum += table[i * 16 + (sum > 2.0f) & 1023] + table[(i >> 5) * 48 & 1023];
    for (int k = 0; k < 12; k++) {
        int far = k % 3 ? k * 128 : k;  // the first line again and again, between others
        sum += tex1Dfetch<float>(t, (i & 31) + far) * table[far / 2 + (i >> 20)];
    }
    if (i & 1) sum = __sinf(sum) * own[i * 3 & 15]; else sum = sqrtf(sum) / (own[i * 7 & 15] + 3.0f);
    for (int k = 0; k < 4; k++) y[i * 4 + k] = sum + k;
    __threadfence();
    for (int k = 0; k < 4; k++) sum += x[i * 33 + k * 1024 & size - 1] * y[i * 4 + k];
    d[i] = d[i] * sum + __shfl_xor_sync(~0u, sum, 1) + __popc(__ballot_sync(~0u, sum > 0));
    atomicAdd(count + (i & 63), i / 7 * 3);
    y[i * 4] = sum;
}
"""
SIZE, THREADS = 1 << 14, 128


def launch(device: sl.Gpu, ctas: int) -> tuple[sl.Run, bytes]:
    """The run, and all it has written."""
    values = np.random.default_rng(1).random(SIZE).astype("f4")
    x, y = device.array(values), device.zeros(ctas * THREADS * 4)
    d, count = device.zeros(ctas * THREADS, "f8"), device.zeros(64, "i4")
    run = device.compile(SOURCE)["mixed"](ctas, THREADS, [device.texture(x), x, y, d, count, np.int32(SIZE)])
    return run, b"".join(array.numpy().tobytes() for array in (y, d, count))


@cache
def expected(ctas: int) -> bytes:
    return launch(sl.Gpu(), ctas)[1]
