// One Jacobi step of a seven-point stencil on a 3-D grid. A CTA owns a column of the grid, 64 wide and 4 high, and walks it
// in z; a thread has two points of each plane, 32 apart, and keeps the planes below and above in registers. Shared memory
// holds the current plane of the column without a rim: neighbours outside the column are read from global memory.

const int THREADS_X = 32, THREADS_Y = 4;
const int WIDTH = 2 * THREADS_X;  // of the column

extern "C" __global__ void block2D_hybrid_coarsen_x(float c0, float c1, const float *A0, float *Anext, int nx, int ny,
                                                    int nz)
{
    extern __shared__ float tile[];

    const int i = blockIdx.x * WIDTH + threadIdx.x;
    const int i2 = i + THREADS_X;
    const int j = blockIdx.y * THREADS_Y + threadIdx.y;
    const int here = threadIdx.y * WIDTH + threadIdx.x;
    const int here2 = here + THREADS_X;
    const bool first_column = threadIdx.x == 0;
    const bool last_column = threadIdx.x == THREADS_X - 1;
    const bool first_row = threadIdx.y == 0;
    const bool last_row = threadIdx.y == THREADS_Y - 1;
    const bool there = i < nx && j < ny;
    const bool there2 = i2 < nx && j < ny;
    const bool inner = i > 0 && j > 0 && i < nx - 1 && j < ny - 1;
    const bool inner2 = j > 0 && i2 < nx - 1 && j < ny - 1;

    const unsigned plane = nx * ny;
    unsigned at = i + nx * j;
    float below = 0.0f, below2 = 0.0f, centre = 0.0f, centre2 = 0.0f, above = 0.0f, above2 = 0.0f;
    if (there) {
        below = A0[at];
        centre = A0[at + plane];
    }
    if (there2) {
        below2 = A0[at + THREADS_X];
        centre2 = A0[at + THREADS_X + plane];
    }

#pragma unroll 1
    for (int k = 1; k < nz - 1; k++) {
        at += plane;
        tile[here] = centre;
        tile[here2] = centre2;
        __syncthreads();

        if (there)
            above = A0[at + plane];
        if (inner) {
            const float left = first_column ? A0[at - 1] : tile[here - 1];
            const float right = tile[here + 1];
            const float up = first_row ? A0[at - nx] : tile[here - WIDTH];
            const float down = last_row ? A0[at + nx] : tile[here + WIDTH];
            Anext[at] = fmaf(above + below + down + up + right + left, c1, -centre * c0);
        }
        const unsigned at2 = at + THREADS_X;
        if (there2)
            above2 = A0[at2 + plane];
        if (inner2) {
            const float left = tile[here2 - 1];
            const float right = last_column ? A0[at2 + 1] : tile[here2 + 1];
            const float up = first_row ? A0[at2 - nx] : tile[here2 - WIDTH];
            const float down = last_row ? A0[at2 + nx] : tile[here2 + WIDTH];
            Anext[at2] = fmaf(above2 + below2 + down + up + right + left, c1, -centre2 * c0);
        }
        __syncthreads();
        below = centre;
        below2 = centre2;
        centre = above;
        centre2 = above2;
    }
}
