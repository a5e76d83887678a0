// The small kernels of docs/course.md.

// 3.1.1: a branch within a branch. Lanes part, part again, and meet.
extern "C" __global__ void nested(const int *kind, volatile int *out)
{
    int lane = threadIdx.x, value = kind[lane];
    if (value < 3) {
        if (value == 0)
            out[lane] = 10;
        else
            out[lane] = 20 * value;
    } else {
        out[lane] = 30;
    }
    out[lane + 32] = lane;
}

// 3.1.2: a lock that the lanes of a warp want at the same time.
extern "C" __global__ void spin(int *mutex, int *count)
{
    while (atomicCAS(mutex, 0, 1) != 0) { }
    *count += 1;
    atomicExch(mutex, 0);
}

// 3.1.3, 5.1: each thread adds up a row of its own.
extern "C" __global__ void rows(const float *in, float *out)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 32; k++)
        sum += in[row * 32 + k];
    out[row] = sum;
}

// 3.3: multiply-adds, three registers read by each.
extern "C" __global__ void chains(float *out, float a, float b)
{
    float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
    for (int k = 0; k < 64; k++) {
        x = x * y + a; y = y * z + b; z = z * w + a; w = w * x + b;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + z + w;
}

// 4.3: eight arrays read side by side.
extern "C" __global__ void streams(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; k++)
        sum += in[k * n + i];
    out[i] = sum;
}
