// A maximal independent set in rounds (Luby, SIAM J. Comput. 1986): a node whose number is below those of all its neighbours
// that are still undecided joins the set, and its neighbours leave.

#define UNDECIDED (-1)
#define OUT (-2)
#define IN 1

extern "C" __global__ void init(int *state, int *set, int *next, float *least, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes) {
        state[node] = UNDECIDED;
        set[node] = 0;
        next[node] = UNDECIDED;
        least[node] = 0;
    }
}

// The least number among undecided neighbours.
extern "C" __global__ void mis1(int *row, int *column, float *number, int *state, int *set, float *least, int *stop,
                                int n_nodes, int n_edges)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes && state[node] == UNDECIDED) {
        *stop = 1;
        int end = row[node + 1];
        float found = 3.402823466e38f;
#pragma unroll 1
        for (int edge = row[node]; edge < end; edge++)
            if (state[column[edge]] == UNDECIDED && number[column[edge]] < found)
                found = number[column[edge]];
        least[node] = found;
    }
}

// Who is below it joins, and marks the neighbours; every mark is the same, whoever comes first.
extern "C" __global__ void mis2(int *row, int *column, float *number, int *state, int *set, int *next, float *least,
                                int n_nodes, int n_edges)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes && state[node] == UNDECIDED && number[node] < least[node]) {
        set[node] = 1;
        next[node] = IN;
        int end = row[node + 1];
#pragma unroll 1
        for (int edge = row[node]; edge < end; edge++)
            if (state[column[edge]] == UNDECIDED)
                next[column[edge]] = OUT;
    }
}

extern "C" __global__ void mis3(int *next, int *state, int n_nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < n_nodes && state[node] == UNDECIDED)
        state[node] = next[node];
}
