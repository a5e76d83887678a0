// Texture and surface references, as programs before CUDA 12 have them: over linear memory, pitched memory and arrays.
#include <cstdio>
#include <cstdlib>

texture<float, 1, cudaReadModeElementType> line;
static texture<unsigned char, 2, cudaReadModeNormalizedFloat> picture;
texture<int2, 2> pairs;
surface<void, 2> written;

#define CHECK(call)                                                                                                                \
    if ((call) != cudaSuccess) {                                                                                                   \
        printf("%s: %s\n", #call, cudaGetErrorString(cudaGetLastError()));                                                         \
        exit(1);                                                                                                                   \
    }

__global__ void fetch(float *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int2 pair = tex2D(pairs, i % 8, i / 8);
    sums[i] = tex1Dfetch(line, i) + 255 * tex2D(picture, i % 8 + 0.5f, i / 8 + 0.5f) + pair.x - pair.y;
    surf2Dwrite(2 * i, written, (i % 8) * 4, i / 8);
}

int main()
{
    const int n = 64;
    float values[n], sums[n], *d_values, *d_sums;
    unsigned char bytes[n];
    int2 two[n], *d_two;
    int surface_values[n];
    size_t pitch, offset = 1;
    for (int i = 0; i < n; i++)
        values[i] = 0.5f * i, bytes[i] = 3 * i, two[i] = make_int2(100 * i, i);
    CHECK(cudaMalloc(&d_values, sizeof values));
    CHECK(cudaMalloc(&d_sums, sizeof sums));
    CHECK(cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice));
    CHECK(cudaMallocPitch(&d_two, &pitch, 8 * sizeof(int2), 8));
    CHECK(cudaMemcpy2D(d_two, pitch, two, 8 * sizeof(int2), 8 * sizeof(int2), 8, cudaMemcpyHostToDevice));
    cudaChannelFormatDesc of_ints = cudaCreateChannelDesc<int>();
    cudaArray *array, *target;
    CHECK(cudaMallocArray(&array, &picture.channelDesc, 8, 8));  // a reference has it from its type
    CHECK(cudaMemcpyToArray(array, 0, 0, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DToArray(array, 0, 1, bytes + 8, 0, 8, 1, cudaMemcpyHostToDevice));  // of one row the pitch does not count
    CHECK(cudaMallocArray(&target, &of_ints, 8, 8, cudaArraySurfaceLoadStore));

    picture.normalized = false;
    picture.filterMode = cudaFilterModeLinear;
    picture.addressMode[0] = picture.addressMode[1] = cudaAddressModeClamp;
    CHECK(cudaBindTexture(&offset, line, d_values));
    CHECK(cudaBindTextureToArray(picture, array));
    cudaChannelFormatDesc of_pairs = cudaCreateChannelDesc<int2>();
    CHECK(cudaBindTexture2D(NULL, &pairs, d_two, &of_pairs, 8, 8, pitch));
    CHECK(cudaBindSurfaceToArray(written, target));
    fetch<<<2, 32>>>(d_sums, n);
    CHECK(cudaThreadSynchronize());
    CHECK(cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromArray(surface_values, target, 0, 0, sizeof surface_values, cudaMemcpyDeviceToHost));
    int wrong = offset != 0;
    for (int i = 0; i < n; i++)
        wrong += sums[i] != 0.5f * i + 3 * i + 100 * i - i || surface_values[i] != 2 * i;
    CHECK(cudaUnbindTexture(line));
    CHECK(cudaBindTexture(&offset, line, d_values + 32, 16 * sizeof(float)));  // anew, to a part: the rest of it is 0
    fetch<<<2, 32>>>(d_sums, n);
    CHECK(cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        wrong += sums[i] != (i < 16 ? 0.5f * (i + 32) : 0) + 3 * i + 100 * i - i;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
