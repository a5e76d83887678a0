// Histograms of bytes with 64 and with 256 bins, each in two kernels: partial histograms of the CTAs, then their sum.

typedef unsigned int uint;
typedef unsigned char uchar;

// 64 bins: every thread counts in bytes of its own -----------------------------------------------------------------------

const int BINS64 = 64;
const int THREADS64 = 64;

// A byte's upper six bits are its bin. Counters of one bin lie side by side, one byte a thread.
__device__ void count64(uchar *counters, uint word)
{
    counters[((word >> 2) & 63) * THREADS64]++;
    counters[((word >> 10) & 63) * THREADS64]++;
    counters[((word >> 18) & 63) * THREADS64]++;
    counters[((word >> 26) & 63) * THREADS64]++;
}

// A thread must not count more than 255 bytes: at most 15 vectors of 16 bytes.
extern "C" __global__ void histogram64Kernel(uint *partial, const uint4 *data, uint vectors)
{
    __shared__ uchar counters[THREADS64 * BINS64];
    uint *words = (uint *)counters;

    // Neighbouring threads take bytes of different words, so that sixteen of them fall into sixteen banks.
    const uint lane = ((threadIdx.x & 15) << 2) | ((threadIdx.x & 48) >> 4);
    uchar *own = counters + lane;

#pragma unroll
    for (int i = 0; i < BINS64 / 4; i++)
        words[threadIdx.x + i * THREADS64] = 0;
    __syncthreads();

#pragma unroll 1
    for (uint at = blockIdx.x * blockDim.x + threadIdx.x; at < vectors; at += blockDim.x * gridDim.x) {
        const uint4 vector = data[at];
        count64(own, vector.x);
        count64(own, vector.y);
        count64(own, vector.z);
        count64(own, vector.w);
    }
    __syncthreads();

    // One bin a thread; threads start at different places of their rows to stay out of each other's banks.
    const uchar *row = counters + threadIdx.x * THREADS64;
    uint sum = 0;
    uint at = 4 * (threadIdx.x & 15);
#pragma unroll
    for (int i = 0; i < THREADS64 / 4; i++) {
        sum += row[at] + row[at + 1] + row[at + 2] + row[at + 3];
        at = (at + 4) & (THREADS64 - 1);
    }
    partial[blockIdx.x * BINS64 + threadIdx.x] = sum;
}

// 256 bins: every warp counts in shared memory, conflicts settled by tags ------------------------------------------------

const int BINS256 = 256;
const int WARPS256 = 6;
const int THREADS256 = WARPS256 * 32;
const uint TAG_SHIFT = 27;  // a counter's upper five bits name the lane that wrote it last
const uint COUNT_MASK = (1u << TAG_SHIFT) - 1;

// Of the lanes that write one counter, the one whose tag is read back has counted; the others try again. Lanes read, write and
// look together. Up to Pascal they did so by themselves; since Volta it has to be said, and to whom.
__device__ void count256(volatile uint *counters, uint bin, uint tag, uint lanes)
{
    bool lost;
    do {
        const uint count = tag | ((counters[bin] & COUNT_MASK) + 1);
        __syncwarp(lanes);
        counters[bin] = count;
        __syncwarp(lanes);
        lost = counters[bin] != count;
        lanes = __ballot_sync(lanes, lost);
    } while (lost);
}

__device__ void countWord256(volatile uint *counters, uint word, uint tag, uint lanes)
{
    count256(counters, word & 0xFF, tag, lanes);
    __syncwarp(lanes);
    count256(counters, (word >> 8) & 0xFF, tag, lanes);
    __syncwarp(lanes);
    count256(counters, (word >> 16) & 0xFF, tag, lanes);
    __syncwarp(lanes);
    count256(counters, word >> 24, tag, lanes);
    __syncwarp(lanes);
}

extern "C" __global__ void histogram256Kernel(uint *partial, const uint *data, uint words)
{
    __shared__ uint counters[WARPS256 * BINS256];
    uint *own = counters + (threadIdx.x >> 5) * BINS256;

#pragma unroll
    for (int i = 0; i < WARPS256 * BINS256 / THREADS256; i++)
        counters[threadIdx.x + i * THREADS256] = 0;
    __syncthreads();

    const uint tag = threadIdx.x << TAG_SHIFT;
    const uint lane = threadIdx.x & 31;
    uint first = blockIdx.x * blockDim.x + threadIdx.x - lane;  // the same for all of a warp, so that they stay together
#pragma unroll 1
    for (; first < words; first += blockDim.x * gridDim.x) {
        const uint lanes = __ballot_sync(0xFFFFFFFF, first + lane < words);
        if (first + lane < words)
            countWord256(own, data[first + lane], tag, lanes);
    }
    __syncthreads();

    for (uint bin = threadIdx.x; bin < BINS256; bin += THREADS256) {
        uint sum = 0;
        for (int warp = 0; warp < WARPS256; warp++)
            sum += counters[warp * BINS256 + bin] & COUNT_MASK;
        partial[blockIdx.x * BINS256 + bin] = sum;
    }
}

// The sum of partial histograms: one bin a CTA ------------------------------------------------------------------------------

template <int BINS, int THREADS> __device__ void merge(uint *histogram, const uint *partial, uint histograms)
{
    __shared__ uint sums[THREADS];

    uint sum = 0;
#pragma unroll 1
    for (uint i = threadIdx.x; i < histograms; i += THREADS)
        sum += partial[blockIdx.x + i * BINS];
    sums[threadIdx.x] = sum;

    for (uint stride = THREADS / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        if (threadIdx.x < stride)
            sums[threadIdx.x] += sums[threadIdx.x + stride];
    }
    if (threadIdx.x == 0)
        histogram[blockIdx.x] = sums[0];
}

template <int THREADS> __global__ void mergeHistogram64Kernel(uint *histogram, const uint *partial, uint histograms)
{
    merge<BINS64, THREADS>(histogram, partial, histograms);
}

template <int THREADS> __global__ void mergeHistogram256Kernel(uint *histogram, const uint *partial, uint histograms)
{
    merge<BINS256, THREADS>(histogram, partial, histograms);
}
