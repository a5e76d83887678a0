// Prefix sums by one kernel whose blocks wait for each other twice.
// There for: cudaLaunchCooperativeKernel and grid.sync(), tiles of a warp, cudaMallocAsync and cudaFreeAsync,
// cudaMemGetInfo, cudaOccupancyMaxActiveBlocksPerMultiprocessor, the error for a grid that is not resident at once.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define CUDA_CHECK(expression)                                                                       \
    do {                                                                                             \
        const cudaError_t status = expression;                                                       \
        if (status != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));          \
            exit(EXIT_FAILURE);                                                                      \
        }                                                                                            \
    } while (false)

const int THREADS = 128;

// Each block scans a piece of its own by strips; block 0 scans the blocks' sums; each adds the sum of those before it.
__global__ void scan(const int *in, int *out, int *sums, int n)
{
    __shared__ int warp_sums[THREADS / 32];
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int piece = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * piece, last = min(first + piece, n), carry = 0;

    for (int strip = first; strip < last; strip += THREADS) {
        int i = strip + block.thread_rank(), x = i < last ? in[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int left = warp.shfl_up(x, step);
            x += warp.thread_rank() >= step ? left : 0;
        }
        if (warp.thread_rank() == 31)
            warp_sums[warp.meta_group_rank()] = x;
        block.sync();
        int total = 0;
        for (int w = 0; w < THREADS / 32; w++) {
            x += w < warp.meta_group_rank() ? warp_sums[w] : 0;
            total += warp_sums[w];
        }
        if (i < last)
            out[i] = carry + x;
        carry += total;
        block.sync();
    }
    if (block.thread_rank() == 0)
        sums[blockIdx.x] = carry;
    grid.sync();

    if (grid.thread_rank() == 0)
        for (int b = 0, before = 0; b < gridDim.x; b++) {
            int sum = sums[b];
            sums[b] = before;
            before += sum;
        }
    grid.sync();

    for (int i = first + threadIdx.x; i < last; i += THREADS)
        out[i] += sums[blockIdx.x];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 20000, cooperative = 0, pools = 0, multiprocessors = 0, resident = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
    CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, scan, THREADS, 0));
    size_t available = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&available, &total));
    if (!cooperative || !pools || multiprocessors < 1 || resident < 1 || total == 0 || available > total)
        return puts("FAILED: the device cannot do this"), 1;

    std::vector<int> data(n), result(n), expected(n);
    unsigned int seed = 99u;
    for (int i = 0, sum = 0; i < n; i++) {
        seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
        data[i] = (int)(seed % 2001) - 900;
        expected[i] = sum += data[i];
    }

    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int blocks = std::min(8, multiprocessors * resident);
    for (; blocks > 0; blocks = blocks > 1 ? 1 : 0) {  // once with several blocks, once with one
        int *in, *out, *sums;
        CUDA_CHECK(cudaMallocAsync(&in, n * sizeof(int), stream));
        CUDA_CHECK(cudaMallocAsync(&out, n * sizeof(int), stream));
        CUDA_CHECK(cudaMallocAsync((void **)&sums, blocks * sizeof(int), stream));
        CUDA_CHECK(cudaMemcpyAsync(in, data.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
        void *arguments[] = {&in, &out, &sums, &n};
        CUDA_CHECK(cudaLaunchCooperativeKernel((const void *)scan, dim3(blocks), dim3(THREADS), arguments, 0, stream));
        CUDA_CHECK(cudaMemcpyAsync(result.data(), out, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
        for (int *array : {in, out, sums})
            CUDA_CHECK(cudaFreeAsync(array, stream));
        CUDA_CHECK(cudaStreamSynchronize(stream));
        if (result != expected)
            return puts("FAILED: a prefix sum is wrong"), 1;

        // Blocks that wait for each other must all be there: one too many is refused, and nothing runs.
        dim3 too_many(multiprocessors * resident + 1);
        cudaError_t refused = cudaLaunchCooperativeKernel(scan, too_many, dim3(THREADS), arguments, 0, stream);
        if (refused != cudaErrorCooperativeLaunchTooLarge || cudaGetLastError() != refused)
            return puts("FAILED: a grid too large was not refused"), 1;
    }
    CUDA_CHECK(cudaStreamDestroy(stream));
    CUDA_CHECK(cudaDeviceSynchronize());

    unsigned int checksum = 0;
    for (int i = 0; i < n; i++)
        checksum = checksum * 31u + (unsigned int)result[i];
    printf("%d elements, last sum %d, checksum %u\n", n, result[n - 1], checksum);
    puts("PASSED");
    return 0;
}
