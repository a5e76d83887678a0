// Where linked lists end: a list is a chain of nodes, and node 0 is the end. A thread takes several lists, one after the other.

extern "C" __global__ void walk(const int *next, const int *first, int *steps, int lists)
{
    int threads = gridDim.x * blockDim.x;
    for (int list = blockIdx.x * blockDim.x + threadIdx.x; list < lists; list += threads) {
        int count = 0;
        for (int node = first[list]; node != 0; node = next[node])
            count++;
        steps[list] = count;
    }
}

// The same with four lists at a time: their loads do not wait for each other. All lists have the same length.
extern "C" __global__ void walk_four(const int *next, const int *first, int *steps, int lists)
{
    int threads = gridDim.x * blockDim.x;
    for (int list = blockIdx.x * blockDim.x + threadIdx.x; list < lists; list += 4 * threads) {
        int a = first[list], b = first[list + threads], c = first[list + 2 * threads], d = first[list + 3 * threads];
        int count = 0;
        for (; a != 0; count++)
            a = next[a], b = next[b], c = next[c], d = next[d];
        for (int k = 0; k < 4; k++)
            steps[list + k * threads] = count;
    }
}
