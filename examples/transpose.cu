// A matrix of n x n floats transposed, a thread for an element. n is a multiple of 32.

extern "C" __global__ void transpose(const float *in, float *out, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

// The same through shared memory: a warp reads a row of a tile and writes another row. One word more in a row of the tile keeps its
// columns in different banks.
extern "C" __global__ void transpose_tiled(const float *in, float *out, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        tile[k][threadIdx.x] = in[(y + k) * n + x + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < 32; k += 8)
        out[(x + k) * n + y + threadIdx.x] = tile[threadIdx.x][k];
}
