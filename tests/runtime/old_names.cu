// What programs of older CUDA do: symbols by their names, cudaThreadSynchronize, fields of cudaDeviceProp that were dropped.
#include <cstdio>

__constant__ float factors[4];
__device__ int total;

__global__ void scale(float *data)
{
    data[threadIdx.x] *= factors[threadIdx.x % 4];
    atomicAdd(&total, 1);
}

int main()
{
    float values[8], by[4] = {1, 10, 100, 1000}, *d_values;
    int counted = 0, nothing = 7;
    for (int i = 0; i < 8; i++)
        values[i] = i;
    cudaMalloc((void **)&d_values, sizeof values);
    cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
    printf("%s\n", cudaGetErrorName(cudaMemcpyToSymbol("factors", by, sizeof by)));
    printf("%s\n", cudaGetErrorName(cudaMemcpyToSymbol("no such name", by, sizeof by)));
    printf("%s\n", cudaGetErrorName(cudaMemcpyToSymbol(nothing, by, sizeof by)));
    scale<<<1, 8>>>(d_values);
    cudaThreadSynchronize();
    cudaMemcpy(values, d_values, sizeof values, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&counted, "total", sizeof counted);
    for (int i = 0; i < 8; i++)
        printf("%g ", values[i]);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    printf("%d %d\n", counted, properties.clockRate > 0);
}
