// One Jacobi step of the Laplace equation on a box: every inner point becomes the mean of its six neighbours. A CTA owns
// a column of 32 x 4 points and marches through the planes, the last three of which it holds in shared memory with a
// border one point wide.

#define BLOCK_X 32
#define BLOCK_Y 4
#define ROW (BLOCK_X + 2)
#define PLANE (ROW * (BLOCK_Y + 2))

extern "C" __global__ void GPU_laplace3d(int nx, int ny, int nz, int pitch, const float *from, float *to)
{
    __shared__ float planes[3 * PLANE];

    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int mine = threadIdx.x + 1 + (threadIdx.y + 1) * ROW;
    int source = x + y * pitch;
    bool active = x < nx && y < ny;

    // The border: the rows above and below are taken by the first two rows of threads, the sides with the corners by the
    // next few threads, as in the original: what a warp loads is then one line of a row, or a few single points.
    int k = threadIdx.x + threadIdx.y * BLOCK_X;
    bool border = k < 2 * (BLOCK_X + BLOCK_Y + 2);
    int beside_x, beside_y;
    if (threadIdx.y < 2) {
        beside_x = threadIdx.x;
        beside_y = threadIdx.y == 0 ? -1 : BLOCK_Y;
    } else {
        beside_x = k & 1 ? BLOCK_X : -1;
        beside_y = (k - 2 * BLOCK_X) / 2 - 1;
    }
    int border_mine = beside_x + 1 + (beside_y + 1) * ROW;
    beside_x += blockIdx.x * BLOCK_X;
    beside_y += blockIdx.y * BLOCK_Y;
    int border_source = beside_x + beside_y * pitch;
    border = border && beside_x >= 0 && beside_x < nx && beside_y >= 0 && beside_y < ny;

    int below = 0, here = PLANE, above = 2 * PLANE;
    if (active)
        planes[above + mine] = from[source];
    if (border)
        planes[above + border_mine] = from[border_source];

    bool edge = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    int plane_points = pitch * ny;
    int target = source;
#pragma unroll 1
    for (int z = 0; z < nz; z++) {
        int free = below;
        below = here;
        here = above;
        above = free;
        source += plane_points;
        border_source += plane_points;
        if (active && z < nz - 1)
            planes[above + mine] = from[source];
        if (border && z < nz - 1)
            planes[above + border_mine] = from[border_source];
        __syncthreads();
        if (active) {
            float value;
            if (edge || z == 0 || z == nz - 1)
                value = planes[here + mine];
            else
                value = (planes[here + mine - 1] + planes[here + mine + 1] + planes[here + mine - ROW]
                         + planes[here + mine + ROW] + planes[below + mine] + planes[above + mine]) * (1.0f / 6.0f);
            to[target] = value;
        }
        target += plane_points;
        __syncthreads();
    }
}
