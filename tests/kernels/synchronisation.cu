// Threads that wait for each other: locks, barriers of our own making, queues, shortest paths.

// A lock for each element, taken in the form that works where a warp has one program counter: whoever gets the lock lets
// go of it before the next round.
extern "C" __global__ void lock_each(const int *element, int n, int *locks, int *sum, int *largest)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int e = element[i];
    bool done = false;
    while (!done) {
        if (atomicCAS(&locks[e], 0, 1) == 0) {
            __threadfence();
            ((volatile int *)sum)[e] = ((volatile int *)sum)[e] + i;
            ((volatile int *)largest)[e] = max(((volatile int *)largest)[e], i);
            __threadfence();
            atomicExch(&locks[e], 0);
            done = true;
        }
    }
}

// All blocks are resident, so they can wait for each other: one arrival each, then spin until all have come.
__device__ void wait_for_all_blocks(unsigned *arrived, unsigned goal)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < goal) {}
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void phases(int n, int count, int *a, int *b, unsigned *arrived)
{
    int stride = gridDim.x * blockDim.x;
    volatile int *from = a, *to = b;
    for (int phase = 0; phase < count; phase++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
            to[i] = from[i] + from[(i + n / 2 + 1) % n];
        wait_for_all_blocks(arrived, (phase + 1) * gridDim.x);
        volatile int *other = from;
        from = to;
        to = other;
    }
}

// Blocks pass a token on in the opposite order of their numbers, so that each waits for one that starts later.
extern "C" __global__ void backward_chain(volatile int *flags, int *order, int *next)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        while (b + 1 < gridDim.x && flags[b + 1] == 0) {}
        order[atomicAdd(next, 1)] = b;
        __threadfence();
        flags[b] = 1;
    }
}

extern "C" __global__ void shortest_paths(int nodes, const int *start, const int *to, const int *weight, int *distance, int *changed)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes) return;
    int here = distance[node];
    if (here == 0x7fffffff) return;
    for (int e = start[node]; e < start[node + 1]; e++) {
        int through = here + weight[e];
        if (through < atomicMin(&distance[to[e]], through)) *changed = 1;
    }
}

extern "C" __global__ void breadth_first(const int *start, const int *to, const int *frontier, int length, int depth,
                                         int *level, int *next, int *next_length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    int node = frontier[i];
    for (int e = start[node]; e < start[node + 1]; e++)
        if (atomicCAS(&level[to[e]], -1, depth) == -1) next[atomicAdd(next_length, 1)] = to[e];
}

extern "C" __global__ void block_votes(const int *in, int *count, int *all, int *any)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int c = __syncthreads_count(in[i] > 5);
    int a = __syncthreads_and(in[i] > 5);
    int o = __syncthreads_or(in[i] > 5);
    count[i] = c;
    all[i] = a != 0;
    any[i] = o != 0;
}

__device__ void sync_named(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ void arrive_named(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// Warp 0 fills a buffer, warps 1 and 2 empty it; two named barriers say "full" and "empty".
extern "C" __global__ void producer_and_consumers(const int *in, int *out, int rounds)
{
    __shared__ int buffer[32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int r = 0; r < rounds; r++) {
        if (warp == 0) {
            if (r > 0) sync_named(2, 96);
            buffer[lane] = in[r * 32 + lane];
            arrive_named(1, 96);
        } else {
            sync_named(1, 96);
            int value = buffer[(lane + 1) % 32];
            out[(r * 2 + warp - 1) * 32 + lane] = value * warp;
            if (r + 1 < rounds) arrive_named(2, 96);
        }
    }
}

// Warps that are done no longer count for the barrier.
extern "C" __global__ void shrinking_block(int *out)
{
    __shared__ int shared[256];
    int t = threadIdx.x;
    shared[t] = t;
    for (int left = blockDim.x; left > 32; left -= 32) {
        __syncthreads();
        int value = shared[(t + 32) % left];
        __syncthreads();
        shared[t] = value + 1;
        if (t >= left - 32) { out[t] = shared[t]; return; }
    }
    out[t] = shared[t];
}
