// Speckle-reducing anisotropic diffusion, the first version: one point a thread in one long row of CTAs, columns of the image one
// after another, nothing in shared memory but the sums of the statistics. Who a point's neighbours are is read from four lists.

#define THREADS 512

extern "C" __global__ void extract(long long points, float *image)
{
    int point = blockIdx.x * THREADS + threadIdx.x;
    if (point < points)
        image[point] = expf(image[point] / 255);
}

extern "C" __global__ void prepare(long long points, float *image, float *sums, float *squares)
{
    int point = blockIdx.x * THREADS + threadIdx.x;
    if (point < points) {
        sums[point] = image[point];
        squares[point] = image[point] * image[point];
    }
}

__device__ void addPairs(float *some, float *someSquares, int width, int most)
{
    int t = threadIdx.x;
    if (((t + 1) & (width - 1)) == 0 && t < most) {
        some[t] += some[t - width / 2];
        someSquares[t] += someSquares[t - width / 2];
    }
    __syncthreads();
}

// Of `count` numbers, `stride` apart, each CTA adds up its 512 and leaves the sum where its first one was. Pairs, then pairs of
// pairs, and so on: a warp's threads at work are ever further apart. Of a CTA that is not full, only the largest power of two is
// added up in this way, and the last thread of that adds the rest from memory.
extern "C" __global__ void reduce(long long points, int count, int stride, float *sums, float *squares)
{
    __shared__ float some[THREADS], someSquares[THREADS];
    int t = threadIdx.x, first = blockIdx.x * THREADS;
    int held = min(count - first, THREADS), power = THREADS;

    if (t < held) {
        some[t] = sums[(first + t) * stride];
        someSquares[t] = squares[(first + t) * stride];
    }
    __syncthreads();

    if (held == THREADS) {
        for (int width = 2; width <= THREADS; width *= 2)
            addPairs(some, someSquares, width, THREADS);
    } else {
        power = 1 << (31 - __clz(held));
#pragma unroll 1
        for (int width = 2; width <= power; width *= 2)
            addPairs(some, someSquares, width, power);
    }
    if (t == power - 1) {
#pragma unroll 1
        for (int rest = power; rest < held; rest++) {
            some[t] += sums[(first + rest) * stride];
            someSquares[t] += squares[(first + rest) * stride];
        }
        sums[first * stride] = some[t];
        squares[first * stride] = someSquares[t];
    }
}

extern "C" __global__ void srad(float lambda, int rows, int columns, long long points, int *above, int *below, int *right,
                                int *left, float *north, float *south, float *east, float *west, float q0sqr,
                                float *coefficient, float *image)
{
    int point = blockIdx.x * THREADS + threadIdx.x;
    if (point >= points)
        return;
    int row = point % rows, column = point / rows;
    float here = image[point];
    float n = image[above[row] + rows * column] - here;
    float s = image[below[row] + rows * column] - here;
    float w = image[row + rows * left[column]] - here;
    float e = image[row + rows * right[column]] - here;

    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float numerator = 0.5 * gradient - (1.0 / 16.0) * (laplacian * laplacian);
    float denominator = 1 + 0.25 * laplacian;
    float qsqr = numerator / (denominator * denominator);
    denominator = (qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
    float c = 1.0 / (1.0 + denominator);

    north[point] = n;
    south[point] = s;
    west[point] = w;
    east[point] = e;
    coefficient[point] = c < 0 ? 0 : c > 1 ? 1 : c;
}

extern "C" __global__ void srad2(float lambda, int rows, int columns, long long points, int *above, int *below, int *right,
                                 int *left, float *north, float *south, float *east, float *west, float *coefficient,
                                 float *image)
{
    int point = blockIdx.x * THREADS + threadIdx.x;
    if (point >= points)
        return;
    int row = point % rows, column = point / rows;
    float here = coefficient[point];
    float beneath = coefficient[below[row] + rows * column];
    float beside = coefficient[row + rows * right[column]];
    float flow = here * north[point] + beneath * south[point] + here * west[point] + beside * east[point];
    image[point] = image[point] + 0.25 * lambda * flow;
}

extern "C" __global__ void compress(long long points, float *image)
{
    int point = blockIdx.x * THREADS + threadIdx.x;
    if (point < points)
        image[point] = logf(image[point]) * 255;
}
