// A cellular automaton in a volume: textures read one 3D array while surfaces write another; then its projections.
// There for: cudaMalloc3DArray, cudaMemcpy3D with positions, tex3D, surf3Dread and surf3Dwrite,
// surf2Dread and surf2Dwrite, cudaCreateSurfaceObject.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", \
    __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void step(cudaTextureObject_t now, cudaSurfaceObject_t next, int w, int h, int d)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    if (x >= w || y >= h)
        return;
    float u = x + 0.5f, v = y + 0.5f, t = z + 0.5f;
    int sum = tex3D<int>(now, u - 1, v, t) + tex3D<int>(now, u + 1, v, t) + tex3D<int>(now, u, v - 1, t) +
              tex3D<int>(now, u, v + 1, t) + tex3D<int>(now, u, v, t - 1) + tex3D<int>(now, u, v, t + 1);
    surf3Dwrite((3 * tex3D<int>(now, u, v, t) + sum) % 1009, next, x * (int)sizeof(int), y, z);
}

__global__ void project(cudaSurfaceObject_t volume, cudaSurfaceObject_t image, int w, int h, int d)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    short2 ends = make_short2(32767, 0);
    for (int z = 0; z < d; z++) {
        short value = surf3Dread<int>(volume, x * (int)sizeof(int), y, z);
        ends = make_short2(min(ends.x, value), max(ends.y, value));
    }
    surf2Dwrite(ends, image, x * (int)sizeof(short2), y);
}

// The right neighbour's smallest and the lower neighbour's largest value; there is nothing but zeros outside.
__global__ void mix(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    short2 right = surf2Dread<short2>(from, (x + 1) * (int)sizeof(short2), y, cudaBoundaryModeZero);
    short2 below = surf2Dread<short2>(from, x * (int)sizeof(short2), y + 1, cudaBoundaryModeZero);
    surf2Dwrite(make_short2(right.x, below.y), to, x * (int)sizeof(short2), y, cudaBoundaryModeZero);
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 20, h = 13, d = 9, steps = 4;
    std::vector<int> now(w * h * d), next(now.size()), result(now.size());
    for (size_t i = 0; i < now.size(); i++)
        now[i] = (int)(i * i % 1009);

    cudaArray_t volumes[2], images[2];
    cudaTextureObject_t textures[2];
    cudaSurfaceObject_t surfaces[2], canvases[2];
    cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>(), pairs = cudaCreateChannelDesc<short2>();
    cudaExtent extent = make_cudaExtent(w, h, d);
    cudaTextureDesc point = {};
    point.addressMode[0] = point.addressMode[1] = point.addressMode[2] = cudaAddressModeClamp;
    for (int i = 0; i < 2; i++) {
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        CHECK(cudaMalloc3DArray(&volumes[i], &ints, extent, cudaArraySurfaceLoadStore));
        CHECK(cudaMallocArray(&images[i], &pairs, w, h, cudaArraySurfaceLoadStore));
        resource.res.array.array = volumes[i];
        CHECK(cudaCreateTextureObject(&textures[i], &resource, &point, nullptr));
        CHECK(cudaCreateSurfaceObject(&surfaces[i], &resource));
        resource.res.array.array = images[i];
        CHECK(cudaCreateSurfaceObject(&canvases[i], &resource));
    }
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(now.data(), w * sizeof(int), w, h);
    copy.dstArray = volumes[0];
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    dim3 block(16, 4), grid((w + 15) / 16, (h + 3) / 4), deep(grid.x, grid.y, d);
    for (int i = 0; i < steps; i++)
        step<<<deep, block>>>(textures[i % 2], surfaces[1 - i % 2], w, h, d);
    project<<<grid, block>>>(surfaces[steps % 2], canvases[0], w, h, d);
    mix<<<grid, block>>>(canvases[0], canvases[1], w, h);
    CHECK(cudaGetLastError());

    // The volume comes back in two parts, the lower layers and the others; then the second image.
    copy = {};
    copy.srcArray = volumes[steps % 2];
    copy.dstPtr = make_cudaPitchedPtr(result.data(), w * sizeof(int), w, h);
    copy.kind = cudaMemcpyDeviceToHost;
    for (int part = 0; part < 2; part++) {
        copy.srcPos = copy.dstPos = make_cudaPos(0, 0, part ? 3 : 0);
        copy.extent = make_cudaExtent(w, h, part ? d - 3 : 3);
        CHECK(cudaMemcpy3D(&copy));
    }
    std::vector<short2> image(w * h);
    CHECK(cudaMemcpy2DFromArray(image.data(), w * 4, images[1], 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
    for (cudaTextureObject_t texture : textures)
        CHECK(cudaDestroyTextureObject(texture));
    for (cudaSurfaceObject_t surface : {surfaces[0], surfaces[1], canvases[0], canvases[1]})
        CHECK(cudaDestroySurfaceObject(surface));
    for (cudaArray_t array : {volumes[0], volumes[1], images[0], images[1]})
        CHECK(cudaFreeArray(array));

    auto at = [&](int x, int y, int z) {
        x = std::min(std::max(x, 0), w - 1), y = std::min(std::max(y, 0), h - 1), z = std::min(std::max(z, 0), d - 1);
        return now[(z * h + y) * w + x];
    };
    for (int i = 0; i < steps; i++, now.swap(next))
        for (int j = 0; j < w * h * d; j++) {
            int x = j % w, y = j / w % h, z = j / w / h;
            int sum = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z);
            next[j] = (3 * at(x, y, z) + sum + at(x, y, z - 1) + at(x, y, z + 1)) % 1009;
        }
    bool right = result == now;
    long long total = 0, projected = 0;
    for (int i = 0; i < w * h; i++) {
        int x = i % w, y = i / w, smallest = 32767, largest = 0;
        for (int z = 0; z < d; z++) {
            smallest = x + 1 < w ? std::min(smallest, at(x + 1, y, z)) : 0;
            largest = y + 1 < h ? std::max(largest, at(x, y + 1, z)) : 0;
            total += (long long)result[z * w * h + i] * (z + 1);
        }
        right = right && image[i].x == smallest && image[i].y == largest;
        projected += image[i].x * 3 + image[i].y * (i % 4);
    }
    printf("%d x %d x %d, volume %lld, projections %lld\n", w, h, d, total, projected);
    puts(right ? "PASSED" : "FAILED: a voxel or a pixel differs");
    return right ? 0 : 1;
}
