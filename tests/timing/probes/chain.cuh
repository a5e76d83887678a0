// A kernel whose threads repeat a step that needs the result of the step before it.
//
// Each warp stores the cycles that its second round took; the first brought the code in. A step may use x (the result), sum, a, b,
// k (the number of the step) and `words`, 16 KB of shared memory.

typedef unsigned long long Cycles;

const int STEPS = 256;

#define CHAIN(NAME, TYPE, FIRST, STEP)                                                                    \
    extern "C" __global__ void NAME(Cycles *cycles, TYPE *out, TYPE a, TYPE b) {                          \
        __shared__ unsigned words[4096];                                                                  \
        for (int k = threadIdx.x; k < 4096; k += blockDim.x) words[k] = (unsigned)(k * 4 + 132) & 16383; \
        __syncthreads();                                                                                  \
        TYPE x = FIRST, sum = 0;                                                                          \
        Cycles start = 0;                                                                                 \
        for (int round = 0; round < 2; round++) {                                                         \
            __syncthreads();                                                                              \
            start = clock64();                                                                            \
            _Pragma("unroll 32") for (int k = 0; k < STEPS; k++) { STEP; }                                \
        }                                                                                                 \
        Cycles end = clock64();                                                                           \
        out[threadIdx.x] = x + sum;                                                                       \
        if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;                                \
        if (a == (TYPE)12345) out[0] = words[(unsigned)x & 4095];                                         \
    }
