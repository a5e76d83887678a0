// Every atomic function on every type, in global memory (space 0), in shared memory (1), and through generic pointers that
// lead to shared memory in odd lanes and to global memory in even ones (2). Thread t works on place t % 8.
#define PLACES 8
#define ATOMIC(name, T, call)                                                                                         \
    extern "C" __global__ void name(int space, T *target, const T *operand, const T *second, T *old)                 \
    {                                                                                                                \
        __shared__ T shared[PLACES];                                                                                 \
        int t = threadIdx.x, place = t % PLACES;                                                                     \
        if (t < PLACES) shared[t] = target[t];                                                                       \
        __syncthreads();                                                                                             \
        T x = operand[t], y = second[t];                                                                             \
        if (space == 0) { T *p = &target[place]; old[t] = call; }                                                    \
        else if (space == 1) { T *p = &shared[place]; old[t] = call; }                                               \
        else { T *p = t & 1 ? &shared[place] : &target[place]; asm volatile("" : "+l"(p)); old[t] = call; }          \
        __syncthreads();                                                                                             \
        if (t < PLACES && (space == 1 || (space == 2 && t & 1))) target[t] = shared[t];                              \
    }
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned short u16;

ATOMIC(add_s32, int, atomicAdd(p, x))
ATOMIC(add_u32, u32, atomicAdd(p, x))
ATOMIC(add_u64, u64, atomicAdd(p, x))
ATOMIC(add_f32, float, atomicAdd(p, x))
ATOMIC(add_f64, double, atomicAdd(p, x))
ATOMIC(sub_s32, int, atomicSub(p, x))
ATOMIC(sub_u32, u32, atomicSub(p, x))
ATOMIC(exch_s32, int, atomicExch(p, x))
ATOMIC(exch_u64, u64, atomicExch(p, x))
ATOMIC(exch_f32, float, atomicExch(p, x))
ATOMIC(min_s32, int, atomicMin(p, x))
ATOMIC(min_u32, u32, atomicMin(p, x))
ATOMIC(min_s64, s64, atomicMin(p, x))
ATOMIC(min_u64, u64, atomicMin(p, x))
ATOMIC(max_s32, int, atomicMax(p, x))
ATOMIC(max_u32, u32, atomicMax(p, x))
ATOMIC(max_s64, s64, atomicMax(p, x))
ATOMIC(max_u64, u64, atomicMax(p, x))
ATOMIC(inc_u32, u32, atomicInc(p, x))
ATOMIC(dec_u32, u32, atomicDec(p, x))
ATOMIC(and_u32, u32, atomicAnd(p, x))
ATOMIC(and_u64, u64, atomicAnd(p, x))
ATOMIC(or_u32, u32, atomicOr(p, x))
ATOMIC(or_u64, u64, atomicOr(p, x))
ATOMIC(xor_u32, u32, atomicXor(p, x))
ATOMIC(xor_u64, u64, atomicXor(p, x))
ATOMIC(cas_s32, int, atomicCAS(p, x, y))
ATOMIC(cas_u64, u64, atomicCAS(p, x, y))
ATOMIC(cas_u16, u16, atomicCAS(p, x, y))

// Nobody wants the old values: the compiler uses reductions.
extern "C" __global__ void reductions(int *a, u32 *b, u64 *c, float *d, double *e)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(a, t);
    atomicMax(a + 1, t);
    atomicMin(a + 2, -t);
    atomicAnd(b, ~(1u << t % 32));
    atomicOr(b + 1, 1u << t % 31);
    atomicXor(b + 2, t);
    atomicInc(b + 3, 100);
    atomicAdd(c, 1ull << 33);
    atomicAdd(d, 0.5f);
    atomicAdd(e, 0.25);
}

// The double-precision sum that older programs build from compare-and-swap.
__device__ double add_by_swapping(double *address, double value)
{
    u64 *place = (u64 *)address, old = *place, assumed;
    do {
        assumed = old;
        old = atomicCAS(place, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

extern "C" __global__ void sums_by_swapping(const double *values, double *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) add_by_swapping(&sums[i % 5], values[i]);
}

// Scoped and system-wide atomics.
extern "C" __global__ void scopes(int *a)
{
    atomicAdd_block(a, 1);
    atomicAdd_system(a + 1, 2);
    atomicMax_block(a + 2, (int)threadIdx.x);
    atomicCAS_system(a + 3, 0, 5);
}

// Float sums whose value depends on their order, and a queue whose contents do.
extern "C" __global__ void order_matters(const float *values, int n, float *sum, int *queue, int *length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, values[i]);
    if (values[i] > 0.5f) queue[atomicAdd(length, 1)] = i;
}
