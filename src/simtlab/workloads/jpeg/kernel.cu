// What JPEG does to blocks of 8 x 8 pixels: the discrete cosine transform, quantisation, and the way back. Two versions of the
// transforms: by the matrix of cosines from constant memory, a thread for each coefficient, the picture being a texture; and by a
// factored transform in registers, a thread for each row and then for each column of a block, with the blocks in shared memory.

#define SIDE 8

__constant__ float DCTv8matrix[SIDE * SIDE]; // cosines, by frequency and place
__constant__ float Q[SIDE * SIDE];           // quantisation steps

// By matrices ----------------------------------------------------------------------------------------------------------------

// One block of `result` is one of `block`, from both sides times the matrix or its transpose.
template <bool INVERSE> __device__ float product(float (*block)[SIDE], float (*half)[SIDE])
{
    const int x = threadIdx.x, y = threadIdx.y;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        sum += (INVERSE ? DCTv8matrix[k * SIDE + y] : DCTv8matrix[y * SIDE + k]) * block[k][x];
    half[y][x] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        sum += half[y][k] * (INVERSE ? DCTv8matrix[k * SIDE + x] : DCTv8matrix[x * SIDE + k]);
    return sum;
}

template <bool INVERSE> __device__ void transform_by_matrix(float *result, int width, cudaTextureObject_t picture)
{
    __shared__ float block[SIDE][SIDE], half[SIDE][SIDE];
    const int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    block[threadIdx.y][threadIdx.x] = tex2D<float>(picture, x + 0.5f, y + 0.5f);
    __syncthreads();
    result[y * width + x] = product<INVERSE>(block, half);
}

extern "C" __global__ void CUDAkernel1DCT(float *result, int width, cudaTextureObject_t picture)
{
    transform_by_matrix<false>(result, width, picture);
}

extern "C" __global__ void CUDAkernel1IDCT(float *result, int width, cudaTextureObject_t picture)
{
    transform_by_matrix<true>(result, width, picture);
}

// Factored -------------------------------------------------------------------------------------------------------------------

#define WIDE 32 // a CTA's tile: 4 x 2 blocks
#define HIGH 16
#define STRIDE (WIDE + 1)

// cos(k pi / 16) / 2, and the same over a root of two for the constant part
#define C1 0.49039264020161522f
#define C2 0.46193976625564337f
#define C3 0.41573480615127262f
#define C4 0.35355339059327376f
#define C5 0.27778511650980109f
#define C6 0.19134171618254489f
#define C7 0.09754516100806412f

// Eight values, `step` words apart, become their coefficients. Sums and differences of opposite ends part the even frequencies
// from the odd ones, and those again.
__device__ void forward(float *v, int step)
{
    float s0 = v[0] + v[7 * step], s1 = v[step] + v[6 * step], s2 = v[2 * step] + v[5 * step], s3 = v[3 * step] + v[4 * step];
    float d0 = v[0] - v[7 * step], d1 = v[step] - v[6 * step], d2 = v[2 * step] - v[5 * step], d3 = v[3 * step] - v[4 * step];
    float a = s0 + s3, b = s1 + s2, c = s0 - s3, d = s1 - s2;
    v[0] = C4 * (a + b);
    v[4 * step] = C4 * (a - b);
    v[2 * step] = C2 * c + C6 * d;
    v[6 * step] = C6 * c - C2 * d;
    v[step] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    v[3 * step] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    v[5 * step] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    v[7 * step] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

__device__ void backward(float *v, int step)
{
    float f1 = v[step], f3 = v[3 * step], f5 = v[5 * step], f7 = v[7 * step];
    float a = C4 * (v[0] + v[4 * step]), b = C4 * (v[0] - v[4 * step]);
    float c = C2 * v[2 * step] + C6 * v[6 * step], d = C6 * v[2 * step] - C2 * v[6 * step];
    float s0 = a + c, s1 = b + d, s2 = b - d, s3 = a - c;
    float d0 = C1 * f1 + C3 * f3 + C5 * f5 + C7 * f7;
    float d1 = C3 * f1 - C7 * f3 - C1 * f5 - C5 * f7;
    float d2 = C5 * f1 - C1 * f3 + C7 * f5 + C3 * f7;
    float d3 = C7 * f1 - C5 * f3 + C3 * f5 - C1 * f7;
    v[0] = s0 + d0;
    v[step] = s1 + d1;
    v[2 * step] = s2 + d2;
    v[3 * step] = s3 + d3;
    v[4 * step] = s3 - d3;
    v[5 * step] = s2 - d2;
    v[6 * step] = s1 - d1;
    v[7 * step] = s0 - d0;
}

// A thread of (8, 4, 2) loads and stores a column of its block, transforms one row of it and then one column.
template <bool INVERSE> __device__ void transform_in_place(float *result, const float *picture, int width)
{
    __shared__ float tile[HIGH * STRIDE];
    const int left = threadIdx.y * SIDE, top = threadIdx.z * SIDE;
    const int corner = (blockIdx.y * HIGH + top) * width + blockIdx.x * WIDE + left + threadIdx.x;
    float *column = tile + top * STRIDE + left + threadIdx.x;
    float *row = tile + (top + threadIdx.x) * STRIDE + left;
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        column[k * STRIDE] = picture[corner + k * width];
    __syncthreads();
    if (INVERSE)
        backward(row, 1);
    else
        forward(row, 1);
    __syncthreads();
    if (INVERSE)
        backward(column, STRIDE);
    else
        forward(column, STRIDE);
#pragma unroll
    for (int k = 0; k < SIDE; k++)
        result[corner + k * width] = column[k * STRIDE];
}

extern "C" __global__ void CUDAkernel2DCT(float *result, const float *picture, int width)
{
    transform_in_place<false>(result, picture, width);
}

extern "C" __global__ void CUDAkernel2IDCT(float *result, const float *picture, int width)
{
    transform_in_place<true>(result, picture, width);
}

// Quantisation ----------------------------------------------------------------------------------------------------------------

extern "C" __global__ void CUDAkernelQuantizationFloat(float *coefficients, int width)
{
    const int place = (blockIdx.y * SIDE + threadIdx.y) * width + blockIdx.x * SIDE + threadIdx.x;
    const float step = Q[threadIdx.y * SIDE + threadIdx.x];
    coefficients[place] = rintf(coefficients[place] / step) * step;
}
