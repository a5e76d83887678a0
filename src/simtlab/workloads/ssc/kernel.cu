// Similarity score as a MapReduce job: a task has a pair of documents and emits the cosine of the angle between their feature
// vectors as the key, and the pair as the value. The most similar pairs come first; there is no reduce.

#include "../mars/tasks.cuh"

struct Features {
    const float *matrix;
};

struct Pair {
    int one, other, features;
    float score;  // not used: the score is the key of what is emitted
};

extern __shared__ int emitted[][5];  // a task's words for what it emits

__device__ void mapCount(const char *key, const char *val, Sizes sizes) { emitCount(sizes, sizeof(float), sizeof(int2)); }

__device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ void map(char *key, const char *val, Output output)
{
    const float *matrix = ((const Features *)key)->matrix;
    const Pair *pair = (const Pair *)val;
    const int one = pair->one, other = pair->other, features = pair->features;
    const float4 *a = (const float4 *)(matrix + one * features), *b = (const float4 *)(matrix + other * features);
    float product = 0, squareA = 0, squareB = 0;
#pragma unroll 1
    for (int i = 0; i < features / 4; i++) {
        const float4 x = a[i], y = b[i];
        product += dot(x, y);
        squareA += dot(x, x);
        squareB += dot(y, y);
    }
    int *words = emitted[threadIdx.x];
    words[0] = __float_as_int(product / (sqrtf(squareA) * sqrtf(squareB)));
    words[1] = one;
    words[2] = other;
    emit(output, (const char *)words, (const char *)(words + 1), sizeof(float), sizeof(int2));
}

__device__ float scoreOf(const char *keys, int4 entry) { return *(const float *)(keys + entry.x); }

// Of pairs as similar, the one that was emitted first.
__device__ bool before(const char *keys, int4 a, int4 b)
{
    if (isPadding(a) || isPadding(b))
        return !isPadding(a);
    const float scoreA = scoreOf(keys, a), scoreB = scoreOf(keys, b);
    return scoreA != scoreB ? scoreA > scoreB : a.z < b.z;
}

__device__ bool sameKey(const char *keys, int4 a, int4 b) { return scoreOf(keys, a) == scoreOf(keys, b); }
