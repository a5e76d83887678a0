// Dependent chains of arithmetic and of exchanges between lanes, by the instructions that ptxas makes of them: it adds 3 twice by
// LEA and IMAD in turn, keeps the low words alone of products of which nobody asks for more, and has NOP for __syncwarp.

#include "chain.cuh"

CHAIN(chain_ffma, float, threadIdx.x, x = x * a + b)
CHAIN(chain_fadd, float, threadIdx.x, x = x + a)
CHAIN(chain_fmnmx_fadd, float, threadIdx.x, x = fminf(x, a) + b)
CHAIN(chain_hfma2, int, threadIdx.x, asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b)))
CHAIN(chain_dfma, double, threadIdx.x, x = x * a + b)
CHAIN(chain_dadd, double, threadIdx.x, x = x + a)

CHAIN(chain_imad, int, threadIdx.x, x = x * a + b)
CHAIN(chain_imad_uniform, unsigned long long, threadIdx.x, x = (unsigned long long)(unsigned)x * (unsigned)a + b)
CHAIN(chain_imad_hi, unsigned, threadIdx.x, x = __umulhi(x, a) + b)
CHAIN(chain_lea_imad, int, threadIdx.x, asm volatile("add.s32 %0, %0, %1;" : "+r"(x) : "r"(a)))
CHAIN(chain_lop3_iadd, int, threadIdx.x, x = (x ^ a) + b)
CHAIN(chain_shf, unsigned, threadIdx.x, asm volatile("shf.l.wrap.b32 %0, %0, %0, %1;" : "+r"(x) : "r"(a)))
CHAIN(chain_prmt, unsigned, threadIdx.x, asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b)))
CHAIN(chain_isetp, int, threadIdx.x, x = (x < a) ? x + b : x - a)

CHAIN(chain_popc, int, threadIdx.x, x = __popc(x) + a)
CHAIN(chain_flo, int, threadIdx.x, x = __clz(x) + a)
CHAIN(chain_brev, int, threadIdx.x, x = __brev(x) + a)
CHAIN(chain_i2f, float, threadIdx.x, x = (float)__float_as_int(x))
CHAIN(chain_f2i, float, threadIdx.x, x = __int_as_float(__float2int_rz(x)))
CHAIN(chain_f2f, double, threadIdx.x, x = (double)((float)x) * a)
CHAIN(chain_ex2, float, threadIdx.x, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(chain_sin, float, threadIdx.x, asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(chain_division, float, threadIdx.x + 1, x = x / a + b)
CHAIN(chain_square_root, float, threadIdx.x + 1, x = sqrtf(x) + b)

CHAIN(chain_shfl, int, threadIdx.x, x = __shfl_xor_sync(~0u, x, 1))
CHAIN(chain_vote, int, threadIdx.x, x = __ballot_sync(~0u, x & 1) + a)
CHAIN(chain_match, int, threadIdx.x, x = __match_any_sync(~0u, x) + a)
CHAIN(chain_redux, int, threadIdx.x, x = __reduce_add_sync(~0u, x) + a)
CHAIN(chain_nop, int, threadIdx.x, { x += a; __syncwarp(); })
CHAIN(chain_nanosleep, int, threadIdx.x, asm volatile("nanosleep.u32 0;"))
