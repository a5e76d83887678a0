// Constants read with an index (LDC), over a footprint of mask + 1 words, `stride` apart. Each warp stores the cycles of its third round.

typedef unsigned long long Cycles;

const int STEPS = 256;

__constant__ int ring[16384];

// A chase: what it reads, which is 0, is part of the next index.
extern "C" __global__ void constant_chase(Cycles *cycles, int *out, int mask, int stride) {
    int x = (threadIdx.x >> 5) * 0, i = 0;
    Cycles start = 0;
    for (int round = 0; round < 3; round++) {
        i = x & 3;
        __syncthreads();
        start = clock64();
        _Pragma("unroll 1") for (int k = 0; k < STEPS; k++) {
            x = ring[i] + x * 0;
            i = (i + stride + x) & mask;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = x + i;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

// Loads that do not wait for each other.
extern "C" __global__ void constant_loads(Cycles *cycles, int *out, int mask, int stride) {
    int sum = 0;
    Cycles start = 0;
    for (int round = 0; round < 3; round++) {
        __syncthreads();
        start = clock64();
        int i = 0;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            sum += ring[i];
            i = (i + stride) & mask;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

// Each lane another constant, so many words apart.
extern "C" __global__ void constant_by_lane(Cycles *cycles, int *out, int mask, int words_apart) {
    int sum = 0;
    Cycles start = 0;
    for (int round = 0; round < 3; round++) {
        __syncthreads();
        start = clock64();
        int i = threadIdx.x * words_apart;
        _Pragma("unroll 8") for (int k = 0; k < STEPS; k++) {
            sum += ring[i & mask];
            i += 64;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = sum;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}
