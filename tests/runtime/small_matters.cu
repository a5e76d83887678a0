// Calls whose answers are easily thought to be others: nothing is destroyed, and a pitch of 0 where there is one row.
#include <cstdio>

int main()
{
    float values[8] = {1, 2}, out[8], *memory;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaMallocArray(&array, &desc, 8, 2);
    cudaMalloc(&memory, 256);
    int found[] = {cudaDestroyTextureObject(0), cudaDestroySurfaceObject(0),
                   cudaMemcpy2DToArray(array, 0, 0, values, 0, 32, 1, cudaMemcpyHostToDevice),
                   cudaMemcpy2DFromArray(out, 0, array, 0, 0, 32, 1, cudaMemcpyDeviceToHost),
                   cudaMemcpy2DToArray(array, 0, 0, values, 0, 16, 2, cudaMemcpyHostToDevice),
                   cudaMemcpy2D(memory, 0, values, 0, 32, 1, cudaMemcpyHostToDevice)};
    printf("%d %d %d %d %d %d\n%g\n", found[0], found[1], found[2], found[3], found[4], found[5], out[1]);
}
