// A network that reads handwritten digits: two layers of 5x5 windows, every second place of the layer below, and two in which every
// neuron looks at all below. A neuron's first weight is its threshold. blockIdx.y counts images.

#define IMAGE (29 * 29)
#define MAP (13 * 13)
#define MAPS 6
#define SECOND (50 * 25)
#define HIDDEN 100
#define DIGITS 10

// Places of a window's neurons from its corner, in an image and in a map of the second layer.
__constant__ int imageWindow[25] = {0, 1, 2, 3, 4, 29, 30, 31, 32, 33, 58, 59, 60, 61, 62, 87, 88, 89, 90, 91, 116, 117, 118, 119, 120};
__constant__ int mapWindow[25] = {0, 1, 2, 3, 4, 13, 14, 15, 16, 17, 26, 27, 28, 29, 30, 39, 40, 41, 42, 43, 52, 53, 54, 55, 56};

__device__ float squashed(float sum) { return 1.7159 * tanhf(0.66666667 * sum); }

extern "C" __global__ void executeFirstLayer(const float *image, const float *weights, float *maps)
{
    const int map = blockIdx.x, x = threadIdx.x, y = threadIdx.y;
    const float *corner = image + IMAGE * blockIdx.y + 2 * y * 29 + 2 * x;
    const float *weight = weights + 26 * map;
    float sum = *weight++;
    for (int i = 0; i < 25; i++)
        sum += corner[imageWindow[i]] * weight[i];
    maps[MAPS * MAP * blockIdx.y + MAP * map + 13 * y + x] = squashed(sum);
}

extern "C" __global__ void executeSecondLayer(const float *maps, const float *weights, float *second)
{
    const int map = blockIdx.x, x = threadIdx.x, y = threadIdx.y;
    const float *corner = maps + MAPS * MAP * blockIdx.y + 2 * y * 13 + 2 * x;
    const float *weight = weights + 26 * MAPS * map;  // one threshold, and the last five are not used
    float sum = *weight++;
    for (int i = 0; i < 25; i++)
        for (int below = 0; below < MAPS; below++)
            sum += corner[MAP * below + mapWindow[i]] * weight[MAPS * i + below];
    second[SECOND * blockIdx.y + 25 * map + 5 * y + x] = squashed(sum);
}

// One neuron a CTA, of one thread.
__device__ float wholeLayer(const float *below, const float *weights, int neurons)
{
    float sum = *weights++;
    for (int i = 0; i < neurons; i++)
        sum += below[i] * weights[i];
    return squashed(sum);
}

extern "C" __global__ void executeThirdLayer(const float *second, const float *weights, float *hidden)
{
    const float *own = weights + (SECOND + 1) * blockIdx.x;
    hidden[HIDDEN * blockIdx.y + blockIdx.x] = wholeLayer(second + SECOND * blockIdx.y, own, SECOND);
}

extern "C" __global__ void executeFourthLayer(const float *hidden, const float *weights, float *digits)
{
    const float *own = weights + (HIDDEN + 1) * blockIdx.x;
    digits[DIGITS * blockIdx.y + blockIdx.x] = wholeLayer(hidden + HIDDEN * blockIdx.y, own, HIDDEN);
}
