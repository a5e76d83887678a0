// Adds two vectors, as the first sample of every suite does, then sends the sum through copies of every kind.
// There for: cudaMalloc, cudaMemset, cudaMemcpy (all five kinds), cudaOccupancyMaxPotentialBlockSize, cudaGetLastError.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t status_ = (call);                                                                \
        if (status_ != cudaSuccess) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));         \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static int fail(const char *why)
{
    printf("FAILED: %s\n", why);
    return 1;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10000;
    if (n < 1)
        return fail("usage: vector_add [elements]");
    size_t bytes = n * sizeof(float);

    // Halves and quarters of small integers: every sum is exact.
    std::vector<float> a(n), b(n), c(n), again(n);
    for (int i = 0; i < n; i++) {
        a[i] = 0.5f * (i % 1001);
        b[i] = 0.25f * (i % 77) - 8.0f;
    }

    float *d_a, *d_b, *d_c, *d_copy;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc(&d_c, bytes));
    CHECK(cudaMalloc(&d_copy, bytes));
    CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyDefault));
    CHECK(cudaMemset(d_c, 0xff, bytes));

    int min_grid = 0, block = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, vector_add, 0, 0));
    if (min_grid < 1 || block < 32 || block > 1024)
        return fail("no sensible block size");
    int sizes[] = {256, block};
    for (int size : sizes) {
        vector_add<<<(n + size - 1) / size, size>>>(d_a, d_b, d_c, n);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
        for (int i = 0; i < n; i++)
            if (c[i] != a[i] + b[i])
                return fail("a sum is wrong");
        CHECK(cudaMemset(d_c, 0, bytes));
    }
    vector_add<<<(n + 255) / 256, 256>>>(d_b, d_a, d_c, n);
    CHECK(cudaGetLastError());

    // The device copy, back with the direction left to the runtime, and once more from host to host.
    std::vector<float> back(n);
    CHECK(cudaMemcpy(d_copy, d_c, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(back.data(), d_copy, bytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(again.data(), back.data(), bytes, cudaMemcpyHostToHost));
    if (again != c)
        return fail("a copy differs");

    // The upper half over the lower, by pointers into the middle of an allocation; its last bytes are set apart.
    int half = n / 2;
    CHECK(cudaMemcpy(d_copy, d_c + n - half, half * sizeof(float), cudaMemcpyDefault));
    CHECK(cudaMemset(d_copy + n - 1, 0, sizeof(float)));
    CHECK(cudaMemcpy(again.data(), d_copy, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (again[i] != (i == n - 1 ? 0.0f : i < half ? c[n - half + i] : c[i]))
            return fail("a part was copied wrong");

    double sum = 0, weighted = 0;
    for (int i = 0; i < n; i++) {
        sum += c[i];
        weighted += (double)(i % 13) * again[i];
    }
    printf("%d elements, sum %.2f, weighted sum %.2f\n", n, sum, weighted);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    CHECK(cudaFree(d_copy));
    CHECK(cudaFree(nullptr));
    printf("PASSED\n");
    return 0;
}
