// C = A B. A CTA computes a square tile of C; it takes A and B tile by tile into shared memory, one element a thread.

template <int TILE>
__global__ void matrixMul(float *c, float *a, float *b, int a_columns, int b_columns)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int a_begin = a_columns * TILE * blockIdx.y;
    int a_end = a_begin + a_columns;
    int b_begin = TILE * blockIdx.x;

    float sum = 0;
#pragma unroll 1
    for (int from_a = a_begin, from_b = b_begin; from_a < a_end; from_a += TILE, from_b += TILE * b_columns) {
        a_tile[ty][tx] = a[from_a + a_columns * ty + tx];
        b_tile[ty][tx] = b[from_b + b_columns * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    c[b_columns * TILE * blockIdx.y + TILE * blockIdx.x + b_columns * ty + tx] = sum;
}
