// Global memory from one core: loads that hit in the L1, stores, atomics with and without a result, by how far the lanes are apart.
// Each warp stores the cycles of its second round.

typedef unsigned long long Cycles;

const int STEPS = 256, ATOMIC_STEPS = 64;

template <typename T>
__device__ void loads(Cycles *cycles, int *out, const T *in, int step, int lanes_apart, int mask) {
    int sum = 0;
    Cycles start = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = (threadIdx.x & 31) * lanes_apart;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            T value = in[i & mask];
            sum += *(int *)&value;
            i += step;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

extern "C" __global__ void loads_of_32_bits(Cycles *cycles, int *out, const int *in, int step, int lanes_apart, int mask) {
    loads(cycles, out, in, step, lanes_apart, mask);
}

extern "C" __global__ void loads_of_64_bits(Cycles *cycles, int *out, const int2 *in, int step, int lanes_apart, int mask) {
    loads(cycles, out, in, step, lanes_apart, mask);
}

extern "C" __global__ void loads_of_128_bits(Cycles *cycles, int *out, const int4 *in, int step, int lanes_apart, int mask) {
    loads(cycles, out, in, step, lanes_apart, mask);
}

// The fence waits until the L2 has all of them.
extern "C" __global__ void stores(Cycles *cycles, int *out, int *to, int step, int lanes_apart, int mask) {
    Cycles start = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = threadIdx.x * lanes_apart;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            to[i & mask] = k;
            i += step;
        }
        __threadfence();
    }
    Cycles end = clock64();
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

extern "C" __global__ void reductions(Cycles *cycles, int *out, int *to, int step, int lanes_apart, int mask) {
    Cycles start = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = threadIdx.x * lanes_apart;
        _Pragma("unroll 8") for (int k = 0; k < ATOMIC_STEPS; k++) {
            atomicAdd(to + (i & mask), k);
            i += step;
        }
        __threadfence();
    }
    Cycles end = clock64();
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

// A chain: the next address needs the old value.
extern "C" __global__ void atomic_chain(Cycles *cycles, int *out, int *to, int step, int lanes_apart, int mask) {
    Cycles start = 0;
    int x = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = threadIdx.x * lanes_apart;
        _Pragma("unroll 1") for (int k = 0; k < ATOMIC_STEPS; k++) {
            x = atomicAdd(to + ((i + (x & 0)) & mask), k);
            i += step + (x >> 31);
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = x;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}
