// Breadth-first search, one level of the graph a round: Kernel visits the neighbours of the nodes in the frontier,
// Kernel2 makes the nodes it found the next frontier and tells the host whether there are any.

struct Node {
    int first;  // edge
    int edges;
};

extern "C" __global__ void Kernel(
    Node *nodes, int *edges, bool *frontier, bool *found, bool *visited, int *cost, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes && frontier[node]) {
        frontier[node] = false;
#pragma unroll 1
        for (int k = nodes[node].first; k < nodes[node].first + nodes[node].edges; k++) {
            int neighbour = edges[k];
            if (!visited[neighbour]) {
                cost[neighbour] = cost[node] + 1;
                found[neighbour] = true;
            }
        }
    }
}

extern "C" __global__ void Kernel2(bool *frontier, bool *found, bool *visited, bool *more, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes && found[node]) {
        frontier[node] = true;
        visited[node] = true;
        *more = true;
        found[node] = false;
    }
}
