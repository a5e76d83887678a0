// Shared memory: a chase, passes by the stride between lanes and by the width of an access, atomics.

__device__ unsigned mixed(unsigned x)
{
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    return x;
}

extern "C" __global__ void chase_shared(int *out, int steps)
{
    __shared__ int next[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x)
        next[k] = (k + 33) & 1023;
    __syncthreads();
    int at = threadIdx.x;
    for (int k = 0; k < steps; k++)
        at = next[at];
    out[threadIdx.x] = at;
}

extern "C" __global__ void shared_stride(int *out, int stride, int steps)
{
    __shared__ int part[4096];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x)
        part[k] = k;
    __syncthreads();
    int sum = 0;
    #pragma unroll 8
    for (int k = 0; k < steps; k++)
        sum += part[(threadIdx.x * stride + k) & 4095];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <typename T> __device__ void shared_width(T *out, int steps)
{
    __shared__ T part[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x)
        part[k] = out[k & 31];
    __syncthreads();
    T sum = part[threadIdx.x];
    #pragma unroll 8
    for (int k = 0; k < steps; k++) {
        T value = part[(threadIdx.x + k) & 1023];
        const int *from = (const int *)&value;
        int *to = (int *)&sum;
        for (int j = 0; j < (int)(sizeof(T) / 4); j++)
            to[j] ^= from[j];
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void shared_32(int *out, int steps) { shared_width(out, steps); }
extern "C" __global__ void shared_64(int2 *out, int steps) { shared_width(out, steps); }
extern "C" __global__ void shared_128(int4 *out, int steps) { shared_width(out, steps); }

extern "C" __global__ void atomic_shared(unsigned *out, unsigned spread, int steps)
{
    __shared__ unsigned part[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x)
        part[k] = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < steps; k++)
        atomicAdd(part + mixed(i * steps + k) % spread, i);
    __syncthreads();
    out[i] = part[threadIdx.x];
}
