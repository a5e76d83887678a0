// Breadth-first search by levels: two kernels a level, and a flag the host reads to see whether there is another.
// There for: many small launches and copies in turn, cudaHostRegister and cudaHostUnregister, a flag in mapped memory
// (cudaHostAlloc, cudaHostGetDevicePointer), cudaHostGetFlags, cudaSetDevice.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define SAFE_CALL(call) if (cudaError_t error = (call)) {                                                        \
    fprintf(stderr, "%s(%i): %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); exit(1); }

struct Node { int first, degree; };  // its edges are first ... first + degree - 1

__global__ void visit(const Node *nodes, const int *edges, bool *frontier, bool *next, const bool *seen, int *cost, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || !frontier[node])
        return;
    frontier[node] = false;
    for (int e = nodes[node].first; e < nodes[node].first + nodes[node].degree; e++) {
        int other = edges[e];
        if (!seen[other]) {
            cost[other] = cost[node] + 1;  // whoever writes it last writes the same
            next[other] = true;
        }
    }
}

__global__ void advance(bool *frontier, bool *next, bool *seen, int *go_on, int n)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n && next[node]) {
        frontier[node] = seen[node] = true;
        next[node] = false;
        *go_on = 1;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2000, levels[2] = {0, 0};
    const int source = n / 3, max_degree = 5;
    SAFE_CALL(cudaSetDevice(0));

    // A ring with short cuts, and some nodes nobody leads to. The edges lie in memory that is registered afterwards.
    std::vector<Node> nodes(n);
    size_t edge_bytes = (n * max_degree * sizeof(int) + 4095) / 4096 * 4096;
    int *edges = (int *)aligned_alloc(4096, edge_bytes), edge_count = 0;
    unsigned int random = 12345u;
    for (int i = 0; i < n; i++) {
        nodes[i].first = edge_count;
        random = random * 1103515245u + 12345u;
        nodes[i].degree = 1 + (random >> 16) % max_degree;
        for (int e = 0; e < nodes[i].degree; e++) {
            random = random * 1103515245u + 12345u;
            int other = e == 0 ? (i + 1) % n : (int)((random >> 8) % n);
            edges[edge_count++] = other % 17 == 16 ? i : other;
        }
    }
    SAFE_CALL(cudaHostRegister(edges, edge_bytes, cudaHostRegisterDefault));

    Node *d_nodes;
    int *d_edges, *d_cost, *d_flag, *flag, *mapped;
    bool *frontier, *next, *seen, yes = true;
    SAFE_CALL(cudaMalloc(&d_nodes, n * sizeof(Node)));
    SAFE_CALL(cudaMalloc(&d_edges, edge_count * sizeof(int)));
    SAFE_CALL(cudaMalloc(&d_cost, n * sizeof(int)));
    SAFE_CALL(cudaMalloc(&d_flag, sizeof(int)));
    for (bool **mask : {&frontier, &next, &seen})
        SAFE_CALL(cudaMalloc(mask, n));
    unsigned int flags = 0;
    SAFE_CALL(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
    SAFE_CALL(cudaHostGetDevicePointer(&mapped, flag, 0));
    SAFE_CALL(cudaHostGetFlags(&flags, flag));
    SAFE_CALL(cudaMemcpyAsync(d_edges, edges, edge_count * sizeof(int), cudaMemcpyHostToDevice, 0));
    SAFE_CALL(cudaMemcpy(d_nodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
    SAFE_CALL(cudaDeviceSynchronize());
    SAFE_CALL(cudaHostUnregister(edges));

    // Once with the flag copied to and fro, once with a flag the kernel writes into the host's memory.
    std::vector<int> costs[2];
    for (int way = 0; way < 2; way++) {
        for (bool *mask : {frontier, next, seen})
            SAFE_CALL(cudaMemset(mask, 0, n));
        SAFE_CALL(cudaMemset(d_cost, 0xff, n * sizeof(int)));
        SAFE_CALL(cudaMemset(d_cost + source, 0, sizeof(int)));
        SAFE_CALL(cudaMemcpy(frontier + source, &yes, 1, cudaMemcpyHostToDevice));
        SAFE_CALL(cudaMemcpy(seen + source, &yes, 1, cudaMemcpyHostToDevice));
        do {
            *flag = 0;
            if (way == 0)
                SAFE_CALL(cudaMemcpy(d_flag, flag, sizeof(int), cudaMemcpyHostToDevice));
            visit<<<(n + 255) / 256, 256>>>(d_nodes, d_edges, frontier, next, seen, d_cost, n);
            advance<<<(n + 255) / 256, 256>>>(frontier, next, seen, way == 0 ? d_flag : mapped, n);
            SAFE_CALL(cudaGetLastError());
            if (way == 0)
                SAFE_CALL(cudaMemcpy(flag, d_flag, sizeof(int), cudaMemcpyDeviceToHost));
            SAFE_CALL(cudaDeviceSynchronize());
            levels[way]++;
        } while (*flag);
        costs[way].resize(n);
        SAFE_CALL(cudaMemcpy(costs[way].data(), d_cost, n * sizeof(int), cudaMemcpyDeviceToHost));
    }

    std::vector<int> expected(n, -1), queue(1, source);
    expected[source] = 0;
    long long sum = 0;
    for (size_t at = 0; at < queue.size(); at++)
        for (int e = 0, node = queue[at]; e < nodes[node].degree; e++)
            if (int other = edges[nodes[node].first + e]; expected[other] < 0) {
                expected[other] = expected[node] + 1;
                queue.push_back(other);
            }
    for (int i = 0; i < n; i++)
        sum += (long long)costs[0][i] * (i % 10 + 1);
    bool right = costs[0] == expected && costs[1] == expected && levels[0] == levels[1] && (flags & cudaHostAllocMapped);
    printf("%d nodes, %d edges, %zu reached, %d levels, checksum %lld\n", n, edge_count, queue.size(), levels[0], sum);

    free(edges);
    SAFE_CALL(cudaFreeHost(flag));
    SAFE_CALL(cudaFree(d_nodes));
    for (int *p : {d_edges, d_cost, d_flag})
        SAFE_CALL(cudaFree(p));
    for (bool *mask : {frontier, next, seen})
        SAFE_CALL(cudaFree(mask));
    puts(right ? "PASSED" : "FAILED: a cost differs");
    return right ? 0 : 1;
}
