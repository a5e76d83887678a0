// Straight-line code, longer than instruction caches, and divergence.

template <int LENGTH> __device__ void straight(float *out, float a, float b)
{
    float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
    #pragma unroll
    for (int k = 0; k < LENGTH / 4; k++) {
        x = x * a + b; y = y * a + b; z = z * a + b; w = w * a + b;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z + w;
}
extern "C" __global__ void straight_1k(float *out, float a, float b) { straight<1024>(out, a, b); }
extern "C" __global__ void straight_4k(float *out, float a, float b) { straight<4096>(out, a, b); }
extern "C" __global__ void straight_16k(float *out, float a, float b) { straight<16384>(out, a, b); }

// Half of each warp takes each side.
extern "C" __global__ void divergent(float *out, float a, float b, int steps)
{
    float x = threadIdx.x;
    for (int k = 0; k < steps; k++)
        if ((threadIdx.x + k) & 1)
            x = x * a + b;
        else
            x = x / (a + 2) - b;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
