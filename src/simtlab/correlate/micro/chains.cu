// Dependent chains of each unit.

#define STEPS 1024

#define CHAIN(NAME, TYPE, STEP)                                       \
  extern "C" __global__ void NAME(TYPE *out, TYPE a, TYPE b)          \
  {                                                                   \
      TYPE x = (TYPE)threadIdx.x;                                     \
      _Pragma("unroll 64")                                            \
      for (int k = 0; k < STEPS; k++) { STEP; }                       \
      out[blockIdx.x * blockDim.x + threadIdx.x] = x;                 \
  }

CHAIN(chain_ffma, float, x = x * a + b)
CHAIN(chain_fadd, float, x = x + a)
CHAIN(chain_dfma, double, x = x * a + b)
CHAIN(chain_imad, int, x = x * a + b)
CHAIN(chain_xor, int, x = (x ^ a) + b)
CHAIN(chain_shift, unsigned, x = (x << 3) ^ a)
CHAIN(chain_mufu, float, x = __expf(x))
CHAIN(chain_convert, float, x = (float)(int)x * a)
CHAIN(chain_divide, float, x = x / a + b)
CHAIN(chain_popc, int, x = __popc(x) + a)
CHAIN(chain_shuffle, int, x = __shfl_xor_sync(0xffffffffu, x, 1) + a)
