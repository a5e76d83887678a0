// tex1D of an array with two dimensions: what a GPU reads there.
#include <cstdio>

__global__ void read(cudaTextureObject_t texture, float *out, float step)
{
    out[threadIdx.x] = tex1D<float>(texture, (threadIdx.x - 4) * step);
}

int main()
{
    const int width = 8, height = 3;
    float values[height][width], out[32], *d_out;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            values[y][x] = 100 * (y + 1) + x;
    cudaMalloc(&d_out, sizeof out);
    for (int rows = 1; rows <= height; rows += 2) {
        cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
        cudaArray_t array;
        cudaMallocArray(&array, &desc, width, rows);
        cudaMemcpy2DToArray(array, 0, 0, values, sizeof values[0], sizeof values[0], rows, cudaMemcpyHostToDevice);
        for (int mode = 0; mode < 8; mode++) {
            cudaResourceDesc resource = {};
            resource.resType = cudaResourceTypeArray;
            resource.res.array.array = array;
            cudaTextureDesc reading = {};
            reading.addressMode[0] = reading.addressMode[1] = mode & 1 ? cudaAddressModeBorder : cudaAddressModeClamp;
            reading.filterMode = mode & 2 ? cudaFilterModeLinear : cudaFilterModePoint;
            reading.normalizedCoords = mode >> 2;
            cudaTextureObject_t texture = 0;
            cudaError_t error = cudaCreateTextureObject(&texture, &resource, &reading, nullptr);
            read<<<1, 32>>>(texture, d_out, mode & 4 ? 0.07f : 0.4f);
            cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
            printf("%d rows, mode %d, %s, %s:", rows, mode, cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
            for (int i = 0; i < 32; i++)
                printf(" %g", out[i]);
            printf("\n");
            cudaDestroyTextureObject(texture);
        }
    }
}
