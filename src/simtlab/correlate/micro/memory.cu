// Global memory: a chase, copies by width, strides, random gathers and scatters, atomics by how many addresses they spread over.

// One thread follows a ring. Before, all threads of the CTA bring `warm` words of it into the L2.
extern "C" __global__ void chase_global(const int *next, int *out, int steps, int warm)
{
    int sum = 0;
    for (int k = threadIdx.x * 8; k < warm; k += blockDim.x * 8)
        sum += __ldcg(next + k);
    __syncthreads();
    int at = 0;
    if (threadIdx.x == 0)
        for (int k = 0; k < steps; k++)
            at = next[at];
    out[threadIdx.x] = at + sum;
}

template <typename T> __device__ void copied(const T *in, T *out, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = in[i];
}
extern "C" __global__ void copy_32(const int *in, int *out, int count) { copied(in, out, count); }
extern "C" __global__ void copy_64(const int2 *in, int2 *out, int count) { copied(in, out, count); }
extern "C" __global__ void copy_128(const int4 *in, int4 *out, int count) { copied(in, out, count); }

extern "C" __global__ void read_only(const int4 *in, int4 *out, int count)
{
    int4 sum = make_int4(0, 0, 0, 0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int4 v = in[i];
        sum.x ^= v.x; sum.y ^= v.y; sum.z ^= v.z; sum.w ^= v.w;
    }
    if (sum.x == 12345) out[0] = sum;
}

extern "C" __global__ void write_only(int *out, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = i;
}

extern "C" __global__ void strided(const int *in, int *out, int stride, int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 16; k++)
        sum += in[((i + k * gridDim.x * blockDim.x) * stride) & mask];
    out[i] = sum;
}

__device__ unsigned mixed(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

extern "C" __global__ void gather(const int *in, int *out, int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 16; k++)
        sum += in[mixed(i * 16 + k) & mask];
    out[i] = sum;
}

extern "C" __global__ void scatter(int *out, int mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    #pragma unroll 4
    for (int k = 0; k < 16; k++)
        out[mixed(i * 16 + k) & mask] = k;
}

extern "C" __global__ void atomic_spread(unsigned *out, unsigned spread, int steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < steps; k++)
        atomicAdd(out + mixed(i * steps + k) % spread, i);
}
