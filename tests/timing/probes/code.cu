// Straight-line code of a length: FFMA on four chains. Each warp stores the cycles of its fourth round.

typedef unsigned long long Cycles;

template <int LENGTH>
__device__ void code(Cycles *cycles, float *out, float a, float b) {
    float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
    Cycles start = 0;
    _Pragma("unroll 1") for (int round = 0; round < 4; round++) {
        __syncthreads();
        start = clock64();
        _Pragma("unroll") for (int k = 0; k < LENGTH / 4; k++) {
            x = x * a + b;
            y = y * a + b;
            z = z * a + b;
            w = w * a + b;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = x + y + z + w;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}

#define CODE(LENGTH)                                                                              \
    extern "C" __global__ void code_##LENGTH(Cycles *cycles, float *out, float a, float b) {      \
        code<LENGTH>(cycles, out, a, b);                                                       \
    }

CODE(64)
CODE(256)
CODE(1024)
CODE(1536)
CODE(2048)
CODE(4096)
CODE(6144)
CODE(8192)
