// Eight chains that a warp's instructions take in turn: how many a unit takes. Each warp stores the cycles of its second round.
//
// What ptxas makes of them: FFMA, IMAD and HFMA2 with a and b in the reuse cache; FADD and FMUL with a in a uniform register, as the
// product of the low words (`by_uniform`); four XOR of one value become one LOP3, two additions an IMAD or an LEA.

typedef unsigned long long Cycles;

const int STEPS = 256;

#define INDEPENDENT(NAME, TYPE, STEP)                                                                      \
    extern "C" __global__ void NAME(Cycles *cycles, TYPE *out, TYPE a, TYPE b) {                           \
        TYPE x[8];                                                                                         \
        for (int j = 0; j < 8; j++) x[j] = threadIdx.x + j;                                                \
        Cycles start = 0;                                                                                  \
        for (int round = 0; round < 2; round++) {                                                          \
            __syncthreads();                                                                               \
            start = clock64();                                                                             \
            _Pragma("unroll 4") for (int k = 0; k < STEPS / 8; k++) {                                      \
                _Pragma("unroll") for (int j = 0; j < 8; j++) { STEP; }                                    \
            }                                                                                              \
        }                                                                                                  \
        Cycles end = clock64();                                                                            \
        TYPE sum = 0;                                                                                      \
        for (int j = 0; j < 8; j++) sum += x[j];                                                           \
        out[threadIdx.x] = sum;                                                                            \
        if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;                                 \
    }

INDEPENDENT(independent_ffma, float, x[j] = x[j] * a + b)
INDEPENDENT(independent_ffma_of_three, float, x[j] = x[j] * x[(j + 1) & 7] + x[(j + 3) & 7])
INDEPENDENT(independent_fadd, float, x[j] = x[j] + a)
INDEPENDENT(independent_fmul, float, x[j] = x[j] * a)
INDEPENDENT(independent_fmnmx, float, asm volatile("min.f32 %0, %0, %1;" : "+f"(x[j]) : "f"(a)))
INDEPENDENT(independent_hfma2, int, asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x[j]) : "r"(a), "r"(b)))
INDEPENDENT(independent_dfma, double, x[j] = x[j] * a + b)

INDEPENDENT(independent_imad, int, x[j] = x[j] * a + b)
INDEPENDENT(independent_imad_by_uniform, unsigned long long, x[j] = (unsigned long long)(unsigned)x[j] * (unsigned)a + b)
INDEPENDENT(independent_lea_imad, int, asm volatile("add.s32 %0, %0, %1;" : "+r"(x[j]) : "r"(a)))
INDEPENDENT(independent_lop3, int, asm volatile("xor.b32 %0, %0, %1;" : "+r"(x[j]) : "r"(a)))
INDEPENDENT(independent_shf, int, asm volatile("shf.l.wrap.b32 %0, %0, %0, %1;" : "+r"(x[j]) : "r"(a)))
INDEPENDENT(independent_prmt, int, asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(x[j]) : "r"(a), "r"(b)))
INDEPENDENT(independent_isetp_sel, int,
            asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, %1; selp.b32 %0, %0, %2, p; }" : "+r"(x[j]) : "r"(a), "r"(b)))
INDEPENDENT(independent_ffma_lop3, float, {
    x[j] = x[j] * a + b;
    asm volatile("{ .reg .b32 t; mov.b32 t, %0; xor.b32 t, t, 5; mov.b32 %0, t; }" : "+f"(x[j]));
})

INDEPENDENT(independent_popc, int, x[j] = __popc(x[j]))
INDEPENDENT(independent_i2f, float, x[j] = (float)__float_as_int(x[j]))
INDEPENDENT(independent_f2i, float, x[j] = __int_as_float(__float2int_rz(x[j])))
INDEPENDENT(independent_ex2, float, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[j])))
INDEPENDENT(independent_shfl, int, x[j] = __shfl_xor_sync(~0u, x[j], 1))
INDEPENDENT(independent_vote, int, x[j] = __ballot_sync(~0u, x[j] & 1))

extern "C" __global__ void independent_s2r(Cycles *cycles, unsigned *out) {
    unsigned x = 0;
    Cycles start = 0;
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        start = clock64();
        _Pragma("unroll 16") for (int k = 0; k < STEPS; k++) {
            unsigned lane;
            asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
            x += lane ^ x;
        }
    }
    Cycles end = clock64();
    out[threadIdx.x] = x;
    if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 32] = end - start;
}
