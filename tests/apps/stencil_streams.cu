// Heat in a rod, several steps at once in shared memory, the rod cut into pieces that each have a stream of their own.
// There for: streams of every kind, cudaMemcpyAsync and cudaMemsetAsync with pinned memory, cudaStreamWaitEvent,
// cudaLaunchHostFunc, cudaStreamAddCallback, queries of streams and events.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CALL(x) { cudaError_t e = (x); if (e != cudaSuccess) {                                                   \
    fprintf(stderr, "CUDA error at %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(EXIT_FAILURE); }}

const int PIECES = 4, STEPS = 4, THREADS = 128;

__host__ __device__ int smooth(int left, int middle, int right) { return (left + 2 * middle + right + 2) / 4; }

// Each block takes STEPS steps over its cells and as many more on either side, of which it loses one each step.
__global__ void heat(const int *in, int *out, int first, int last, int n)
{
    __shared__ int cells[2][THREADS];
    int i = first + blockIdx.x * (THREADS - 2 * STEPS) + threadIdx.x - STEPS, at = threadIdx.x;
    cells[0][at] = i >= 0 && i < n ? in[i] : 0;
    for (int step = 0; step < STEPS; step++) {
        const int *now = cells[step % 2];
        __syncthreads();
        if (at > step && at < THREADS - 1 - step)
            cells[1 - step % 2][at] = smooth(i > 0 ? now[at - 1] : now[at], now[at], i < n - 1 ? now[at + 1] : now[at]);
    }
    if (at >= STEPS && at < THREADS - STEPS && i < last)
        out[i] = cells[STEPS % 2][at];
}

__global__ void checksum(const int *cells, int n, unsigned int *sum)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(sum, (unsigned int)cells[i] * (i % 7 + 1));
}

static std::atomic<int> pieces_done(0), callbacks(0);

static void CUDART_CB piece_done(void *count) { *(std::atomic<int> *)count += 1; }
static void CUDART_CB all_done(cudaStream_t, cudaError_t status, void *count)
{
    *(std::atomic<int> *)count += status == cudaSuccess && pieces_done == PIECES ? 1 : 100;
}

int main(int argc, char **argv)
{
    int n = std::max(argc > 1 ? atoi(argv[1]) : 8000, PIECES * STEPS), *in, *out, *d_in, *d_out, least, greatest;
    unsigned int *sum, *d_sum;
    size_t bytes = n * sizeof(int);
    CUDA_CALL(cudaMallocHost(&in, bytes));
    CUDA_CALL(cudaHostAlloc(&out, bytes, cudaHostAllocDefault));
    CUDA_CALL(cudaMallocHost((void **)&sum, sizeof *sum));
    CUDA_CALL(cudaMalloc(&d_in, bytes));
    CUDA_CALL(cudaMalloc(&d_out, bytes));
    CUDA_CALL(cudaMalloc(&d_sum, sizeof *sum));
    for (int i = 0; i < n; i++)
        in[i] = i % 500 < 40 ? 1000000 : i * 37 % 1000;

    cudaStream_t streams[PIECES], collector;
    cudaEvent_t copied[PIECES], done[PIECES], start, stop;
    CUDA_CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_CALL(cudaStreamCreateWithPriority(&collector, cudaStreamNonBlocking, greatest));
    for (int p = 0; p < PIECES; p++) {
        CUDA_CALL(p ? cudaStreamCreateWithFlags(&streams[p], cudaStreamNonBlocking) : cudaStreamCreate(&streams[p]));
        CUDA_CALL(cudaEventCreateWithFlags(&copied[p], cudaEventDisableTiming));
        CUDA_CALL(cudaEventCreateWithFlags(&done[p], cudaEventDisableTiming | cudaEventBlockingSync));
    }
    CUDA_CALL(cudaEventCreate(&start));
    CUDA_CALL(cudaEventCreate(&stop));
    CUDA_CALL(cudaEventRecord(start, collector));
    CUDA_CALL(cudaMemsetAsync(d_sum, 1, sizeof *sum, collector));
    auto begin = [n](int p) { return (int)((long long)n * p / PIECES); };
    for (int p = 0; p < PIECES; p++) {
        size_t part = (begin(p + 1) - begin(p)) * sizeof(int);
        CUDA_CALL(cudaMemcpyAsync(d_in + begin(p), in + begin(p), part, cudaMemcpyHostToDevice, streams[p]));
        CUDA_CALL(cudaEventRecord(copied[p], streams[p]));
    }
    for (int p = 0; p < PIECES; p++) {
        int cells = begin(p + 1) - begin(p), blocks = cells / (THREADS - 2 * STEPS) + 1;
        for (int q = p - 1; q <= p + 1; q++)  // a piece looks over the edges of its neighbours
            if (q >= 0 && q < PIECES && q != p)
                CUDA_CALL(cudaStreamWaitEvent(streams[p], copied[q], 0));
        heat<<<blocks, THREADS, 0, streams[p]>>>(d_in, d_out, begin(p), begin(p + 1), n);
        CUDA_CALL(cudaGetLastError());
        CUDA_CALL(cudaMemcpyAsync(out + begin(p), d_out + begin(p), cells * sizeof(int), cudaMemcpyDefault, streams[p]));
        CUDA_CALL(cudaLaunchHostFunc(streams[p], piece_done, &pieces_done));
        CUDA_CALL(cudaEventRecord(done[p], streams[p]));
        CUDA_CALL(cudaStreamWaitEvent(collector, done[p], 0));
    }
    checksum<<<1, 256, 0, collector>>>(d_out, n, d_sum);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaMemcpyAsync(sum, d_sum, sizeof *sum, cudaMemcpyDeviceToHost, collector));
    CUDA_CALL(cudaStreamAddCallback(collector, all_done, &callbacks, 0));
    CUDA_CALL(cudaEventRecord(stop, collector));

    while (cudaStreamQuery(collector) == cudaErrorNotReady)
        cudaGetLastError();  // "not ready" may stay behind as an error: forget it
    float milliseconds = -1;
    CUDA_CALL(cudaEventSynchronize(stop));
    CUDA_CALL(cudaEventQuery(stop));
    CUDA_CALL(cudaEventElapsedTime(&milliseconds, start, stop));
    CUDA_CALL(cudaStreamSynchronize(streams[0]));

    std::vector<int> now(in, in + n), next(n);
    for (int step = 0; step < STEPS; step++, now.swap(next))
        for (int i = 0; i < n; i++)
            next[i] = smooth(now[i > 0 ? i - 1 : i], now[i], now[i < n - 1 ? i + 1 : i]);
    unsigned int expected = 0x01010101;  // where the sum starts: every byte is one
    for (int i = 0; i < n; i++)
        expected += (unsigned int)now[i] * (i % 7 + 1);
    bool right = std::equal(now.begin(), now.end(), out) && *sum == expected && milliseconds >= 0 && greatest <= least &&
                 pieces_done == PIECES && callbacks == 1;
    printf("%d cells, first %d, middle %d, checksum %u\n", n, out[0], out[n / 2], *sum);

    for (cudaStream_t stream : {streams[0], streams[1], streams[2], streams[3], collector})
        CUDA_CALL(cudaStreamDestroy(stream));
    for (cudaEvent_t event : {copied[0], copied[1], copied[2], copied[3], done[0], done[1], done[2], done[3], start, stop})
        CUDA_CALL(cudaEventDestroy(event));
    for (void *pinned : {(void *)in, (void *)out, (void *)sum})
        CUDA_CALL(cudaFreeHost(pinned));
    for (void *device : {(void *)d_in, (void *)d_out, (void *)d_sum})
        CUDA_CALL(cudaFree(device));
    puts(right ? "PASSED" : "FAILED: a cell, the checksum, the callbacks or a time is wrong");
    return right ? 0 : 1;
}
