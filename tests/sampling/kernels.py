"""Kernels to sample, and the machine that does: four cores, so that a wave is few CTAs."""

import numpy as np

import simtlab as sl

CUT = {"core.cores": 4}
SOURCE = r"""
extern "C" __global__ void regular(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 24; k++) sum = sum * 0.5f + x[i];
    y[i] = sum;
}
extern "C" __global__ void irregular(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    int turns = (blockIdx.x * 2654435761u >> 28) * (blockIdx.x & 1 ? 1 : 6);
    for (int k = 0; k < turns; k++) sum += x[(i * 9 + k * 8191) & 32767];
    y[i] = sum;
}
extern "C" __global__ void two_halves(const float *x, float *y, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (blockIdx.x < half) for (int k = 0; k < 40; k++) sum = sum * 0.5f + 1.0f;
    else for (int k = 0; k < 40; k++) sum += x[(i * 5 + k * 1031) & 32767];
    y[i] = sum + x[i & 32767];
}
extern "C" __global__ void filling(const float *, float *y) {
    float sum = threadIdx.x;
    for (int k = 0; k < 60; k++) sum = sum * 0.5f + 1.0f;
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void counting(int *count, int *last) {
    if (threadIdx.x == 0) last[blockIdx.x] = atomicAdd(count, 1);
}
extern "C" __global__ void clocked(long long *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = clock64(); }
extern "C" __global__ void located(int *out) {
    int core;
    asm("mov.u32 %0, %%smid;" : "=r"(core));
    out[blockIdx.x * blockDim.x + threadIdx.x] = core;
}
extern "C" __global__ void talking(int *out) {
    if (threadIdx.x == 0 && blockIdx.x == 5) printf("five\n");
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}
extern "C" __global__ void outside(float *y, int n) { y[blockIdx.x == 900 ? n : blockIdx.x * blockDim.x + threadIdx.x] = 1; }
"""
BLOCK = 128


def device(sample=True, machine="caps-gtx480", **options):
    return sl.Gpu(machine, set=CUT, sample=sample, threads=1, memory_bytes=1 << 26, **options)


def run(gpu, kernel, ctas, *more):
    """Launch a kernel on an input and an output of as many floats as it has threads; the run, and the output."""
    n = ctas * BLOCK
    x, y = gpu.array(np.random.default_rng(3).random(max(n, 32768), np.float32)), gpu.zeros(n)
    done = gpu.compile(SOURCE)[kernel](ctas, BLOCK, [x, y, *map(np.int32, more)])
    return done, y.numpy()
