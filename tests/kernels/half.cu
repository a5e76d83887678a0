// Half precision as cuda_fp16.h offers it.
#include <cuda_fp16.h>

extern "C" __global__ void half_arithmetic(const __half *a, const __half *b, __half *out, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    out[i] = __hadd(a[i], b[i]);
    out[n + i] = __hmul(a[i], b[i]);
    out[2 * n + i] = __hsub(a[i], b[i]);
    out[3 * n + i] = __hfma(a[i], b[i], a[i]);
    out[4 * n + i] = a[i] / b[i];
    out[5 * n + i] = __hlt(a[i], b[i]) ? a[i] : b[i];
    out[6 * n + i] = hsqrt(__habs(a[i]));
    out[7 * n + i] = __float2half(__half2float(a[i]) * 3.0f);
}

extern "C" __global__ void half_pairs(const __half2 *a, const __half2 *b, __half2 *out, float *sums)
{
    int i = threadIdx.x;
    __half2 x = __hfma2(a[i], b[i], __float2half2_rn(1.0f));
    out[i] = __lowhigh2highlow(x);
    float2 wide = __half22float2(x);
    sums[i] = wide.x + wide.y;
}

extern "C" __global__ void half_conversions(const float *in, __half *nearest, __half *down, __half *up, short *whole, __half *parameter, __half by)
{
    int i = threadIdx.x;
    nearest[i] = __float2half_rn(in[i]);
    down[i] = __float2half_rd(in[i]);
    up[i] = __float2half_ru(in[i]);
    whole[i] = __half2short_rn(nearest[i]);
    parameter[i] = nearest[i] + by;
}

extern "C" __global__ void half_atomics(__half *sum, __half2 *pairs)
{
    atomicAdd(sum, __float2half(0.5f));
    atomicAdd(&pairs[threadIdx.x % 2], __floats2half2_rn(1.0f, threadIdx.x));
}

extern "C" __global__ void half_pair_comparisons(const __half2 *a, const __half2 *b, __half2 *out, int *both)
{
    int i = threadIdx.x, n = blockDim.x;
    out[i] = __hgt2(a[i], b[i]);
    out[n + i] = __hleu2(a[i], b[i]);
    out[2 * n + i] = __hisnan2(a[i]);
    out[3 * n + i] = h2exp(a[i]);
    both[i] = __hbgt2(a[i], b[i]);
    both[n + i] = __hbneu2(a[i], b[i]);
}
