// Prices a portfolio of swaptions on paths of forward rates (the LIBOR market model), and says how the price moves with the last
// rate. A thread has a path, all of it in local memory: the rates, and for the second kernel every rate of every period, which the
// sensitivities are then taken from backwards.

#define MOST_RATES 80
#define MOST_PERIODS 40
#define OPTIONS 15

__constant__ int rates, periods, paths, maturities[OPTIONS];
__constant__ float delta, shock, spread, swaprates[OPTIONS], lambda[MOST_RATES];

// What a path begins with. Its shocks are one value in all periods, another for every path.
__device__ void begin(float *L, float *z, int path)
{
    float own = shock + spread * (2 * path + 1 - paths) / paths;
#pragma unroll 1
    for (int i = 0; i < rates; i++) {
        z[i] = own;
        L[i] = 0.05f;
    }
}

// Brings the rates through all periods; `kept` takes those of every period, or is null.
template <bool KEEP> __device__ void follow(float *L, const float *z, float *kept)
{
    if (KEEP)
#pragma unroll 1
        for (int i = 0; i < rates; i++)
            kept[i] = L[i];
#pragma unroll 1
    for (int n = 0; n < periods; n++) {
        float shift = sqrtf(delta) * z[n], drift = 0;
#pragma unroll 1
        for (int i = n + 1; i < rates; i++) {
            float volatility = lambda[i - n - 1], scaled = delta * volatility;
            drift += __fdividef(scaled * L[i], 1.0f + delta * L[i]);
            L[i] *= __expf(scaled * drift + volatility * (shift - 0.5f * scaled));
            if (KEEP)
                kept[i + (n + 1) * rates] = L[i];
        }
    }
}

// The value of all swaptions, discounted.
__device__ float portfolio(const float *L)
{
    float bond[MOST_PERIODS], annuity[MOST_PERIODS];
    float b = 1, s = 0;
#pragma unroll 1
    for (int n = periods; n < rates; n++) {
        b = b / (1.0f + delta * L[n]);
        s += delta * b;
        bond[n - periods] = b;
        annuity[n - periods] = s;
    }
    float value = 0;
#pragma unroll 1
    for (int k = 0; k < OPTIONS; k++) {
        int m = maturities[k] - 1;
        float swap = bond[m] + swaprates[k] * annuity[m] - 1.0f;
        if (swap < 0)
            value -= 100.0f * swap;
    }
    b = 1;
#pragma unroll 1
    for (int n = 0; n < periods; n++)
        b = b / (1.0f + delta * L[n]);
    return b * value;
}

// The same value, and in L's place its derivative by each of the last period's rates.
__device__ float portfolio_and_slopes(float *L)
{
    float bond[MOST_PERIODS], annuity[MOST_PERIODS], by_bond[MOST_PERIODS], by_annuity[MOST_PERIODS];
    int last = rates - periods;
    float b = 1, s = 0;
#pragma unroll 1
    for (int m = 0; m < last; m++) {
        b = __fdividef(b, 1.0f + delta * L[m + periods]);
        s += delta * b;
        bond[m] = b;
        annuity[m] = s;
        by_bond[m] = 0;
        by_annuity[m] = 0;
    }
    float value = 0;
#pragma unroll 1
    for (int k = 0; k < OPTIONS; k++) {
        int m = maturities[k] - 1;
        float swap = bond[m] + swaprates[k] * annuity[m] - 1.0f;
        if (swap < 0) {
            value -= 100.0f * swap;
            by_annuity[m] -= 100.0f * swaprates[k];
            by_bond[m] -= 100.0f;
        }
    }
    float discount = 1;
#pragma unroll 1
    for (int n = 0; n < periods; n++)
        discount = discount / (1.0f + delta * L[n]);
    value *= discount;
#pragma unroll 1
    for (int m = last - 1; m >= 0; m--) {
        float fall = __fdividef(1.0f, 1.0f + delta * L[m + periods]);
        by_bond[m] += delta * by_annuity[m];
        L[m + periods] = -discount * by_bond[m] * bond[m] * delta * fall;
        if (m > 0) {
            by_annuity[m - 1] += by_annuity[m];
            by_bond[m - 1] += by_bond[m] * fall;
        }
    }
#pragma unroll 1
    for (int n = 0; n < periods; n++)
        L[n] = -value * delta / (1.0f + delta * L[n]);
    return value;
}

// From slopes by the last period's rates to slopes by the first's.
__device__ void back(float *slope, const float *kept)
{
#pragma unroll 1
    for (int n = periods - 1; n >= 0; n--) {
        float by_drift = 0;
#pragma unroll 1
        for (int i = rates - 1; i > n; i--) {
            float before = kept[i + n * rates], after = kept[i + (n + 1) * rates], volatility = lambda[i - n - 1];
            by_drift += volatility * after * slope[i];
            float fall = __fdividef(delta, 1.0f + delta * before);
            slope[i] = slope[i] * __fdividef(after, before) + by_drift * volatility * fall * fall;
        }
    }
}

extern "C" __global__ void Pathcalc_Portfolio_KernelGPU(float *values, float *slopes)
{
    float L[MOST_RATES], kept[MOST_RATES * (MOST_PERIODS + 1)], z[MOST_RATES];
#pragma unroll 1
    for (int path = blockDim.x * blockIdx.x + threadIdx.x; path < paths; path += blockDim.x * gridDim.x) {
        begin(L, z, path);
        follow<true>(L, z, kept);
        values[path] = portfolio_and_slopes(L);
        back(L, kept);
        slopes[path] = L[rates - 1];
    }
}

extern "C" __global__ void Pathcalc_Portfolio_KernelGPU2(float *values)
{
    float L[MOST_RATES], z[MOST_RATES];
#pragma unroll 1
    for (int path = blockDim.x * blockIdx.x + threadIdx.x; path < paths; path += blockDim.x * gridDim.x) {
        begin(L, z, path);
        follow<false>(L, z, nullptr);
        values[path] = portfolio(L);
    }
}
