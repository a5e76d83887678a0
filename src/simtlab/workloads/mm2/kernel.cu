// D = alpha A B C + beta D in two products, one element of the result a thread. The sum is kept in memory and goes there
// after every step, as the arrays might overlap for all the compiler knows.

extern "C" __global__ void mm2_kernel1(int ni, int nj, int nk, int nl, float alpha, float beta, float *tmp, float *a, float *b)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nj) {
        tmp[i * nj + j] = 0;
#pragma unroll 1
        for (int k = 0; k < nk; k++)
            tmp[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
    }
}

extern "C" __global__ void mm2_kernel2(int ni, int nj, int nk, int nl, float alpha, float beta, float *tmp, float *c, float *d)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < ni && j < nl) {
        d[i * nl + j] *= beta;
#pragma unroll 1
        for (int k = 0; k < nj; k++)
            d[i * nl + j] += tmp[i * nj + k] * c[k * nl + j];
    }
}
