// Warps whose lanes go different ways, and how often they meet again. The ways are long enough that ptxas does not predicate them.

#include "chain.cuh"

#define WAY_ONE(X)                                                                                                            \
    asm volatile("xor.b32 %0, %0, 5; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 9; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 17;"    \
                 "mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 33; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 65;" : "+r"(X))
#define WAY_TWO(X)                                                                                                            \
    asm volatile("xor.b32 %0, %0, 3; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 6; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 12;"    \
                 "mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 24; mul.lo.s32 %0, %0, %0; xor.b32 %0, %0, 48;" : "+r"(X))

__device__ __noinline__ int way(int x) {
    WAY_ONE(x);
    return x;
}

__device__ __noinline__ int other_way(int x) {
    WAY_TWO(x);
    return x;
}

#define LANE ((int)threadIdx.x & 31)

// All lanes have the same x.
CHAIN(branch_uniform, int, 0, if (x & 2) { WAY_ONE(x); } else { WAY_TWO(x); })
CHAIN(some_lanes, int, 0, if ((k ^ LANE) & a) { WAY_ONE(x); })
CHAIN(two_ways, int, 0, if ((k ^ LANE) & a) { WAY_ONE(x); } else { WAY_TWO(x); })
CHAIN(two_calls, int, 0, if ((k ^ LANE) & a) { x = way(x); } else { x = other_way(x); })
CHAIN(loop_by_lane, int, 0, _Pragma("unroll 1") for (int n = (k ^ LANE) & a; n > 0; n--) { WAY_ONE(x); })
CHAIN(leave_by_lane, int, 0, _Pragma("unroll 1") for (int n = 0; n < 8; n++) { WAY_ONE(x); if (((n ^ LANE) & a) == a) break; WAY_TWO(x); })
CHAIN(calls, int, 0, x = way(x))

// Divergent lanes meet at a __syncwarp each: ptxas has WARPSYNC.COLLECTIVE for them, behind the loop.
#define SHORT(X, Y) asm volatile("xor.b32 %0, %0, %1; mul.lo.s32 %0, %0, %0;" : "+r"(X) : "n"(Y))
CHAIN(syncwarp_of_halves, int, 0, if ((LANE ^ k) & a) { SHORT(x, 5); __syncwarp(); SHORT(x, 9); } else { SHORT(x, 3); __syncwarp(); SHORT(x, 6); })
CHAIN(ballot_of_halves, int, 0, if ((LANE ^ k) & a) { SHORT(x, 5); x ^= __ballot_sync(~0u, x & 1); } else { SHORT(x, 3); x += __ballot_sync(~0u, x & 1); })

// `a` different values, whose lanes come by turns; b is 0.
CHAIN(match_any, int, LANE % a, asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(sum) : "r"(x)); x ^= sum & b)
