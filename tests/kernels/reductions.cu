// Reductions, scans, sorts and counts: inside a warp in lock step, inside a block with barriers, over a grid with atomics.

// The last 32 threads need no barrier: they run in lock step, and volatile makes every step reach memory.
__device__ void sum_in_lock_step(volatile float *shared, int t)
{
    shared[t] += shared[t + 32];
    shared[t] += shared[t + 16];
    shared[t] += shared[t + 8];
    shared[t] += shared[t + 4];
    shared[t] += shared[t + 2];
    shared[t] += shared[t + 1];
}

extern "C" __global__ void volatile_sum(const float *in, float *out, int n)
{
    __shared__ float shared[256];
    int t = threadIdx.x;
    float own = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) own += in[i];
    shared[t] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 32; half /= 2) {
        if (t < half) shared[t] += shared[t + half];
        __syncthreads();
    }
    if (t < 32) sum_in_lock_step(shared, t);
    if (t == 0) out[blockIdx.x] = shared[0];
}

extern "C" __global__ void shuffled_sum(const int *in, unsigned long long *total, int n)
{
    __shared__ long long of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += in[i];
    for (int away = 16; away > 0; away /= 2) own += __shfl_down_sync(0xffffffff, own, away);
    if (lane == 0) of_warp[warp] = own;
    __syncthreads();
    if (warp == 0) {
        own = lane < blockDim.x / 32 ? of_warp[lane] : 0;
        for (int away = 16; away > 0; away /= 2) own += __shfl_xor_sync(0xffffffff, own, away);
        if (lane == 0) atomicAdd(total, (unsigned long long)own);
    }
}

// The last block to finish adds up what the others left (a counter, a fence, and atomicInc that wraps to zero).
__device__ unsigned blocks_done = 0;

extern "C" __global__ void last_block_sums(const float *in, float *partial, float *out, int n)
{
    __shared__ float shared[128];
    __shared__ bool last;
    int t = threadIdx.x;
    float own = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) own += in[i];
    shared[t] = own;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) shared[t] += shared[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = shared[0];
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += ((volatile float *)partial)[b];
        *out = sum;
    }
}

// Exclusive scan of one block, up and down a tree of pairs.
extern "C" __global__ void tree_scan(const int *in, int *out, int n)
{
    extern __shared__ int tree[];
    int t = threadIdx.x, offset = 1;
    tree[2 * t] = 2 * t < n ? in[2 * t] : 0;
    tree[2 * t + 1] = 2 * t + 1 < n ? in[2 * t + 1] : 0;
    int size = 2 * blockDim.x;
    for (int d = size / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) tree[size - 1] = 0;
    for (int d = 1; d < size; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            int kept = tree[left];
            tree[left] = tree[right];
            tree[right] += kept;
        }
    }
    __syncthreads();
    if (2 * t < n) out[2 * t] = tree[2 * t];
    if (2 * t + 1 < n) out[2 * t + 1] = tree[2 * t + 1];
}

// Inclusive scan of a warp by shuffles, in segments of `width` lanes.
extern "C" __global__ void shuffled_scan(const int *in, int *out, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % width;
    int value = in[i];
    for (int away = 1; away < width; away *= 2) {
        int below = __shfl_up_sync(~0u, value, away, width);
        if (lane >= away) value += below;
    }
    out[i] = value;
}

extern "C" __global__ void histogram(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[data[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}

// A histogram without hardware atomics: tag the count with the thread until one's own tag is read back.
extern "C" __global__ void tagged_histogram(const unsigned char *data, int n, unsigned *bins)
{
    __shared__ volatile unsigned own[64];
    unsigned tag = threadIdx.x << 27;
    own[threadIdx.x] = own[threadIdx.x + 32] = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        unsigned count;
        do {
            count = own[data[i]] & 0x07FFFFFF;
            count = tag | (count + 1);
            own[data[i]] = count;
        } while (own[data[i]] != count);
    }
    bins[threadIdx.x] = own[threadIdx.x] & 0x07FFFFFF;
    bins[threadIdx.x + 32] = own[threadIdx.x + 32] & 0x07FFFFFF;
}

extern "C" __global__ void bitonic_sort(unsigned *values, int n)
{
    extern __shared__ unsigned shared[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = values[i];
    __syncthreads();
    for (int size = 2; size <= n; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                int partner = i ^ stride;
                if (partner > i) {
                    bool ascending = (i & size) == 0;
                    unsigned a = shared[i], b = shared[partner];
                    if ((a > b) == ascending) { shared[i] = b; shared[partner] = a; }
                }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = shared[i];
}

// Keep the odd numbers: a warp counts its own by ballot, its first lane takes room for them all.
extern "C" __global__ void compact_odd(const int *in, int n, int *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool wanted = i < n && in[i] & 1;
    unsigned mask = __ballot_sync(~0u, wanted);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(mask));
    start = __shfl_sync(~0u, start, 0);
    if (wanted) out[start + __popc(mask & ((1u << lane) - 1))] = in[i];
}

// Count keys with one atomic for each key that a warp holds.
extern "C" __global__ void count_matching(const int *key, int n, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned same = __match_any_sync(__activemask(), key[i]);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&count[key[i]], __popc(same));
}
