// Needleman-Wunsch: the best global alignment's score for every pair of prefixes. Blocks of 16 x 16 scores are filled one
// diagonal of blocks a launch, and within a block, in shared memory, one diagonal of scores a step; a CTA is half a warp.

#define BLOCK 16

__device__ void fill(int (*window)[BLOCK + 1], int (*similar)[BLOCK], int x, int y, int penalty)
{
    int both = window[y - 1][x - 1] + similar[y - 1][x - 1];
    int gap = max(window[y][x - 1], window[y - 1][x]) - penalty;
    window[y][x] = max(both, gap);
}

// The block at (blockX, blockY) of the scores, which have a border row and column before the first block.
__device__ void alignBlock(const int *similarity, int *scores, int columns, int penalty, int blockX, int blockY)
{
    __shared__ int window[BLOCK + 1][BLOCK + 1];
    __shared__ int similar[BLOCK][BLOCK];
    int t = threadIdx.x;
    int corner = columns * BLOCK * blockY + BLOCK * blockX;  // of the row above and the column to the left
    int inside = corner + columns + 1;

    if (t == 0)
        window[0][0] = scores[corner];
    for (int row = 0; row < BLOCK; row++)
        similar[row][t] = similarity[inside + columns * row + t];
    __syncthreads();
    window[t + 1][0] = scores[corner + columns * (t + 1)];
    __syncthreads();
    window[0][t + 1] = scores[corner + t + 1];
    __syncthreads();

    for (int last = 0; last < BLOCK; last++) {  // diagonals that grow, then diagonals that shrink
        if (t <= last)
            fill(window, similar, t + 1, last - t + 1, penalty);
        __syncthreads();
    }
    for (int last = BLOCK - 2; last >= 0; last--) {
        if (t <= last)
            fill(window, similar, t + BLOCK - last, BLOCK - t, penalty);
        __syncthreads();
    }

    for (int row = 0; row < BLOCK; row++)
        scores[inside + columns * row + t] = window[row + 1][t + 1];
}

// Diagonals from the first corner to the longest one: `length` blocks, of which CTA 0 has the lowest.
extern "C" __global__ void needle_cuda_shared_1(int *similarity, int *scores, int columns, int penalty, int length, int blocks)
{
    alignBlock(similarity, scores, columns, penalty, blockIdx.x, length - 1 - blockIdx.x);
}

// Diagonals after the longest one, to the last corner.
extern "C" __global__ void needle_cuda_shared_2(int *similarity, int *scores, int columns, int penalty, int length, int blocks)
{
    alignBlock(similarity, scores, columns, penalty, blockIdx.x + blocks - length, blocks - 1 - blockIdx.x);
}
