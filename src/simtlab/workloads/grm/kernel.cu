// Gram-Schmidt, modified: column k becomes orthogonal to those before it, then is taken out of those after it. One thread
// adds up the column's length, one thread a row divides by it, one thread a column takes it out.

extern "C" __global__ void gramschmidt_kernel1(int ni, int nj, float *a, float *r, float *q, int k)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread == 0) {
        float squares = 0;
#pragma unroll 1
        for (int i = 0; i < ni; i++)
            squares += a[i * nj + k] * a[i * nj + k];
        r[k * nj + k] = sqrtf(squares);
    }
}

extern "C" __global__ void gramschmidt_kernel2(int ni, int nj, float *a, float *r, float *q, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ni)
        q[i * nj + k] = a[i * nj + k] / r[k * nj + k];
}

extern "C" __global__ void gramschmidt_kernel3(int ni, int nj, float *a, float *r, float *q, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > k && j < nj) {
        r[k * nj + j] = 0;
#pragma unroll 1
        for (int i = 0; i < ni; i++)
            r[k * nj + j] += q[i * nj + k] * a[i * nj + j];
#pragma unroll 1
        for (int i = 0; i < ni; i++)
            a[i * nj + j] -= q[i * nj + k] * r[k * nj + j];
    }
}
