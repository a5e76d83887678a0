// LU decomposition in place, without pivoting, by blocks of 16 x 16. Of the square that is left, the first kernel decomposes the
// block in the corner, the second one the blocks beside and below it, and the third subtracts their products from all others.

#define BLOCK 16

// One CTA of 16 threads, which is half a warp: a thread has a row while it makes the lower factor, a column for the upper one.
extern "C" __global__ void lud_diagonal(float *matrix, int n, int offset)
{
    __shared__ float corner[BLOCK][BLOCK];
    int t = threadIdx.x;
    float *origin = matrix + offset * n + offset;

    for (int row = 0; row < BLOCK; row++)
        corner[row][t] = origin[row * n + t];
    __syncthreads();

    for (int k = 0; k < BLOCK - 1; k++) {
        if (t > k) {
#pragma unroll 1
            for (int j = 0; j < k; j++)
                corner[t][k] -= corner[t][j] * corner[j][k];
            corner[t][k] /= corner[k][k];
        }
        __syncthreads();
        if (t > k) {
#pragma unroll 1
            for (int j = 0; j <= k; j++)
                corner[k + 1][t] -= corner[k + 1][j] * corner[j][t];
        }
        __syncthreads();
    }

    for (int row = 1; row < BLOCK; row++)  // the first row is what it was
        origin[row * n + t] = corner[row][t];
}

// One CTA of 32 threads for each block to the right of the corner and the block as far below it: one half warp solves for the
// upper factor, a column a thread, while the other solves for the lower one, a row a thread.
extern "C" __global__ void lud_perimeter(float *matrix, int n, int offset)
{
    __shared__ float corner[BLOCK][BLOCK], beside[BLOCK][BLOCK], below[BLOCK][BLOCK];
    int t = threadIdx.x % BLOCK;
    bool right = threadIdx.x < BLOCK;
    int distance = (blockIdx.x + 1) * BLOCK;
    float *origin = matrix + offset * n + offset;
    float *origin_beside = origin + distance, *origin_below = origin + distance * n;

    if (right) {
        for (int row = 0; row < BLOCK / 2; row++)
            corner[row][t] = origin[row * n + t];
        for (int row = 0; row < BLOCK; row++)
            beside[row][t] = origin_beside[row * n + t];
    } else {
        for (int row = BLOCK / 2; row < BLOCK; row++)
            corner[row][t] = origin[row * n + t];
        for (int row = 0; row < BLOCK; row++)
            below[row][t] = origin_below[row * n + t];
    }
    __syncthreads();

    if (right) {
        for (int k = 1; k < BLOCK; k++) {
#pragma unroll 1
            for (int j = 0; j < k; j++)
                beside[k][t] -= corner[k][j] * beside[j][t];
        }
    } else {
        for (int k = 0; k < BLOCK; k++) {
#pragma unroll 1
            for (int j = 0; j < k; j++)
                below[t][k] -= below[t][j] * corner[j][k];
            below[t][k] /= corner[k][k];
        }
    }
    __syncthreads();

    if (right) {
        for (int row = 1; row < BLOCK; row++)
            origin_beside[row * n + t] = beside[row][t];
    } else {
        for (int row = 0; row < BLOCK; row++)
            origin_below[row * n + t] = below[row][t];
    }
}

// One CTA of 16 x 16 threads for each block that is left: the lower factor's block to its left, times the upper one's above it.
extern "C" __global__ void lud_internal(float *matrix, int n, int offset)
{
    __shared__ float above[BLOCK][BLOCK], left[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int row = offset + (blockIdx.y + 1) * BLOCK + y;
    int column = offset + (blockIdx.x + 1) * BLOCK + x;

    above[y][x] = matrix[(offset + y) * n + column];
    left[y][x] = matrix[row * n + offset + x];
    __syncthreads();

    float sum = 0;
    for (int k = 0; k < BLOCK; k++)
        sum += left[y][k] * above[k][x];
    matrix[row * n + column] -= sum;
}
