// A particle filter that follows an object through a film, in doubles, four kernels a frame: particles move at random and are
// weighed by how well the object fits there; the weights are added up, normalised and accumulated; particles are drawn anew.

#define THREADS 512
#define OBJECT 228
#define GROUND 100

// The next number in [0, 1) of a thread's state, which is in memory.
__device__ double uniform(int *seed, int index)
{
    const int modulus = 2147483647;
    int product = 1103515245u * seed[index] + 12345u;
    seed[index] = product % modulus;
    return fabs(seed[index] / (double)modulus);
}

__device__ double normal(int *seed, int index)
{
    double one = uniform(seed, index);
    double other = uniform(seed, index);
    return sqrt(-2 * log(one)) * cos(2 * 3.14159265358979323846 * other);
}

// The points of the film under the object are noted in memory first, those of a thread one after another, and then read.
extern "C" __global__ void likelihood_kernel(double *arrayX, double *arrayY, double *xj, double *yj, int *ind, int *objxy,
                                             double *likelihood, unsigned char *film, double *weights, int particles,
                                             int countOnes, int filmSize, int frame, int height, int frames, int *seed,
                                             double *partial_sums)
{
    __shared__ double buffer[THREADS];
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < particles) {
        weights[i] = 1 / (double)particles;
        arrayX[i] = xj[i] + 1.0 + 5.0 * normal(seed, i);
        arrayY[i] = yj[i] - 2.0 + 2.0 * normal(seed, i);
    }
    __syncthreads();

    if (i < particles) {
#pragma unroll 1
        for (int k = 0; k < countOnes; k++) {
            int x = int(floor(arrayX[i] + 0.5)) + objxy[2 * k + 1];
            int y = int(floor(arrayY[i] + 0.5)) + objxy[2 * k];
            int index = abs(x * height * frames + y * frames + frame);
            ind[i * countOnes + k] = index < filmSize ? index : 0;
        }
        double sum = 0;
#pragma unroll 1
        for (int k = 0; k < countOnes; k++) {
            int grey = film[ind[i * countOnes + k]];
            sum += (pow((double)(grey - GROUND), 2) - pow((double)(grey - OBJECT), 2)) / 50.0;
        }
        likelihood[i] = sum / countOnes;
        weights[i] = weights[i] * exp(likelihood[i]);
    }
    buffer[threadIdx.x] = 0.0;
    __syncthreads();
    if (i < particles)
        buffer[threadIdx.x] = weights[i];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            buffer[threadIdx.x] += buffer[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial_sums[blockIdx.x] = buffer[0];
}

// One thread of the grid: the CTAs' sums, and the first step of the ladder.
extern "C" __global__ void sum_kernel(double *partial_sums, double *u, int *seed, int particles)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i == 0) {
        double sum = 0.0;
#pragma unroll 1
        for (int cta = 0; cta < gridDim.x; cta++)
            sum += partial_sums[cta];
        partial_sums[0] = sum;
        u[0] = sum * (1 / (double)particles) * uniform(seed, 0);
    }
}

// One thread of the grid accumulates all weights, while the others have nothing left to do. It takes them as they were, since
// other CTAs may not have normalised theirs; the ladder is as high as their sum instead.
extern "C" __global__ void normalize_weights_kernel(double *weights, double *normalised, int particles, double *partial_sums,
                                                    double *CDF, double *u)
{
    __shared__ double first, sum;
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (threadIdx.x == 0)
        sum = partial_sums[0];
    __syncthreads();
    if (i < particles)
        normalised[i] = weights[i] / sum;
    __syncthreads();
    if (i == 0) {
        double before = 0;
#pragma unroll 1
        for (int x = 0; x < particles; x++) {
            before += weights[x];
            CDF[x] = before;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        first = u[0];
    __syncthreads();
    if (i < particles)
        u[i] = first + i / (double)particles * sum;  // the first step stays as it is, whoever reads it when
}

extern "C" __global__ void find_index_kernel(double *arrayX, double *arrayY, double *CDF, double *u, double *xj, double *yj,
                                             double *weights, int particles)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < particles) {
        int index = -1;
#pragma unroll 1
        for (int x = 0; x < particles; x++) {
            if (CDF[x] >= u[i]) {
                index = x;
                break;
            }
        }
        if (index == -1)
            index = particles - 1;
        xj[i] = arrayX[index];
        yj[i] = arrayY[index];
    }
    __syncthreads();
}
