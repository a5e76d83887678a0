// Single-source shortest paths, topology-driven: every round, every node offers its neighbours a way through itself, and rounds
// go on until no offer is better than what a neighbour has.

extern "C" __global__ void initialize(unsigned *distance, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes)
        distance[node] = 1000000000;
}

// Whether a way through `node` over its edge number k is shorter than any that the edge's end knew.
__device__ bool process_edge(
    unsigned *distance, const int *first_edge, const int *targets, const unsigned *weights, int node, int k)
{
    int edge = first_edge[node] + k;
    int target = targets[edge];
    unsigned offer = distance[node] + weights[edge];
    if (offer < distance[target]) {
        unsigned before = atomicMin(distance + target, offer);
        return offer < before;
    }
    return false;
}

extern "C" __global__ void drelax(unsigned *distance, const int *first_edge, const int *out_degree, const int *targets,
                                  const unsigned *weights, int n_nodes, int *changed)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n_nodes)
        return;
    bool better = false;
    int degree = out_degree[node];
#pragma unroll 1
    for (int k = 0; k < degree; k++)
        if (process_edge(distance, first_edge, targets, weights, node, k))
            better = true;
    if (better)
        *changed = 1;
}
