// Local memory from one core: stores and loads of arrays whose elements are chosen at run time, by their size and by how many
// different elements the lanes want. Each warp stores the cycles of its second round.

typedef unsigned long long Cycles;

const int STEPS = 256, ELEMENTS = 16;

template <typename T> __device__ T made(int k);
template <> __device__ int made<int>(int k) { return k; }
template <> __device__ int2 made<int2>(int k) { return make_int2(k, k); }
template <> __device__ int4 made<int4>(int k) { return make_int4(k, k, k, k); }

// The fence waits until the L2 has all of them. Of what was stored one element is looked at, so that they all have to be.
template <typename T>
__device__ void stores(Cycles *cycles, int *out, int step, int different) {
    T box[ELEMENTS];
    Cycles start = 0;
    const int lane = threadIdx.x % 32 % different;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = lane;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            box[i & (ELEMENTS - 1)] = made<T>(k);
            i += step;
        }
        __threadfence();
    }
    Cycles end = clock64();
    T seen = box[(step + lane) & (ELEMENTS - 1)];
    out[threadIdx.x] = *(int *)&seen;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

template <typename T>
__device__ void loads(Cycles *cycles, int *out, int step, int different) {
    T box[ELEMENTS];
    Cycles start = 0;
    const int lane = threadIdx.x % 32 % different;
    _Pragma("unroll 1") for (int k = 0; k < ELEMENTS; k++) box[k] = made<T>(k * step);
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        int i = lane;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            T value = box[i & (ELEMENTS - 1)];
            sum += *(int *)&value;
            i += step;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

#define KERNELS(BITS, T)                                                                                             \
    extern "C" __global__ void local_stores_of_##BITS##_bits(Cycles *cycles, int *out, int step, int different) {    \
        stores<T>(cycles, out, step, different);                                                                     \
    }                                                                                                                \
    extern "C" __global__ void local_loads_of_##BITS##_bits(Cycles *cycles, int *out, int step, int different) {     \
        loads<T>(cycles, out, step, different);                                                                      \
    }

KERNELS(32, int)
KERNELS(64, int2)
KERNELS(128, int4)
