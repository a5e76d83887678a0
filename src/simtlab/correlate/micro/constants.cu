// Constants, the same for a warp and one for each lane.

__constant__ int table[8192];

extern "C" __global__ void constant_uniform(int *out, int steps)
{
    int sum = 0;
    for (int k = 0; k < steps; k++)
        sum += table[(k * 16) & 8191];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void constant_by_lane(int *out, int steps)
{
    int sum = 0;
    for (int k = 0; k < steps; k++)
        sum += table[(threadIdx.x + k) & 63];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
