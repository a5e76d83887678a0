// Shared memory, barriers, and the fence of global memory.

#include "chain.cuh"

CHAIN(shared_chase, int, threadIdx.x * 4, x = *(int *)((char *)words + (x & 16380)))
CHAIN(shared_loads, int, threadIdx.x, sum += *(volatile int *)((char *)words + ((threadIdx.x * 4 + k * 128) & 16380)))
CHAIN(shared_stores, int, threadIdx.x, *(volatile int *)((char *)words + ((threadIdx.x * 4 + k * 128) & 16380)) = a)
CHAIN(shared_atomic_chain, int, threadIdx.x, x = atomicAdd((unsigned *)words + (threadIdx.x & 4095), x))
CHAIN(shared_atomic_one_address, int, threadIdx.x, x = atomicAdd((unsigned *)words, x))
CHAIN(shared_reductions, int, threadIdx.x, atomicAdd((unsigned *)words + ((threadIdx.x + k) & 4095), a))
CHAIN(barrier, int, threadIdx.x, { x += a; __syncthreads(); })
CHAIN(fence, int, threadIdx.x, { out[threadIdx.x] = x; __threadfence(); })
