// Counts numbers in bins of uneven width: the edges lie in constant memory, the counts in a __device__ variable.
// There for: cudaMemcpyToSymbol and cudaMemcpyFromSymbol (with offsets), cudaGetSymbolAddress, cudaGetSymbolSize,
// __constant__ and __device__ variables with initial values, atomics in shared and global memory.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define gpuErrchk(answer) { gpuAssert((answer), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess)
        exit((fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line), 1));
}

#define BINS 64
struct Extremes {
    int smallest, largest;
};

__constant__ int edges[BINS + 1];            // bin b holds edges[b] <= x < edges[b + 1]
__constant__ int weights[4] = {1, 10, 100, 1000};
__device__ unsigned int counts[BINS] = {5, 4, 3};  // cleared by the host
__device__ unsigned int outside = 7;          // does not start at zero: the host subtracts
__device__ Extremes extremes = {0x7fffffff, -0x7fffffff};
static __device__ unsigned long long weighted;

__device__ int bin_of(int x)
{
    int low = 0, high = BINS;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        (x >= edges[middle] ? low : high) = middle;
    }
    return low;
}

__global__ void histogram(const int *data, int n)
{
    __shared__ unsigned int mine[BINS];
    if (threadIdx.x < BINS)
        mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int x = data[i];
        atomicMin(&extremes.smallest, x);
        atomicMax(&extremes.largest, x);
        if (x < edges[0] || x >= edges[BINS])
            atomicInc(&outside, 0xffffffffu);
        else
            atomicAdd(&mine[bin_of(x)], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b] > 0) {
            atomicAdd(&counts[b], mine[b]);
            atomicAdd(&weighted, (unsigned long long)mine[b] * weights[b % 4]);
        }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 12000;
    int h_edges[BINS + 1];
    for (int b = 0; b <= BINS; b++)
        h_edges[b] = b * b * 16 - 1000;
    std::vector<int> data(n);
    unsigned int seed = 20240607u;
    for (int &x : data) {
        seed = seed * 1664525u + 1013904223u;
        x = (int)(seed >> 15) - 10000;
    }

    // The reference, which finds the bin by walking.
    std::vector<unsigned int> expected(BINS);
    unsigned int expected_outside = 0;
    unsigned long long expected_weighted = 0;
    Extremes ends = {0x7fffffff, -0x7fffffff};
    const int h_weights[] = {1, 10, 100, 1000};
    for (int x : data) {
        int b = -1;
        while (b < BINS && x >= h_edges[b + 1])
            b++;
        bool inside = b >= 0 && b < BINS;
        expected_outside += !inside;
        if (inside)
            expected[b]++, expected_weighted += h_weights[b % 4];
        ends = {std::min(ends.smallest, x), std::max(ends.largest, x)};
    }

    // The edges go over in two pieces, the counts are cleared by their address.
    int *d_data, cut = 20;
    void *d_counts;
    size_t bytes, edge_bytes;
    gpuErrchk(cudaMalloc(&d_data, n * sizeof(int)));
    gpuErrchk(cudaMemcpy(d_data, data.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpyToSymbol(edges, h_edges, cut * sizeof(int)));
    gpuErrchk(cudaMemcpyToSymbol(edges, h_edges + cut, (BINS + 1 - cut) * sizeof(int), cut * sizeof(int)));
    gpuErrchk(cudaGetSymbolAddress(&d_counts, counts));
    gpuErrchk(cudaGetSymbolSize(&bytes, counts));
    gpuErrchk(cudaGetSymbolSize(&edge_bytes, edges));
    gpuErrchk(cudaMemset(d_counts, 0, bytes));
    histogram<<<16, 128>>>(d_data, n);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());

    std::vector<unsigned int> result(BINS);
    unsigned int h_outside;
    unsigned long long h_weighted;
    Extremes found;
    gpuErrchk(cudaMemcpyFromSymbol(result.data(), counts, 24 * sizeof(int)));
    gpuErrchk(cudaMemcpyFromSymbol(&result[24], counts, (BINS - 24) * sizeof(int), 24 * sizeof(int)));
    gpuErrchk(cudaMemcpyFromSymbol(&h_outside, outside, sizeof h_outside));
    gpuErrchk(cudaMemcpyFromSymbol(&h_weighted, weighted, sizeof h_weighted, 0, cudaMemcpyDeviceToHost));
    gpuErrchk(cudaMemcpyFromSymbol(&found.largest, extremes, sizeof(int), sizeof(int)));
    gpuErrchk(cudaMemcpyFromSymbol(&found.smallest, extremes, sizeof(int)));
    gpuErrchk(cudaFree(d_data));

    for (int b = 0; b < BINS; b++)
        printf("%u%c", result[b], b % 16 == 15 ? '\n' : ' ');
    printf("outside %u, weighted %llu, from %d to %d\n", h_outside - 7, h_weighted, found.smallest, found.largest);
    bool right = result == expected && h_outside == expected_outside + 7 && h_weighted == expected_weighted &&
                 found.smallest == ends.smallest && found.largest == ends.largest &&
                 bytes == BINS * sizeof(int) && edge_bytes == (BINS + 1) * sizeof(int);
    puts(right ? "PASSED" : "FAILED: the histogram differs from the host's");
    return right ? 0 : 1;
}
