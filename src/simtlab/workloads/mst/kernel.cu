// A minimum spanning tree by Boruvka's rounds: every component finds the lightest edge that leaves it, and joins the component at
// the other end. `parent` leads from a node to its component, in one step or several. Edges of one weight are ordered by their
// numbers, so that components can only choose one another in pairs, never in a ring.

#define NONE 0xffffffffu

__device__ int find(const int *parent, int node)
{
    int up = parent[node];
#pragma unroll 1
    while (up != node) {
        node = up;
        up = parent[node];
    }
    return node;
}

extern "C" __global__ void dinitcs(int *parent, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes)
        parent[node] = node;
}

extern "C" __global__ void dinit(unsigned *node_least, unsigned *least, unsigned *chosen, int *partner, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes) {
        node_least[node] = NONE;
        least[node] = NONE;
        chosen[node] = NONE;
        partner[node] = node;
    }
}

// The lightest weight that leaves a node's component, of this node's edges and then of the component's.
extern "C" __global__ void dfindelemin(const int *parent, const int *first_edge, const int *targets, const unsigned *weights,
                                       unsigned *node_least, unsigned *least, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n_nodes)
        return;
    int component = find(parent, node), end = first_edge[node + 1];
    unsigned lightest = NONE;
#pragma unroll 1
    for (int edge = first_edge[node]; edge < end; edge++) {
        unsigned weight = weights[edge];
        if (weight < lightest && find(parent, targets[edge]) != component)
            lightest = weight;
    }
    node_least[node] = lightest;
    if (lightest != NONE)
        atomicMin(least + component, lightest);
}

// Of a component's edges of that weight, the one with the lowest number.
extern "C" __global__ void dfindelemin2(const int *parent, const int *first_edge, const int *targets, const unsigned *weights,
                                        const unsigned *numbers, const unsigned *node_least, const unsigned *least,
                                        unsigned *chosen, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n_nodes)
        return;
    int component = find(parent, node), end = first_edge[node + 1];
    unsigned lightest = node_least[node];
    if (lightest == NONE || lightest != least[component])
        return;
#pragma unroll 1
    for (int edge = first_edge[node]; edge < end; edge++)
        if (weights[edge] == lightest && find(parent, targets[edge]) != component)
            atomicMin(chosen + component, numbers[edge]);
}

// The one node that has the chosen edge says where it leads.
extern "C" __global__ void verify_min_elem(const int *parent, const int *first_edge, const int *targets,
                                           const unsigned *numbers, const unsigned *node_least, const unsigned *least,
                                           const unsigned *chosen, int *partner, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n_nodes)
        return;
    int component = find(parent, node), end = first_edge[node + 1];
    if (node_least[node] == NONE || node_least[node] != least[component])
        return;
#pragma unroll 1
    for (int edge = first_edge[node]; edge < end; edge++)
        if (numbers[edge] == chosen[component])
            partner[component] = find(parent, targets[edge]);
}

// Two components that chose one another: the lower one stays, so that the edge counts once.
extern "C" __global__ void elim_dups(const int *partner, int *joins, int n_nodes)
{
    int component = blockIdx.x * blockDim.x + threadIdx.x;
    if (component < n_nodes) {
        int other = partner[component];
        joins[component] = other != component && !(partner[other] == component && component < other);
    }
}

// Components join; a fixed number of CTAs goes through all of them.
extern "C" __global__ void dfindcompmintwo(int *parent, const int *partner, const int *joins, const unsigned *least,
                                           unsigned long long *total, int *repeat, int n_nodes)
{
    int threads = gridDim.x * blockDim.x;
#pragma unroll 1
    for (int component = blockIdx.x * blockDim.x + threadIdx.x; component < n_nodes; component += threads)
        if (joins[component]) {
            parent[component] = partner[component];
            atomicAdd(total, (unsigned long long)least[component]);
            *repeat = 1;
        }
}

// Every node's parent becomes its component. Others may do the same to nodes on the way, which only shortens it.
extern "C" __global__ void dcompress(int *parent, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes)
        parent[node] = find(parent, node);
}
