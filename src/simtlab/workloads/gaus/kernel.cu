// Gaussian elimination without pivoting, a column at a time: Fan1 computes what the rows below the pivot are multiplied with,
// Fan2 subtracts the pivot's row from them, in the matrix and on the right-hand side.

extern "C" __global__ void Fan1(float *m, float *a, int size, int t)
{
    int below = blockIdx.x * blockDim.x + threadIdx.x;
    if (below >= size - 1 - t)
        return;
    int row = below + t + 1;
    m[size * row + t] = a[size * row + t] / a[size * t + t];
}

// A warp's threads go down the rows, so that its accesses are a row apart.
extern "C" __global__ void Fan2(float *m, float *a, float *b, int size, int j1, int t)
{
    int below = blockIdx.x * blockDim.x + threadIdx.x;
    int right = blockIdx.y * blockDim.y + threadIdx.y;
    if (below >= size - 1 - t || right >= size - t)
        return;
    int row = below + t + 1, column = right + t;
    a[size * row + column] -= m[size * row + t] * a[size * t + column];
    if (right == 0)
        b[row] -= m[size * row + t] * b[t];
}
