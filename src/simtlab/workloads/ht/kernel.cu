// A chained hash table with a lock for each bucket: a thread inserts its items at the head of their buckets' chains.
// The lock is taken and given back within one turn of the loop, so that lanes that have it never wait for lanes that have not.

__device__ unsigned bucket_of(unsigned key, unsigned buckets)
{
    return key * 2654435761u % buckets;
}

extern "C" __global__ void insert(const unsigned *keys, int *locks, volatile int *heads, int *next, int n_items, unsigned buckets)
{
#pragma unroll 1
    for (int item = blockIdx.x * blockDim.x + threadIdx.x; item < n_items; item += gridDim.x * blockDim.x) {
        unsigned bucket = bucket_of(keys[item], buckets);
        bool done = false;
#pragma unroll 1
        while (!done) {
            if (atomicCAS(locks + bucket, 0, 1) == 0) {
                next[item] = heads[bucket];
                heads[bucket] = item;
                __threadfence();
                atomicExch(locks + bucket, 0);
                done = true;
            }
        }
    }
}
