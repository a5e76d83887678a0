// C = A B by tiles in static shared memory, and by whole panels in more than 48 KB of dynamic shared memory.
// There for: template kernels, cudaFuncSetAttribute, cudaFuncGetAttributes, cudaFuncSetCacheConfig, events and their
// elapsed time, cudaDeviceGetAttribute, cudaOccupancyMaxActiveBlocksPerMultiprocessor.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

static bool all_well = true;
static void check(cudaError_t status, const char *call, const char *file, int line)
{
    if (status != cudaSuccess)
        exit((fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(status)), 1));
}

template <typename T, int TILE>
__global__ void multiply_tiles(const T *a, const T *b, T *c, int m, int n, int k)
{
    __shared__ T tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    T sum = 0;
    for (int first = 0; first < k; first += TILE) {
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : T(0);
        tile_b[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : T(0);
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

// TILE rows of A and TILE columns of B as a whole, in 2 * TILE * k elements of dynamic shared memory.
template <typename T, int TILE>
__global__ void multiply_panels(const T *a, const T *b, T *c, int m, int n, int k)
{
    extern __shared__ __align__(16) unsigned char dynamic[];
    T *rows = reinterpret_cast<T *>(dynamic), *columns = rows + TILE * k, sum = 0;
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    for (int i = x; i < k; i += TILE)
        rows[y * k + i] = row < m ? a[row * k + i] : T(0);
    for (int i = y; i < k; i += TILE)
        columns[i * TILE + x] = column < n ? b[i * n + column] : T(0);
    __syncthreads();
    for (int i = 0; i < k; i++)
        sum += rows[y * k + i] * columns[i * TILE + x];
    if (row < m && column < n)
        c[row * n + column] = sum;
}

template <typename T, int TILE>
void multiply(const char *label, int m, int n, int k, bool panels)
{
    // Small integers: every product and sum is exact, fused or not.
    std::vector<T> a(m * k), b(k * n), c(m * n);
    for (int i = 0; i < m * k; i++)
        a[i] = T((i * 7 + i / 3) % 11 - 4);
    for (int i = 0; i < k * n; i++)
        b[i] = T((i * 5 + i / 7) % 9 - 3);
    size_t bytes_a = a.size() * sizeof(T), bytes_b = b.size() * sizeof(T), bytes_c = c.size() * sizeof(T);
    T *d_a, *d_b, *d_c;
    checkCudaErrors(cudaMalloc(&d_a, bytes_a));
    checkCudaErrors(cudaMalloc(&d_b, bytes_b));
    checkCudaErrors(cudaMalloc(&d_c, bytes_c));
    checkCudaErrors(cudaMemcpy(d_a, a.data(), bytes_a, cudaMemcpyHostToDevice));
    checkCudaErrors(cudaMemcpy(d_b, b.data(), bytes_b, cudaMemcpyHostToDevice));

    auto kernel = panels ? multiply_panels<T, TILE> : multiply_tiles<T, TILE>;
    size_t shared = panels ? 2 * TILE * k * sizeof(T) : 0;
    int most = 0, resident = 0;
    checkCudaErrors(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    if (shared > (size_t)most)
        exit((puts("FAILED: panels do not fit"), 1));
    checkCudaErrors(cudaFuncSetCacheConfig(kernel, cudaFuncCachePreferShared));
    if (panels)
        checkCudaErrors(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    cudaFuncAttributes attributes;
    checkCudaErrors(cudaFuncGetAttributes(&attributes, kernel));
    checkCudaErrors(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, TILE * TILE, shared));
    bool sensible = attributes.numRegs > 0 && attributes.maxThreadsPerBlock >= TILE * TILE && resident >= 1 &&
                    attributes.sharedSizeBytes >= (panels ? 0 : 2 * TILE * (TILE + 1) * sizeof(T)) &&
                    attributes.maxDynamicSharedSizeBytes >= (int)shared;

    float milliseconds = -1;
    cudaEvent_t start, stop;
    checkCudaErrors(cudaEventCreate(&start));
    checkCudaErrors(cudaEventCreate(&stop));
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    checkCudaErrors(cudaEventRecord(start));
    kernel<<<grid, block, shared>>>(d_a, d_b, d_c, m, n, k);
    checkCudaErrors(cudaGetLastError());
    checkCudaErrors(cudaEventRecord(stop, 0));
    checkCudaErrors(cudaEventSynchronize(stop));
    checkCudaErrors(cudaEventElapsedTime(&milliseconds, start, stop));
    checkCudaErrors(cudaMemcpy(c.data(), d_c, bytes_c, cudaMemcpyDeviceToHost));

    long long trace = 0, total = 0;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            T sum = 0;
            for (int i = 0; i < k; i++)
                sum += a[row * k + i] * b[i * n + column];
            all_well = all_well && sum == c[row * n + column];
            total += (long long)c[row * n + column] * (1 + (row + 2 * column) % 5);
            trace += row == column ? (long long)c[row * n + column] : 0;
        }
    printf("%s: %d x %d x %d, trace %lld, checksum %lld\n", label, m, n, k, trace, total);
    all_well = all_well && sensible && milliseconds >= 0;

    checkCudaErrors(cudaEventDestroy(start));
    checkCudaErrors(cudaEventDestroy(stop));
    for (T *array : {d_a, d_b, d_c})
        checkCudaErrors(cudaFree(array));
}

int main(int argc, char **argv)
{
    int k = argc > 1 ? atoi(argv[1]) : 400;
    multiply<float, 16>("tiles of float", 24, 20, k, false);
    multiply<double, 8>("tiles of double", 20, 12, 50, false);
    multiply<float, 16>("panels of float", 24, 20, k, true);
    multiply<int, 8>("panels of int", 10, 17, 60, true);
    puts(all_well ? "PASSED" : "FAILED: a product, an attribute or a time is wrong");
    return all_well ? 0 : 1;
}
