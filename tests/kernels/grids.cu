// Grid methods: sequence alignment along anti-diagonals, speckle-reducing diffusion, a heat step with halo in shared memory.
#define TILE 16

__device__ int larger_of_three(int a, int b, int c) { return max(a, max(b, c)); }

// One block of the score table; blocks of an anti-diagonal run together, and inside a block so do its anti-diagonals.
__device__ void align_block(int bx, int by, const int *similarity, int *score, int columns, int penalty)
{
    __shared__ int ours[TILE + 1][TILE + 1], gain[TILE][TILE];
    int x = threadIdx.x;
    int corner = by * TILE * columns + bx * TILE;
    if (x == 0) ours[0][0] = score[corner];
    for (int i = 0; i < TILE; i++) gain[i][x] = similarity[corner + (i + 1) * columns + x + 1];
    ours[x + 1][0] = score[corner + (x + 1) * columns];
    ours[0][x + 1] = score[corner + x + 1];
    __syncthreads();
    for (int step = 0; step < 2 * TILE - 1; step++) {
        int i = x + 1, j = step - x + 1;
        if (j >= 1 && j <= TILE)
            ours[j][i] = larger_of_three(ours[j - 1][i - 1] + gain[j - 1][i - 1], ours[j][i - 1] - penalty, ours[j - 1][i] - penalty);
        __syncthreads();
    }
    for (int i = 0; i < TILE; i++) score[corner + (i + 1) * columns + x + 1] = ours[i + 1][x + 1];
}

extern "C" __global__ void nw_upper_left(const int *similarity, int *score, int columns, int penalty, int diagonal)
{
    align_block(blockIdx.x, diagonal - 1 - blockIdx.x, similarity, score, columns, penalty);
}

extern "C" __global__ void nw_lower_right(const int *similarity, int *score, int columns, int penalty, int diagonal, int blocks)
{
    int bx = blockIdx.x + blocks - diagonal;
    align_block(bx, blocks - 1 - blockIdx.x, similarity, score, columns, penalty);
}

struct Gradient { float north, south, west, east; };

extern "C" __global__ void srad_coefficients(int rows, int columns, float q0, const float *image, Gradient *gradient, float *c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int here = y * columns + x;
    float value = image[here];
    Gradient g;
    g.north = image[y > 0 ? here - columns : here] - value;
    g.south = image[y < rows - 1 ? here + columns : here] - value;
    g.west = image[x > 0 ? here - 1 : here] - value;
    g.east = image[x < columns - 1 ? here + 1 : here] - value;
    float g2 = (g.north * g.north + g.south * g.south + g.west * g.west + g.east * g.east) / (value * value);
    float l = (g.north + g.south + g.west + g.east) / value;
    float numerator = 0.5f * g2 - 0.0625f * l * l;
    float denominator = 1.0f + 0.25f * l;
    float q = numerator / (denominator * denominator);
    float coefficient = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
    c[here] = coefficient < 0 ? 0 : coefficient > 1 ? 1 : coefficient;
    gradient[here] = g;
}

extern "C" __global__ void srad_update(int rows, int columns, float lambda, float *image, const Gradient *gradient, const float *c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int here = y * columns + x;
    float own = c[here];
    float south = c[y < rows - 1 ? here + columns : here], east = c[x < columns - 1 ? here + 1 : here];
    Gradient g = gradient[here];
    image[here] += 0.25f * lambda * (own * g.north + south * g.south + own * g.west + east * g.east);
}

// Heat on a 3D grid, one 3D block a tile; edges stay as they are.
extern "C" __global__ void heat_step(int nx, int ny, int nz, const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int here = (z * ny + y) * nx + x;
    bool edge = x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
    float around = edge ? 0 : in[here - 1] + in[here + 1] + in[here - nx] + in[here + nx] + in[here - nx * ny] + in[here + nx * ny];
    out[here] = edge ? in[here] : in[here] + 0.1f * (around - 6.0f * in[here]);
}

// Where every thread of a 3D grid of 3D blocks is, in its own place.
extern "C" __global__ void coordinates(uint4 *out)
{
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned lane, warp;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    asm("mov.u32 %0, %warpid;" : "=r"(warp));
    out[block * threads + thread] = make_uint4(threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16,
                                               blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16, lane, warp);
}
