// Batched 512-point FFTs: a CTA of 64 threads each, a thread with eight points in registers. 512 is 8·8·8: three rounds of
// eight-point transforms, with a multiplication by twiddle factors and an exchange through shared memory in between.

const int THREADS = 64;
const int POINTS = 8;                     // of a thread
const int ROW_A = 66, ROW_B = 72;         // words a row of the first and second exchange, padded against bank conflicts
const double TWO_PI = 6.283185307179586477;
const float SQRT_HALF = 0.70710678118654752440f;

__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 subtract(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 multiply(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// SIGN is -1 for the transform and +1 for its inverse: the sign of the exponent.
template <int SIGN> __device__ float2 quarter_turn(float2 a) { return make_float2(-SIGN * a.y, SIGN * a.x); }

template <int SIGN> __device__ float2 eighth_turn(float2 a)
{
    return make_float2((a.x - SIGN * a.y) * SQRT_HALF, (SIGN * a.x + a.y) * SQRT_HALF);
}

__device__ void butterfly(float2 &a, float2 &b)
{
    const float2 difference = subtract(a, b);
    a = add(a, b);
    b = difference;
}

template <int SIGN> __device__ void fft4(float2 &a0, float2 &a1, float2 &a2, float2 &a3)
{
    butterfly(a0, a2);
    butterfly(a1, a3);
    a3 = quarter_turn<SIGN>(a3);
    butterfly(a0, a1);
    butterfly(a2, a3);
}

// Decimation in frequency; result k is in a[reversed(k)].
template <int SIGN> __device__ void fft8(float2 a[POINTS])
{
    butterfly(a[0], a[4]);
    butterfly(a[1], a[5]);
    butterfly(a[2], a[6]);
    butterfly(a[3], a[7]);
    a[5] = eighth_turn<SIGN>(a[5]);
    a[6] = quarter_turn<SIGN>(a[6]);
    a[7] = quarter_turn<SIGN>(eighth_turn<SIGN>(a[7]));
    fft4<SIGN>(a[0], a[1], a[2], a[3]);
    fft4<SIGN>(a[4], a[5], a[6], a[7]);
}

__device__ constexpr int reversed(int k) { return (k & 1) << 2 | (k & 2) | k >> 2; }

template <int SIGN, int LENGTH> __device__ void twiddle(float2 a[POINTS], int place)
{
#pragma unroll
    for (int k = 1; k < POINTS; k++) {
        const float angle = SIGN * TWO_PI * k / LENGTH * place;
        const float2 factor = make_float2(__cosf(angle), __sinf(angle));
        a[reversed(k)] = multiply(a[reversed(k)], factor);
    }
}

// Hands points from thread to thread, real parts first, imaginary parts through the same words after them.
__device__ void exchange(float2 a[POINTS], float *words, int to, int to_step, int from, int from_step)
{
    float real[POINTS];
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        words[to + k * to_step] = a[reversed(k)].x;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        real[k] = words[from + k * from_step];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        words[to + k * to_step] = a[reversed(k)].y;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        a[k] = make_float2(real[k], words[from + k * from_step]);
    __syncthreads();
}

template <int SIGN> __device__ void fft512(float2 *work, float scale)
{
    __shared__ float words[POINTS * ROW_B];
    const int high = threadIdx.x >> 3;
    const int low = threadIdx.x & 7;
    work += blockIdx.x * (THREADS * POINTS) + threadIdx.x;

    float2 a[POINTS];
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        a[k] = work[k * THREADS];

    fft8<SIGN>(a);
    twiddle<SIGN, 512>(a, threadIdx.x);
    exchange(a, words, threadIdx.x, ROW_A, low * ROW_A + high, POINTS);
    fft8<SIGN>(a);
    twiddle<SIGN, 64>(a, high);
    exchange(a, words, threadIdx.x, ROW_B, high * ROW_B + low, POINTS);
    fft8<SIGN>(a);

#pragma unroll
    for (int k = 0; k < POINTS; k++) {
        const float2 result = a[reversed(k)];
        work[k * THREADS] = make_float2(result.x * scale, result.y * scale);
    }
}

extern "C" __global__ void FFT512_device(float2 *work)
{
    fft512<-1>(work, 1.0f);
}

extern "C" __global__ void IFFT512_device(float2 *work)
{
    fft512<+1>(work, 1.0f / 512);
}
