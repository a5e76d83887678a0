// Counts the ways to finish boards on which the host has placed the first rows of queens. A thread has one board and tries
// every square of row after row; its stack, four words a row, lies in shared memory. Squares under attack are bits: of a column,
// and of the two diagonals, which move by one square from row to row.

#define THREADS 96
#define MOST_ROWS 10

extern "C" __global__ void solve_nqueen_cuda_kernel(int queens, int rows, const unsigned *columns, const unsigned *lefts,
                                                    const unsigned *rights, unsigned *results, int boards)
{
    __shared__ unsigned column[THREADS][MOST_ROWS], left[THREADS][MOST_ROWS], right[THREADS][MOST_ROWS];
    __shared__ unsigned tried[THREADS][MOST_ROWS]; // attacked, or done with
    __shared__ unsigned sum[THREADS];

    const int t = threadIdx.x;
    const int board = blockIdx.x * blockDim.x + t;
    const unsigned all = (1u << queens) - 1;
    int found = 0;

    if (board < boards) {
        int row = 0;
        column[t][0] = columns[board];
        left[t][0] = lefts[board];
        right[t][0] = rights[board];
        tried[t][0] = column[t][0] | left[t][0] | right[t][0];
#pragma unroll 1
        while (row >= 0) {
            const unsigned so_far = tried[t][row];
            if ((so_far & all) == all) {
                row--;
                continue;
            }
            const unsigned square = (so_far + 1) & ~so_far; // the lowest that is left
            tried[t][row] |= square;
            if (row + 1 == rows) {
                found++;
                row--;
            } else {
                column[t][row + 1] = column[t][row] | square;
                left[t][row + 1] = (left[t][row] | square) << 1;
                right[t][row + 1] = (right[t][row] | square) >> 1;
                tried[t][row + 1] = column[t][row + 1] | left[t][row + 1] | right[t][row + 1];
                row++;
            }
        }
    }
    sum[t] = found;
    __syncthreads();

    if (t < THREADS - 64)
        sum[t] += sum[t + 64];
    __syncthreads();
#pragma unroll
    for (int half = 32; half > 0; half >>= 1) {
        if (t < half)
            sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0)
        results[blockIdx.x] = sum[0];
}
