// bfloat16 and vector atomics as cuda_bf16.h and CUDA offer them, from sm_90 on.
#include <cuda_bf16.h>

extern "C" __global__ void brain_pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __hgt2(a[i], b[i]);
    out[n + i] = __hltu2(a[i], b[i]);
    out[2 * n + i] = __hisnan2(a[i]);
}

extern "C" __global__ void brain_atomics(__nv_bfloat16 *sum, __nv_bfloat162 *pairs)
{
    __shared__ __nv_bfloat162 shared;
    if (threadIdx.x == 0) shared = __floats2bfloat162_rn(0.0f, 0.0f);
    __syncthreads();
    atomicAdd(sum, __float2bfloat16(0.5f));
    atomicAdd(&pairs[threadIdx.x % 2], __floats2bfloat162_rn(1.0f, threadIdx.x));
    atomicAdd(&shared, __floats2bfloat162_rn(0.25f, 2.0f));
    __syncthreads();
    if (threadIdx.x == 0) pairs[2] = shared;
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vector_atomics(float2 *two, float4 *four, float4 *before)
{
    float t = threadIdx.x;
    atomicAdd(two, make_float2(t, 1.0f));
    before[threadIdx.x] = atomicAdd(four, make_float4(1.0f, t, -t, 0.5f));
}
#endif

extern "C" __global__ void integer_pairs(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __vadd2(a[i], b[i]);
    out[n + i] = __vmins2(a[i], b[i]);
    out[2 * n + i] = __vmaxu2(a[i], b[i]);
    out[3 * n + i] = __vimax_s16x2_relu(a[i], b[i]);
    out[4 * n + i] = __viaddmin_u16x2(a[i], b[i], a[i]);
}
