// An image through textures: blurred and looked up in a table, enlarged, shifted round its edges.
// There for: texture objects over linear memory, pitched memory and arrays, point and linear filtering, normalised
// coordinates, cudaMallocArray, cudaMemcpy2DToArray, cudaMemcpy2DFromArray.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) { cudaError_t e = (call); if (e != cudaSuccess) {                                            \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); }}

template <typename T>
struct Buffer {  // an array on the host and on the device
    std::vector<T> host;
    T *device;
    explicit Buffer(size_t n) : host(n) { CHECK(cudaMalloc(&device, n * sizeof(T))) }
    ~Buffer() { CHECK(cudaFree(device)) }
    void fetch() { CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost)) }
};

struct Textures { cudaTextureObject_t table, grey, single, colour; };

__global__ void filter(Textures textures, int *blurred, float *large, float4 *shifted, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, sum = 0;
    // Twice as large by linear filtering: the weights are quarters, so that every value is exact.
    if (x < 2 * w && y < 2 * h)
        large[y * 2 * w + x] = tex2D<float>(textures.single, x * 0.5f + 0.25f, y * 0.5f + 0.25f);
    if (x >= w || y >= h)
        return;
    // The mean of 3 x 3 pixels, edges repeated, through a table.
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += tex2D<unsigned char>(textures.grey, x + dx + 0.5f, y + dy + 0.5f);
    blurred[y * w + x] = tex1Dfetch<int>(textures.table, sum / 9);
    // Eleven and a half pixels to the right and five up, what leaves comes in again: the mean of two pixels.
    shifted[y * w + x] = tex2D<float4>(textures.colour, (x - 11.0f) / w, (y + 5.5f) / h);
}

static cudaTextureObject_t texture(const cudaResourceDesc &resource, cudaTextureFilterMode filter, bool normalised)
{
    cudaTextureObject_t object = 0;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = normalised ? cudaAddressModeWrap : cudaAddressModeClamp;
    description.filterMode = filter;
    description.readMode = normalised ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    description.normalizedCoords = normalised;
    CHECK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 70, h = argc > 2 ? atoi(argv[2]) : 45;
    std::vector<unsigned char> grey(w * h);
    std::vector<uchar4> colours(w * h), back(w * h);
    std::vector<float> floats(w * h);
    Buffer<int> table(256), blurred(w * h);
    Buffer<float> large(4 * w * h);
    Buffer<float4> shifted(w * h);
    for (int i = 0; i < w * h; i++) {
        floats[i] = grey[i] = (i % w * 3 + i / w * 5 + i % 7 * 9) % 256;
        colours[i] = make_uchar4(grey[i], 255 - grey[i], i % 256, i / w % 256);
    }
    for (int i = 0; i < 256; i++)
        table.host[i] = i * i - 77 * i;
    // The three kinds of memory behind a texture: linear, pitched, arrays.
    unsigned char *d_grey;
    size_t pitch;
    cudaArray_t float_array, colour_array;
    auto single = cudaCreateChannelDesc<float>();
    auto bytes4 = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    CHECK(cudaMallocPitch(&d_grey, &pitch, w, h));
    CHECK(cudaMallocArray(&float_array, &single, w, h));
    CHECK(cudaMallocArray(&colour_array, &bytes4, w, h, cudaArrayDefault));
    CHECK(cudaMemcpy(table.device, table.host.data(), 256 * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(d_grey, pitch, grey.data(), w, w, h, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DToArray(float_array, 0, 0, floats.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DToArray(colour_array, 0, 0, colours.data(), w * 4, w * 4, h, cudaMemcpyDefault));
    cudaResourceDesc linear = {}, pitched = {}, array = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear = {table.device, cudaCreateChannelDesc<int>(), 256 * sizeof(int)};
    pitched.resType = cudaResourceTypePitch2D;
    pitched.res.pitch2D = {d_grey, cudaCreateChannelDesc<unsigned char>(), (size_t)w, (size_t)h, pitch};
    array.resType = cudaResourceTypeArray;
    array.res.array.array = float_array;
    Textures textures = {texture(linear, cudaFilterModePoint, false), texture(pitched, cudaFilterModePoint, false),
                         texture(array, cudaFilterModeLinear, false), 0};
    array.res.array.array = colour_array;
    textures.colour = texture(array, cudaFilterModeLinear, true);
    dim3 block(16, 8), grid((2 * w + 15) / 16, (2 * h + 7) / 8);
    filter<<<grid, block>>>(textures, blurred.device, large.device, shifted.device, w, h);
    CHECK(cudaPeekAtLastError());
    blurred.fetch(), large.fetch(), shifted.fetch();
    CHECK(cudaMemcpy2DFromArray(back.data(), w * 4, colour_array, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
    for (cudaTextureObject_t object : {textures.table, textures.grey, textures.single, textures.colour})
        CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(float_array));
    CHECK(cudaFreeArray(colour_array));
    CHECK(cudaFree(d_grey));
    auto clamped = [&](int x, int y) { return std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1); };
    bool right = memcmp(back.data(), colours.data(), w * h * sizeof(uchar4)) == 0;
    long long sums[3] = {};
    for (int i = 0; i < w * h; i++) {
        int x = i % w, y = i / w, sum = 0;
        for (int j = 0; j < 9; j++)
            sum += grey[clamped(x + j % 3 - 1, y + j / 3 - 1)];
        int row = (y + 5) % h * w;
        uchar4 one = colours[row + (x - 12 + 12 * w) % w], two = colours[row + (x - 11 + 12 * w) % w];
        int red = (int)lroundf(510 * shifted.host[i].x), alpha = (int)lroundf(510 * shifted.host[i].w);
        right = right && blurred.host[i] == table.host[sum / 9] && red == one.x + two.x && alpha == one.w + two.w;
        sums[0] += blurred.host[i] * (i % 3 + 1);
        sums[1] += red + alpha * (i % 4);
    }
    for (int i = 0; i < 4 * w * h; i++) {
        float x = i % (2 * w) * 0.5f - 0.25f, y = i / (2 * w) * 0.5f - 0.25f, a = x - floorf(x), b = y - floorf(y);
        auto at = [&](int dx, int dy) { return floats[clamped((int)floorf(x) + dx, (int)floorf(y) + dy)]; };
        float upper = (1 - a) * at(0, 0) + a * at(1, 0), lower = (1 - a) * at(0, 1) + a * at(1, 1);
        right = right && large.host[i] == (1 - b) * upper + b * lower;
        sums[2] += (long long)(large.host[i] * 16) * (i % 5 + 1);
    }
    printf("%d x %d, blurred %lld, shifted %lld, enlarged %lld\n", w, h, sums[0], sums[1], sums[2]);
    puts(right ? "PASSED" : "FAILED: an image differs");
    return right ? 0 : 1;
}
