// Transposes a matrix in pitched memory, all but a frame around it, by a kernel that is launched by hand.
// There for: cudaMallocPitch, cudaMemcpy2D, cudaMemcpy2DAsync, cudaMemset2D, cudaLaunchKernel with an array of
// argument pointers, structures passed by value, dynamic shared memory, cudaGetErrorName.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t e = (call);                                                                              \
        if (e != cudaSuccess) {                                                                              \
            fprintf(stderr, "%s:%d %s (%s)\n", __FILE__, __LINE__, cudaGetErrorString(e), cudaGetErrorName(e)); \
            exit(EXIT_FAILURE);                                                                              \
        }                                                                                                    \
    } while (0)

struct Matrix {
    int *cells;
    size_t pitch;  // bytes from row to row
    int width, height;

    __device__ int &at(int row, int column) const { return *(int *)((char *)cells + row * pitch + column * sizeof(int)); }
};

struct Frame {
    short left, top;
    char tag;
};

const int TILE = 16;

// to[c][r] = from[r][c] + tag inside of the frame; a tile goes through shared memory, one column wider than it is.
__global__ void transpose(Matrix from, Matrix to, Frame frame, float scale)
{
    extern __shared__ int tile[];
    int column = frame.left + blockIdx.x * TILE + threadIdx.x, row = frame.top + blockIdx.y * TILE + threadIdx.y;
    if (row < from.height - frame.top && column < from.width - frame.left)
        tile[threadIdx.y * (TILE + 1) + threadIdx.x] = from.at(row, column) * (int)scale + frame.tag;
    __syncthreads();
    row = frame.top + blockIdx.y * TILE + threadIdx.x;
    column = frame.left + blockIdx.x * TILE + threadIdx.y;
    if (row < from.height - frame.top && column < from.width - frame.left)
        to.at(column, row) = tile[threadIdx.x * (TILE + 1) + threadIdx.y];
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 90, height = argc > 2 ? atoi(argv[2]) : 53;
    if (width < 8 || height < 8)
        return puts("FAILED: too small"), 1;

    // The host's rows have a pitch of their own: three cells that are not part of the matrix.
    int host_width = width + 3;
    std::vector<int> host(host_width * height, 12345);
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++)
            host[row * host_width + column] = row * 1000 + column;

    Matrix from = {nullptr, 0, width, height}, to = {nullptr, 0, height, width};
    CHECK(cudaMallocPitch(&from.cells, &from.pitch, width * sizeof(int), height));
    CHECK(cudaMallocPitch((void **)&to.cells, &to.pitch, height * sizeof(int), width));
    if (from.pitch < width * sizeof(int) || from.pitch % sizeof(int) != 0 || to.pitch < height * sizeof(int))
        return puts("FAILED: the pitch is no pitch"), 1;
    CHECK(cudaMemcpy2D(from.cells, from.pitch, host.data(), host_width * sizeof(int), width * sizeof(int), height,
                       cudaMemcpyHostToDevice));
    CHECK(cudaMemset2D(to.cells, to.pitch, 0xff, height * sizeof(int), width));

    Frame frame = {2, 1, '*'};
    float scale = 2.0f;
    void *arguments[] = {&from, &to, &frame, &scale};
    dim3 block(TILE, TILE), grid((width - 4 + TILE - 1) / TILE, (height - 2 + TILE - 1) / TILE);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchKernel((const void *)transpose, grid, block, arguments, TILE * (TILE + 1) * sizeof(int), stream));

    // Back in the stream, as it is; then a rectangle of 5 rows and 4 columns from device to device, over the corner.
    std::vector<int> result(width * height), corner(width * height);
    CHECK(cudaMemcpy2DAsync(result.data(), height * sizeof(int), to.cells, to.pitch, height * sizeof(int), width,
                            cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    const char *middle = (const char *)to.cells + (width - 5) * to.pitch + (height - 4) * sizeof(int);
    CHECK(cudaMemcpy2D(to.cells, to.pitch, middle, to.pitch, 4 * sizeof(int), 5, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset2DAsync((int *)to.cells + 1, to.pitch, 0, sizeof(int), 2, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy2D(corner.data(), height * sizeof(int), to.cells, to.pitch, height * sizeof(int), width,
                       cudaMemcpyDefault));

    bool right = true;
    long long sum = 0;
    for (int row = 0; row < width; row++)
        for (int column = 0; column < height; column++) {
            bool inside = column >= 1 && column < height - 1 && row >= 2 && row < width - 2;
            int expected = inside ? 2 * (column * 1000 + row) + '*' : -1, i = row * height + column;
            right = right && result[i] == expected;
            int copied = row < 5 && column < 4 ? result[(width - 5 + row) * height + height - 4 + column] : expected;
            right = right && corner[i] == (row < 2 && column == 1 ? 0 : copied);
            sum += (long long)result[i] * (row % 3 + 1) - corner[i] * (column % 5);
        }
    printf("%d x %d, cell (7, 5) is %d, corner %d %d %d, checksum %lld\n", width, height, result[7 * height + 5],
           corner[0], corner[1], corner[2], sum);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(from.cells));
    CHECK(cudaFree(to.cells));
    puts(right ? "PASSED" : "FAILED: the matrix is not transposed");
    return right ? 0 : 1;
}
