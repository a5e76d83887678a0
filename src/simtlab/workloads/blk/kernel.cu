// Prices of European options by the formula of Black and Scholes (J. Political Economy 1973). The normal distribution is the
// polynomial 26.2.17 of Abramowitz and Stegun.

__device__ float normal(float d)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228040143267794f * __expf(-0.5f * d * d)
        * (k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - tail : tail;
}

__device__ void price(float &call, float &put, float stock, float strike, float years, float rate, float volatility)
{
    float root = sqrtf(years);
    float d1 = (__logf(stock / strike) + (rate + 0.5f * volatility * volatility) * years) / (volatility * root);
    float d2 = d1 - volatility * root;
    float in_one = normal(d1), in_two = normal(d2);
    float discount = __expf(-rate * years);
    call = stock * in_one - strike * discount * in_two;
    put = strike * discount * (1.0f - in_two) - stock * (1.0f - in_one);
}

extern "C" __global__ void BlackScholesGPU(float *calls, float *puts, const float *stocks, const float *strikes,
                                           const float *years, float rate, float volatility, int options)
{
    int threads = blockDim.x * gridDim.x;
#pragma unroll 1
    for (int option = blockDim.x * blockIdx.x + threadIdx.x; option < options; option += threads)
        price(calls[option], puts[option], stocks[option], strikes[option], years[option], rate, volatility);
}
