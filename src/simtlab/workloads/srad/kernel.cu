// Speckle-reducing anisotropic diffusion, two kernels a step. The first takes the differences to the four neighbours and from
// them how freely each point diffuses; the second moves each point by what flows. A CTA has a tile of 16 x 16 in shared memory
// and, beside it, the rows and columns that border on it. Beyond the image's edge lies the edge itself.

#define TILE 16

extern "C" __global__ void srad_cuda_1(float *east_d, float *west_d, float *north_d, float *south_d, float *image,
                                       float *coefficient, int cols, int rows, float q0sqr)
{
    __shared__ float tile[TILE][TILE], result[TILE][TILE];
    __shared__ float north[TILE][TILE], south[TILE][TILE], east[TILE][TILE], west[TILE][TILE];

    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int corner = cols * TILE * by + TILE * bx;
    int index = corner + cols * ty + tx;
    bool top = by == 0, bottom = by == gridDim.y - 1, left = bx == 0, right = bx == gridDim.x - 1;

    north[ty][tx] = image[corner + tx - (top ? 0 : cols)];
    south[ty][tx] = image[corner + cols * (bottom ? TILE - 1 : TILE) + tx];
    west[ty][tx] = image[corner + cols * ty - (left ? 0 : 1)];
    east[ty][tx] = image[corner + cols * ty + (right ? TILE - 1 : TILE)];
    tile[ty][tx] = image[index];
    __syncthreads();

    float here = tile[ty][tx];
    float n = (ty == 0 ? north[ty][tx] : tile[ty - 1][tx]) - here;
    float s = (ty == TILE - 1 ? south[ty][tx] : tile[ty + 1][tx]) - here;
    float w = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - here;
    float e = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - here;

    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float numerator = (0.5 * gradient) - ((1.0 / 16.0) * (laplacian * laplacian));
    float denominator = 1 + (.25 * laplacian);
    float qsqr = numerator / (denominator * denominator);
    denominator = (qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
    float c = 1.0 / (1.0 + denominator);
    result[ty][tx] = c < 0 ? 0 : c > 1 ? 1 : c;
    __syncthreads();

    coefficient[index] = result[ty][tx];
    east_d[index] = e;
    west_d[index] = w;
    south_d[index] = s;
    north_d[index] = n;
}

extern "C" __global__ void srad_cuda_2(float *east_d, float *west_d, float *north_d, float *south_d, float *image,
                                       float *coefficient, int cols, int rows, float lambda, float q0sqr)
{
    __shared__ float south_c[TILE][TILE], east_c[TILE][TILE];
    __shared__ float tile_c[TILE][TILE], result[TILE][TILE], tile[TILE][TILE];

    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int corner = cols * TILE * by + TILE * bx;
    int index = corner + cols * ty + tx;
    bool bottom = by == gridDim.y - 1, right = bx == gridDim.x - 1;

    tile[ty][tx] = image[index];
    south_c[ty][tx] = coefficient[corner + cols * (bottom ? TILE - 1 : TILE) + tx];
    east_c[ty][tx] = coefficient[corner + cols * ty + (right ? TILE - 1 : TILE)];
    tile_c[ty][tx] = coefficient[index];
    __syncthreads();

    float here = tile_c[ty][tx];
    float below = ty == TILE - 1 ? south_c[ty][tx] : tile_c[ty + 1][tx];
    float beside = tx == TILE - 1 ? east_c[ty][tx] : tile_c[ty][tx + 1];
    float flow = here * north_d[index] + below * south_d[index] + here * west_d[index] + beside * east_d[index];
    result[ty][tx] = tile[ty][tx] + 0.25 * lambda * flow;
    __syncthreads();

    image[index] = result[ty][tx];
}
