// A separable 17-tap convolution of an image: along rows, then along columns. A CTA brings a tile and a halo on either side
// into shared memory, each thread several elements one block width (or height) apart, and computes the tile from there.

const int RADIUS = 8;
const int TAPS = 2 * RADIUS + 1;

const int ROWS_X = 16, ROWS_Y = 4;        // threads of a CTA
const int COLUMNS_X = 16, COLUMNS_Y = 8;
const int STEPS = 8;                      // results a thread
const int HALO = 1;                       // elements a thread loads on either side: HALO blocks cover the radius

__constant__ float taps[TAPS];

extern "C" __global__ void convolutionRowsKernel(float *result, const float *image, int width, int height, int pitch)
{
    __shared__ float tile[ROWS_Y][(STEPS + 2 * HALO) * ROWS_X];

    const int x0 = (blockIdx.x * STEPS - HALO) * ROWS_X + threadIdx.x;
    const int y0 = blockIdx.y * ROWS_Y + threadIdx.y;
    image += y0 * pitch + x0;
    result += y0 * pitch + x0;

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++)
        tile[threadIdx.y][threadIdx.x + i * ROWS_X] = image[i * ROWS_X];
#pragma unroll
    for (int i = 0; i < HALO; i++)
        tile[threadIdx.y][threadIdx.x + i * ROWS_X] = x0 >= -i * ROWS_X ? image[i * ROWS_X] : 0.0f;
#pragma unroll
    for (int i = HALO + STEPS; i < HALO + STEPS + HALO; i++)
        tile[threadIdx.y][threadIdx.x + i * ROWS_X] = width - x0 > i * ROWS_X ? image[i * ROWS_X] : 0.0f;
    __syncthreads();

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += taps[RADIUS - j] * tile[threadIdx.y][threadIdx.x + i * ROWS_X + j];
        result[i * ROWS_X] = sum;
    }
}

// The tile is transposed, with one element of padding a row, so that threads of a warp fall into different banks.
extern "C" __global__ void convolutionColumnsKernel(float *result, const float *image, int width, int height, int pitch)
{
    __shared__ float tile[COLUMNS_X][(STEPS + 2 * HALO) * COLUMNS_Y + 1];

    const int x0 = blockIdx.x * COLUMNS_X + threadIdx.x;
    const int y0 = (blockIdx.y * STEPS - HALO) * COLUMNS_Y + threadIdx.y;
    image += y0 * pitch + x0;
    result += y0 * pitch + x0;

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++)
        tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y] = image[i * COLUMNS_Y * pitch];
#pragma unroll
    for (int i = 0; i < HALO; i++)
        tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y] = y0 >= -i * COLUMNS_Y ? image[i * COLUMNS_Y * pitch] : 0.0f;
#pragma unroll
    for (int i = HALO + STEPS; i < HALO + STEPS + HALO; i++)
        tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y] =
            height - y0 > i * COLUMNS_Y ? image[i * COLUMNS_Y * pitch] : 0.0f;
    __syncthreads();

#pragma unroll
    for (int i = HALO; i < HALO + STEPS; i++) {
        float sum = 0.0f;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += taps[RADIUS - j] * tile[threadIdx.x][threadIdx.y + i * COLUMNS_Y + j];
        result[i * COLUMNS_Y * pitch] = sum;
    }
}
