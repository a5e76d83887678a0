// Kernels that never end, and some that only look like it.
#define EXTERN extern "C" __global__

EXTERN void barrier_for_some(int *out)
{
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 0;");  // first barrier
    } else {
        asm volatile("bar.sync 1;");  // second barrier
    }
    out[threadIdx.x] = 1;
}

EXTERN void not_enough_arrive(int *out)
{
    if (threadIdx.x < 32) asm volatile("bar.sync 3, 96;");  // waits for three warps
    out[threadIdx.x] = 1;
}

// All lanes of a warp want one lock: the one that gets it waits for the others at the end of the loop, and they for it.
EXTERN void simt_deadlock(int *lock, int *count)
{
    while (atomicCAS(lock, 0, 1) != 0) {}  // spins
    *count += 1;  // holds the lock
    __threadfence();
    atomicExch(lock, 0);
}

// Written to release the lock inside the loop. With a branch in there, the compiler moves it all behind the loop, as it may
// for machines whose threads have program counters of their own.
EXTERN void moved_out_of_the_loop(int *lock, volatile int *count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            if (*count < 1000) *count = *count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

EXTERN void nobody_sets_it(volatile int *flag, int *out)
{
    while (*flag == 0) {}  // waits for the flag
    out[threadIdx.x] = 1;
}

EXTERN void only_one_warp_waits(volatile int *flag, int *out)
{
    if (threadIdx.x == 40)
        while (*flag == 0) {}  // one thread waits
    __syncthreads();  // everybody else waits
    out[threadIdx.x] = 1;
}

EXTERN void endless_loop(int *out)
{
    int x = threadIdx.x;
    while (x < 64) x ^= 1;  // never ends
    *out = x;
}

EXTERN void waits_in_a_circle(volatile int *flags)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        while (flags[(b + 1) % gridDim.x] == 0) {}  // waits for its neighbour
        flags[b] = 1;
    }
}

// No stores for millions of instructions.
EXTERN void long_computation(unsigned *out, unsigned steps)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
    for (unsigned k = 0; k < steps; k++) {
        x = x * 1664525u + 1013904223u;
        found += x >> 31;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = found ^ x;
}

// The same where blocks communicate, so that they run one by one.
EXTERN void long_computation_and_atomic(unsigned *total, unsigned steps)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < steps; k++) x = x * 1664525u + 1013904223u;
    atomicXor(total, x);
}

// Blocks wait long for block 0, which computes before it sets the flag; they count their turns, so no state comes back.
EXTERN void waits_for_a_long_computation(volatile unsigned *flag, unsigned *out, unsigned steps)
{
    if (blockIdx.x == gridDim.x - 1) {
        unsigned x = threadIdx.x;
        for (unsigned k = 0; k < steps; k++) x = x * 1664525u + 1013904223u;
        out[threadIdx.x] = x;
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else if (threadIdx.x == 0) {
        unsigned turns = 0;
        while (*flag == 0) turns++;
        out[64 + blockIdx.x] = turns > 0 || blockIdx.x == 0;
    } else {
        while (*flag == 0) {}
    }
}

// A token goes from warp to warp of one block many times.
EXTERN void ping_pong(int rounds, int *out)
{
    __shared__ volatile int turn;
    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        while (turn % warps != warp) {}
        if (threadIdx.x % 32 == 0) turn = turn + 1;
    }
    __syncthreads();
    out[threadIdx.x] = turn;
}
