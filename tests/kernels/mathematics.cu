// The CUDA mathematical library: every kernel applies one function to an array.
#define ONE(type, kernel, call)                                                      \
    extern "C" __global__ void kernel(const type *x, const type *y, type *out, int n)  \
    {                                                                                \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                               \
        if (i < n) out[i] = call;                                                    \
    }
#define SINGLE(name) ONE(float, name##_single, name##f(x[i]))
#define DOUBLE(name) ONE(double, name##_double, name(x[i]))
#define BOTH(name) SINGLE(name) DOUBLE(name)

BOTH(sin) BOTH(cos) BOTH(tan) BOTH(exp) BOTH(log) BOTH(sqrt) BOTH(cbrt) BOTH(exp2) BOTH(log2) BOTH(log10)
BOTH(asin) BOTH(acos) BOTH(atan) BOTH(sinh) BOTH(cosh) BOTH(tanh) BOTH(expm1) BOTH(log1p) BOTH(erf) BOTH(erfc)
BOTH(tgamma) BOTH(floor) BOTH(ceil) BOTH(trunc) BOTH(rint) BOTH(round)

ONE(float, pow_single, powf(x[i], y[i]))
ONE(double, pow_double, pow(x[i], y[i]))
ONE(float, atan2_single, atan2f(x[i], y[i]))
ONE(double, atan2_double, atan2(x[i], y[i]))
ONE(float, fmod_single, fmodf(x[i], y[i]))
ONE(double, fmod_double, fmod(x[i], y[i]))
ONE(float, hypot_single, hypotf(x[i], y[i]))
ONE(double, hypot_double, hypot(x[i], y[i]))
ONE(float, divide_single, x[i] / y[i])
ONE(double, divide_double, x[i] / y[i])
ONE(double, fused_double, fma(x[i], y[i], 1.0))

extern "C" __global__ void parts(const double *x, double *fraction, int *exponent, double *whole, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    fraction[i] = frexp(x[i], &exponent[i]);
    modf(x[i], &whole[i]);
    whole[i] = ldexp(whole[i], 3);
}
