// Independent chains, eight in each thread: the throughput of each unit.

#define STEPS 1024

#define WIDE(NAME, TYPE, STEP)                                        \
  extern "C" __global__ void NAME(TYPE *out, TYPE a, TYPE b)          \
  {                                                                   \
      TYPE x[8];                                                      \
      for (int j = 0; j < 8; j++) x[j] = (TYPE)(threadIdx.x + j);     \
      _Pragma("unroll 8")                                             \
      for (int k = 0; k < STEPS / 4; k++) {                           \
          _Pragma("unroll")                                           \
          for (int j = 0; j < 8; j++) { STEP; }                       \
      }                                                               \
      TYPE sum = 0;                                                   \
      for (int j = 0; j < 8; j++) sum += x[j];                        \
      out[blockIdx.x * blockDim.x + threadIdx.x] = sum;               \
  }

WIDE(wide_ffma, float, x[j] = x[j] * a + b)
WIDE(wide_dfma, double, x[j] = x[j] * a + b)
WIDE(wide_imad, int, x[j] = x[j] * a + b)
WIDE(wide_xor, int, x[j] = (x[j] ^ a) + b)
WIDE(wide_mufu, float, x[j] = __expf(x[j]))
