// Scalar products of many pairs of vectors. A CTA has one pair at a time: its threads add up into 1024 partial sums in shared
// memory, which a tree then adds up.

#define SUMS 1024

extern "C" __global__ void scalarProdGPU(float *products, const float *a, const float *b, int vectors, int elements)
{
    __shared__ float partial[SUMS];
#pragma unroll 1
    for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
        int begin = elements * vector, end = begin + elements;
#pragma unroll 1
        for (int k = threadIdx.x; k < SUMS; k += blockDim.x) {
            float sum = 0;
#pragma unroll 1
            for (int place = begin + k; place < end; place += SUMS)
                sum += a[place] * b[place];
            partial[k] = sum;
        }
#pragma unroll 1
        for (int stride = SUMS / 2; stride > 0; stride >>= 1) {
            __syncthreads();
#pragma unroll 1
            for (int k = threadIdx.x; k < stride; k += blockDim.x)
                partial[k] += partial[stride + k];
        }
        if (threadIdx.x == 0)
            products[vector] = partial[0];
    }
}
