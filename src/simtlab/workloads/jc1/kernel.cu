// One step of a three-point Jacobi relaxation: the averages, then the copy back.

extern "C" __global__ void runJacobiCUDA_kernel1(int n, const float *A, float *B)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);  // a double constant, as PolyBench has it
}

extern "C" __global__ void runJacobiCUDA_kernel2(int n, float *A, const float *B)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j > 0 && j < n - 1)
        A[j] = B[j];
}
