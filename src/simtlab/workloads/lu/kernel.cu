// LU decomposition in place, without pivoting: kernel1 divides the pivot's row, kernel2 subtracts it from the square below.

extern "C" __global__ void lu_kernel1(int n, float *a, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + (k + 1);
    if (j < n)
        a[k * n + j] = a[k * n + j] / a[k * n + k];
}

extern "C" __global__ void lu_kernel2(int n, float *a, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x + (k + 1);
    int i = blockIdx.y * blockDim.y + threadIdx.y + (k + 1);
    if (i < n && j < n)
        a[i * n + j] = a[i * n + j] - a[i * n + k] * a[k * n + j];
}
