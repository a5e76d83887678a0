// Memory of the host's own, registered: kernels reach it, its neighbours stay as they are, and afterwards it is the host's again.
#include <cstdio>
#include <cstdlib>

__global__ void add(int *data, int n, int amount)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += amount;
}

int main()
{
    const int n = 5000, more = 100;
    int *memory = (int *)malloc((n + 2 * more) * sizeof(int)), *data = memory + more, *on_device = NULL, wrong = 0;
    for (int i = 0; i < n + 2 * more; i++)
        memory[i] = i;
    printf("%s\n", cudaGetErrorName(cudaHostGetDevicePointer((void **)&on_device, data, 0)));
    printf("%s\n", cudaGetErrorName(cudaHostRegister(data, n * sizeof(int), cudaHostRegisterMapped)));
    printf("%s\n", cudaGetErrorName(cudaHostRegister(data, n * sizeof(int), cudaHostRegisterMapped)));
    printf("%s\n", cudaGetErrorName(cudaHostGetDevicePointer((void **)&on_device, data, 0)));
    add<<<20, 256>>>(on_device, n, 1000);
    cudaDeviceSynchronize();
    data[7] += 5;  // the host writes between launches
    add<<<20, 256>>>(on_device, n, 1000);
    cudaDeviceSynchronize();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n + 2 * more; i++)
            wrong += memory[i] != i + (i >= more && i < n + more ? 2000 : 0) + (i == more + 7 ? 5 : 0);
        if (round == 0)
            printf("%s\n", cudaGetErrorName(cudaHostUnregister(data)));
    }
    printf("%s\n", cudaGetErrorName(cudaHostUnregister(data)));
    free(memory);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
