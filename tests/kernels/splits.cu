// Control flow that needs independent threads, or that puts them to the test. Expected results are in tests/execute/test_splits.py.
#include <cstdio>
#include <cassert>
#include <cstdlib>

extern "C" __global__ void spin_lock(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1)) {}  // Fig 3.5, line B
    int before = *(volatile int *)count;
    *(volatile int *)count = before + 1;
    __threadfence();
    atomicExch(lock, 0);  // line C
}

// Fig 3.7: an if within an if; each has a convergence barrier of its own (Fig 3.8).
extern "C" __global__ void nested(const int *data, int *out) {
    int t = threadIdx.x, x = 0;
    if (data[t] != 0) {
        x = 1;
        if (data[t] > 1) x += 10 * data[(t + 1) % 32] + atomicAdd(out + 32, 1) * 0;
        else x += 20 * data[(t + 2) % 32] + atomicAdd(out + 33, 1) * 0;
        x += 100 * __popc(__activemask());  // where the inner one has met
    } else {
        x = 3 + atomicAdd(out + 34, 1) * 0;
    }
    __syncwarp();
    out[t] = x + 10000 * __popc(__activemask());
}

// Fig 3.10: both sides go on in turn, each waiting for the other's last step.
extern "C" __global__ void ping_pong(int *out, int rounds) {
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    int steps = 0;
    if (threadIdx.x < 16) {
        for (int k = 0; k < rounds; k++) {
            while (turn != 2 * k) {}
            __syncwarp(0xFFFF);
            if (threadIdx.x == 0) turn = 2 * k + 1;
            steps++;
        }
    } else {
        for (int k = 0; k < rounds; k++) {
            while (turn != 2 * k + 1) {}
            __syncwarp(0xFFFF0000);
            if (threadIdx.x == 16) turn = 2 * k + 2;
            steps += 100;
        }
    }
    __syncwarp();
    out[threadIdx.x] = steps + turn * 100000;
}

// The consumer comes first or last: neither may starve the other.
extern "C" __global__ void hand_over(int *out, int consumer) {
    __shared__ volatile int flag, value;
    if (threadIdx.x == 0) flag = value = 0;
    __syncthreads();
    if (threadIdx.x == consumer) {
        while (!flag) {}
        out[0] = value;
    } else if (threadIdx.x == 31 - consumer) {
        value = 42;
        __threadfence_block();
        flag = 1;
    }
}

extern "C" __global__ void some_end(const int *data, int *out) {
    int t = threadIdx.x, x = data[t];
    if (x & 1) {
        out[t] = -1;
        if (x & 2) return;  // inside the region
        x *= 10;
    } else {
        x += atomicAdd(out + 64, 1) * 0 + 5;
    }
    __syncwarp(__activemask());
    out[t] = x;
    out[32 + t] = __popc(__activemask());
}

extern "C" __global__ void breaks(const int *data, int *out) {
    int t = threadIdx.x, sum = 0, met;
    for (int i = 0; i < 100; i++) {
        sum += data[i];
        if (sum > 10 * t) break;
        if (data[i] == 7) { sum += t; continue; }
        sum ^= i;
    }
    met = __popc(__ballot_sync(0xFFFFFFFF, true));
    out[t] = sum * 64 + met;
}

__device__ __noinline__ int find(const int *data, int wanted) {
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
            if (data[10 * i + j] == wanted) return 100 * i + j;
            if (data[10 * i + j] > 95) break;
        }
    return -1;
}

extern "C" __global__ void returns(const int *data, int *out) {
    int found = find(data, 3 * threadIdx.x);
    out[threadIdx.x] = found * 64 + __popc(__ballot_sync(0xFFFFFFFF, true));
}

extern "C" __global__ void cases(const int *which, int *out) {
    int t = threadIdx.x, x = t;
    switch (which[t]) {
    case 0: x = __popc(x); break;
    case 1: x = x * x + 1; break;
    case 2: x = __clz(x); break;
    case 3: x = atomicAdd(out + 33, x); x = 3; break;
    case 4: x = x / 3; break;
    case 5: x = __brev(x); break;
    case 6: x = x % 5; [[fallthrough]];
    case 7: x += 1000; break;
    case 8: x = -x; break;
    case 9: x = __ffs(x); break;
    default: x = 0x7777;
    }
    unsigned met = __activemask();
    out[t] = x;
    if (t == 0) out[32] = __popc(met);
}

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fib(threadIdx.x % 12); }

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int deep(int x) { return x < 2 ? 1 : x * deep(x - 1); }
typedef int (*Function)(int);
__device__ Function table[] = {twice, square, deep};
extern "C" __global__ void pointers(int *out) {
    int t = threadIdx.x, x = 0;
    if (t % 4 != 3) x = table[t % 3](t % 10);  // in a region that must be remembered across the call
    else x = -1;
    out[t] = x * 64 + __popc(__ballot_sync(0xFFFFFFFF, true));
}

extern "C" __global__ void warp_reduction(const int *data, int *out) {
    __shared__ int part[64];
    int t = threadIdx.x, lane = t & 31, x = data[t];
    volatile int *mine = part + (t & 32);
    mine[lane] = x;
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        if (lane < d) { int y = mine[lane + d]; mine[lane] += y; }
        __syncwarp();
    }
    out[t] = mine[0];
}

extern "C" __global__ void shuffles_from_two_sides(const int *data, int *out) {
    int t = threadIdx.x, x = data[t], y;
    if (x & 1) {
        x *= 3;
        y = __shfl_sync(0xFFFFFFFF, x, (t + 1) & 31);
        y += 1000;
    } else {
        x += 500;
        y = __shfl_sync(0xFFFFFFFF, x, (t + 1) & 31);
        y -= 1000;
    }
    int z = __shfl_xor_sync(0xFFFFFFFF, y, 16);
    out[t] = y;
    out[32 + t] = z;
}

extern "C" __global__ void shuffles_within_a_side(const int *data, int *out) {
    int t = threadIdx.x, x = data[t];
    if (t < 12) {
        for (int d = 1; d < 12; d++) x = max(x, __shfl_sync(0xFFF, data[t], (t + d) % 12));
    } else {
        x = __popc(__ballot_sync(0xFFFFF000, data[t] & 1));
    }
    out[t] = x;
}

extern "C" __global__ void barrier_of_splits(int *out) {
    __shared__ int first[64];
    int t = threadIdx.x;
    if (t & 1) {
        first[t] = 3 * t + atomicAdd(out + 64, 1) * 0;
        __syncthreads();
        out[t] = first[t ^ 1];
    } else {
        first[t] = 5 * t + atomicAdd(out + 65, 1) * 0;
        __syncthreads();
        out[t] = first[t ^ 1] + 1000;
    }
}

extern "C" __global__ void partial(const int *data, int *out) {
    __shared__ int all[64];
    int t = threadIdx.x;
    all[t] = data[t];
    __syncthreads();
    int x = all[blockDim.x - 1 - t];
    if (t % 3 == 0) x += __popc(__activemask()) * 0 + 7;
    __syncwarp(t < 32 ? 0xFFFFFFFF : (1u << (blockDim.x - 32)) - 1);
    out[t] = x * 64 + __popc(__activemask());
}

extern "C" __global__ void counting_barriers(const int *data, int *out) {
    int t = threadIdx.x, x = data[t];
    int odd = __syncthreads_count(x & 1), all = __syncthreads_and(x < 1000), some = __syncthreads_or(x == 999);
    out[t] = odd * 4 + (all != 0) * 2 + (some != 0);
}

extern "C" __global__ void prints(int n) {
    if (threadIdx.x % 16 == 3) printf("thread %d of %d: %s %.2f\n", threadIdx.x, n, "half", threadIdx.x / 2.0);
}

extern "C" __global__ void asserts(int limit) { assert(threadIdx.x < limit); }

extern "C" __global__ void heap(int *out) {
    int t = threadIdx.x, *mine = (int *)malloc(4 * (t + 1));
    if (!mine) { out[t] = -1; return; }
    for (int k = 0; k <= t; k++) mine[k] = k * k;
    int sum = 0;
    for (int k = 0; k <= t; k++) sum += mine[k];
    free(mine);
    out[t] = sum;
}

extern "C" __global__ void shared_atomics(float *single, double *whole, int *counts) {
    __shared__ float f[2];
    __shared__ double d;
    __shared__ int n;
    if (threadIdx.x == 0) { f[0] = f[1] = 0; d = 0; n = 0; }
    __syncthreads();
    atomicAdd(f + (threadIdx.x & 1), threadIdx.x * 0.5f);
    atomicAdd(&d, threadIdx.x * 0.25);
    atomicMax(&n, (int)(threadIdx.x * 37 % 64));
    __syncthreads();
    if (threadIdx.x == 0) { single[0] = f[0]; single[1] = f[1]; whole[0] = d; counts[0] = n; }
}
