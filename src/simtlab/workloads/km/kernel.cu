// The assignment step of k-means: each thread finds the centre nearest to its point. Features are stored one after
// another for all points, so that a warp's loads are coalesced; a first kernel turns the input round.

#define MAX_CLUSTERS 32
#define MAX_FEATURES 34

__constant__ float centres[MAX_CLUSTERS * MAX_FEATURES];

extern "C" __global__ void invert_mapping(float *by_point, float *by_feature, int n_points, int n_features)
{
    int point = threadIdx.x + blockDim.x * blockIdx.x;
    if (point < n_points)
#pragma unroll 1
        for (int k = 0; k < n_features; k++)
            by_feature[point + n_points * k] = by_point[point * n_features + k];
}

struct GlobalFeatures {
    float *values;
    __device__ float operator[](int k) const { return values[k]; }
};

struct TextureFeatures {
    cudaTextureObject_t values;
    __device__ float operator[](int k) const { return tex1Dfetch<float>(values, k); }
};

template <typename Features>
__device__ void assign(Features features, int n_features, int n_points, int n_clusters, int *membership)
{
    int block = gridDim.x * blockIdx.y + blockIdx.x;
    int point = block * blockDim.x + threadIdx.x;
    if (point >= n_points)
        return;
    int nearest = -1;
    float least = 3.402823466e38f;
#pragma unroll 1
    for (int c = 0; c < n_clusters; c++) {
        float distance = 0.0f;
#pragma unroll 1
        for (int k = 0; k < n_features; k++) {
            float difference = features[point + k * n_points] - centres[c * n_features + k];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = c;
        }
    }
    membership[point] = nearest;
}

extern "C" __global__ void kmeansPoint(float *features, int n_features, int n_points, int n_clusters, int *membership)
{
    assign(GlobalFeatures{features}, n_features, n_points, n_clusters, membership);
}

extern "C" __global__ void kmeansPointTexture(
    cudaTextureObject_t features, int n_features, int n_points, int n_clusters, int *membership)
{
    assign(TextureFeatures{features}, n_features, n_points, n_clusters, membership);
}
