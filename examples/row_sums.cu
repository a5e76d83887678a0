// The sums of the rows of a matrix of n columns, n a multiple of 32: a CTA of 128 threads takes 128 rows, a thread adds one of them.
// A tile of 32 columns at a time goes through shared memory, so that the loads from global memory are coalesced.
#ifndef PITCH
#define PITCH 32  // words from a row of the tile to the next
#endif

extern "C" __global__ void row_sums(const float *in, float *out, int n)
{
    __shared__ float tile[128][PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.x * 128;
    float sum = 0;
    for (int column = 0; column < n; column += 32) {
        for (int row = warp; row < 128; row += 4)
            tile[row][lane] = in[(first + row) * n + column + lane];
        __syncthreads();
        for (int k = 0; k < 32; k++)
            sum += tile[threadIdx.x][k];
        __syncthreads();
    }
    out[first + threadIdx.x] = sum;
}
