// The device heap and assertions.

// A list for each key, its nodes from the heap, built by one thread and walked by another.
struct Node { int value; Node *next; };

extern "C" __global__ void build_lists(const int *values, int each, Node **heads)
{
    int t = threadIdx.x;
    Node *head = nullptr;
    for (int k = 0; k < each; k++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->value = values[t * each + k];
        node->next = head;
        head = node;
    }
    heads[t] = head;
}

extern "C" __global__ void walk_lists(Node **heads, int *sums, int n)
{
    int t = threadIdx.x;
    int sum = 0, weight = 1;
    for (Node *node = heads[n - 1 - t]; node;) {
        Node *next = node->next;
        sum += weight++ * node->value;
        free(node);
        node = next;
    }
    sums[n - 1 - t] = sum;
}

extern "C" __global__ void objects(int *out)
{
    int *block = new int[4]{1, 2, 3, (int)threadIdx.x};
    out[threadIdx.x] = block[threadIdx.x % 4];
    delete[] block;
    free(nullptr);
}

extern "C" __global__ void too_much(unsigned long long *out) { out[threadIdx.x] = (unsigned long long)malloc(1ull << 60); }

extern "C" __global__ void use_after_free(int *out)
{
    int *p = (int *)malloc(64);
    p[3] = 5;
    free(p);
    *out = ((volatile int *)p)[3];  // read after free
}

extern "C" __global__ void read_twice_and_free(int *out)
{
    int *p = (int *)malloc(64);
    for (int k = 0; k < 2; k++) {
        out[k] = ((volatile int *)p)[1];  // second time it is gone
        free(p);
        if (out[2] == 0) break;
    }
}

extern "C" __global__ void double_free(int which)
{
    char *p = (char *)malloc(16);
    free(p);
    if (threadIdx.x == which) free(p);  // freed again
}

extern "C" __global__ void asserting(const int *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(in[i] < 100 && "too large");  // asserts
}
