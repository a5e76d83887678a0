// Exclusive prefix sums of long arrays, several at a time, in three kernels: each CTA scans 1024 elements, one kernel
// scans the CTAs' totals, the last adds to every element the totals before it.

typedef unsigned int uint;

#define THREADS 256
#define WARP 32
#define LOG2_WARP 5
#define ALL_LANES 0xffffffffu

// Lanes in groups of `size`: each group has twice its size of shared memory, the lower half zeros, so that no lane
// needs to ask whether there is a neighbour to its left.
__device__ uint scan_warp(uint value, uint *room, uint size, uint lanes)
{
    uint place = 2 * threadIdx.x - (threadIdx.x & (size - 1));
    room[place] = 0;
    place += size;
    room[place] = value;
    __syncwarp(lanes);
    for (uint offset = 1; offset < size; offset <<= 1) {
        uint left = room[place - offset];
        __syncwarp(lanes);
        value += left;
        room[place] = value;
        __syncwarp(lanes);
    }
    return value;
}

__device__ uint scan_block(uint value, uint *room, uint size)
{
    if (size <= WARP)
        return scan_warp(value, room, size, ALL_LANES);

    uint within = scan_warp(value, room, WARP, ALL_LANES);
    __syncthreads();
    if ((threadIdx.x & (WARP - 1)) == WARP - 1)
        room[threadIdx.x >> LOG2_WARP] = within;
    __syncthreads();
    if (threadIdx.x < THREADS / WARP) {
        uint lanes = (1u << (THREADS / WARP)) - 1;
        uint total = room[threadIdx.x];
        __syncwarp(lanes);
        uint before = scan_warp(total, room, size >> LOG2_WARP, lanes) - total;
        __syncwarp(lanes);
        room[threadIdx.x] = before;
    }
    __syncthreads();
    return within + room[threadIdx.x >> LOG2_WARP];
}

extern "C" __global__ void scanExclusiveShared(uint4 *to, uint4 *from, uint size)
{
    __shared__ uint room[2 * THREADS];
    uint place = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 four = from[place];
    four.y += four.x;
    four.z += four.y;
    four.w += four.z;
    uint before = scan_block(four.w, room, size / 4) - four.w;
    to[place] = make_uint4(before, before + four.x, before + four.y, before + four.z);
}

extern "C" __global__ void scanExclusiveShared2(uint *totals, uint *scanned, uint *from, uint n, uint size)
{
    __shared__ uint room[2 * THREADS];
    uint place = blockIdx.x * blockDim.x + threadIdx.x;
    uint total = 0;
    if (place < n) {
        uint last = 4 * THREADS - 1 + 4 * THREADS * place;
        total = scanned[last] + from[last];
    }
    uint before = scan_block(total, room, size) - total;
    if (place < n)
        totals[place] = before;
}

extern "C" __global__ void uniformUpdate(uint4 *data, uint *totals)
{
    __shared__ uint before;
    uint place = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        before = totals[blockIdx.x];
    __syncthreads();
    uint4 four = data[place];
    four.x += before;
    four.y += before;
    four.z += before;
    four.w += before;
    data[place] = four;
}
