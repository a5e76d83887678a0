// Launch overhead and barriers.

extern "C" __global__ void empty() {}

extern "C" __global__ void barriers(int *out, int steps)
{
    int x = threadIdx.x;
    for (int k = 0; k < steps; k++) {
        x += k;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
