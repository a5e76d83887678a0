// A hash table of linked lists in managed memory that host and kernels change in turn; a kernel reverses the lists on
// the device's heap. There for: cudaMallocManaged (objects that hold pointers), cudaMemPrefetchAsync, cudaMemAdvise,
// new and delete in a kernel, cudaDeviceSetLimit, device printf.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s:%d: %s\n", \
    __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

// What is derived from it lies where host and device see it under one address.
struct Managed {
    void *operator new(size_t bytes)
    {
        void *p;
        CHECK(cudaMallocManaged(&p, bytes));
        return p;
    }
    void operator delete(void *p) { CHECK(cudaFree(p)); }
};

struct Node : Managed {
    int key, value;
    Node *next;
    Node(int k, int v, Node *n) : key(k), value(v), next(n) {}
};

struct Copy { int value; Copy *next; };

struct Table : Managed {
    int buckets;
    Node **heads;
    long long *sums;

    void insert(int key, int value) { heads[key % buckets] = new Node(key, value, heads[key % buckets]); }
};

__global__ void scale_values(Table *table, int factor)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b < table->buckets)
        for (Node *node = table->heads[b]; node; node = node->next)
            node->value = node->value * factor + node->key;
}

// Copies each list backwards on the heap, weighs every value by its place in the copy, and gives the copy back.
__global__ void weigh_backwards(Table *table)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x, length = 0;
    if (b >= table->buckets)
        return;
    Copy *head = nullptr;
    for (Node *node = table->heads[b]; node; node = node->next, length++)
        head = new Copy{node->value, head};
    long long sum = 0;
    for (int place = 1; head; place++) {
        Copy *done = head;
        sum += (long long)done->value * place;
        head = done->next;
        delete done;
    }
    table->sums[b] += sum;
    if (b == 5)
        printf("bucket %d of %d has %d nodes, weight %lld\n", b, table->buckets, length, sum);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 200, device = 0, concurrent = 0;
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));

    Table *table = new Table;
    table->buckets = 40;
    size_t bytes = table->buckets * sizeof(long long);  // of the heads, which are pointers, and of the sums
    CHECK(cudaMallocManaged((void **)&table->heads, bytes, cudaMemAttachGlobal));
    CHECK(cudaMallocManaged(&table->sums, bytes));
    std::fill_n(table->heads, table->buckets, nullptr);
    CHECK(cudaMemset(table->sums, 0xff, bytes));  // -1
    std::vector<std::vector<std::pair<int, int>>> expected(table->buckets);  // keys and values, oldest first

    // Host and device take turns: insert, scale, insert, scale, weigh.
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < n / 2; i++) {
            int key = (i * 7919 + turn * 31) % 10007;
            table->insert(key, i - 20);
            expected[key % table->buckets].emplace_back(key, i - 20);
        }
        if (concurrent) {
            cudaMemLocation here = {cudaMemLocationTypeDevice, device}, host = {cudaMemLocationTypeHost, 0};
            CHECK(cudaMemAdvise(table->heads, bytes, cudaMemAdviseSetReadMostly, here));
            CHECK(cudaMemAdvise(table->sums, bytes, cudaMemAdviseSetPreferredLocation, turn ? here : host));
            CHECK(cudaMemPrefetchAsync(table->heads, bytes, turn ? host : here, 0, 0));
        }
        scale_values<<<2, 32>>>(table, 3 + turn);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        for (auto &list : expected)
            for (auto &entry : list)
                entry.second = entry.second * (3 + turn) + entry.first;
    }
    weigh_backwards<<<2, 32>>>(table);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    long long total = 0;
    for (int b = 0; b < table->buckets; b++) {
        long long sum = 0, i = expected[b].size();
        for (Node *node = table->heads[b], *next; node; node = next) {
            next = node->next;
            right = right && i > 0 && expected[b][i - 1] == std::make_pair(node->key, node->value);
            sum += node->value * i--;
            delete node;
        }
        right = right && i == 0 && table->sums[b] == sum - 1;
        total += sum;
    }
    printf("%d nodes, total weight %lld\n", n / 2 * 2, total);
    CHECK(cudaFree(table->heads));
    CHECK(cudaFree(table->sums));
    delete table;
    puts(right ? "PASSED" : "FAILED: a list differs");
    return right ? 0 : 1;
}
