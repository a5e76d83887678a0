// Connected components by hooking and pointer jumping. A label is the number of another node of the same component; nodes
// that are their own label are roots. Hooking hangs the higher of two neighbouring trees on the lower; jumping flattens the
// trees again, so that every label is a root before the next hooking.

const int CHUNK = 8;  // edges a thread hooks

extern "C" __global__ void initialize(int nodes, int *label)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes)
        label[node] = node;
}

// `label` is only read here and the lowest of the neighbours wins, so the outcome does not depend on any order.
extern "C" __global__ void kernel_hooking(int edges, const int *source, const int *target, const int *label, int *hooked,
                                          int *changed)
{
    const int first = blockIdx.x * blockDim.x * CHUNK + threadIdx.x;
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        const int edge = first + i * blockDim.x;
        if (edge < edges) {
            const int one = label[source[edge]];
            const int other = label[target[edge]];
            if (one != other) {
                atomicMin(hooked + max(one, other), min(one, other));
                *changed = 1;
            }
        }
    }
}

extern "C" __global__ void kernel_update(int nodes, const int *label, int *hooked)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes)
        hooked[node] = label[node];
}

// Everyone takes the label of their label.
extern "C" __global__ void kernel_pointer_jumping(int nodes, const int *from, int *to, int *changed)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes) {
        const int parent = from[node];
        const int grandparent = from[parent];
        to[node] = grandparent;
        if (parent != grandparent)
            *changed = 1;
    }
}
