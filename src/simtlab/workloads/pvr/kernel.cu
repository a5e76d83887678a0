// Page-view rank as a MapReduce job. Records are bytes somewhere in a buffer; a directory entry (int4) says where a record's
// key and value are: key offset, key bytes, value offset, value bytes. Threads are tasks: each first counts what it will
// write, a prefix sum over the tasks turns sizes into places, and then each writes without minding the others.

// Map -----------------------------------------------------------------------------------------------------------------------
// In: key = URL, value = its number of views. Out: key = views, value = URL.

extern "C" __global__ void MapperCount(const char *inputKeys, const char *inputVals, const int4 *inputOffsets,
                                       int *keySizes, int *valSizes, int *counts, int records, int recordsPerTask,
                                       int tasks)
{
    const int task = blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    int keyBytes = 0, valBytes = 0, emitted = 0;
    const int base = blockIdx.x * blockDim.x * recordsPerTask;
    const int end = min(base + int(blockDim.x) * recordsPerTask, records);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int4 at = inputOffsets[i];
        keyBytes += at.w;
        valBytes += at.y;
        emitted++;
    }
    keySizes[task] = keyBytes;
    valSizes[task] = valBytes;
    counts[task] = emitted;
}

// Where a task writes next; it lies in shared memory, one for each thread.
struct Cursor {
    int key, val, entry, keyBytes, valBytes;
};

__device__ void copyBytes(char *to, const char *from, int bytes)
{
#pragma unroll 1
    for (int i = 0; i < bytes; i++)
        to[i] = from[i];
}

__device__ void emit(Cursor &cursor, const char *key, int keyBytes, const char *val, int valBytes, char *keys, char *vals,
                     int4 *offsets)
{
    copyBytes(keys + cursor.key, key, keyBytes);
    copyBytes(vals + cursor.val, val, valBytes);
    offsets[cursor.entry] = make_int4(cursor.key, keyBytes, cursor.val, valBytes);
    cursor.key += keyBytes;
    cursor.val += valBytes;
    cursor.entry++;
}

extern "C" __global__ void Mapper(const char *inputKeys, const char *inputVals, const int4 *inputOffsets,
                                  const int *keyPlaces, const int *valPlaces, const int *entryPlaces, const int *keySizes,
                                  const int *valSizes, char *keys, char *vals, int4 *offsets, int records,
                                  int recordsPerTask, int tasks)
{
    extern __shared__ Cursor cursors[];
    const int task = blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    Cursor &cursor = cursors[threadIdx.x];
    cursor.key = keyPlaces[task];
    cursor.val = valPlaces[task];
    cursor.entry = entryPlaces[task];
    cursor.keyBytes = keySizes[task];
    cursor.valBytes = valSizes[task];
    const int base = blockIdx.x * blockDim.x * recordsPerTask;
    const int end = min(base + int(blockDim.x) * recordsPerTask, records);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int4 at = inputOffsets[i];
        emit(cursor, inputVals + at.z, at.w, inputKeys + at.x, at.y, keys, vals, offsets);
    }
}

// Sort and group ------------------------------------------------------------------------------------------------------------

__device__ int viewsOf(const char *keys, int4 entry)
{
    return *(const int *)(keys + entry.x);
}

// Most views first; of pages with as many views, the one that came first.
__device__ bool before(const char *keys, int4 a, int4 b)
{
    const int viewsA = viewsOf(keys, a);
    const int viewsB = viewsOf(keys, b);
    return viewsA != viewsB ? viewsA > viewsB : a.z < b.z;
}

__device__ bool sameKey(const char *keys, int4 a, int4 b)
{
    return viewsOf(keys, a) == viewsOf(keys, b);
}

#include "../mars/stages.cuh"

// Reduce: a group becomes its views, the rank of its pages, and how many they are -------------------------------------------------

struct Rank {
    int rank, pages;
};

extern "C" __global__ void ReducerCount(const char *keys, const char *vals, const int4 *offsets, const int2 *ranges,
                                        int *keySizes, int *valSizes, int *counts, int groups, int groupsPerTask, int tasks)
{
    const int task = blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    const int base = blockIdx.x * blockDim.x * groupsPerTask;
    const int end = min(base + int(blockDim.x) * groupsPerTask, groups);
    int emitted = 0;
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x)
        emitted++;
    keySizes[task] = emitted * sizeof(int);
    valSizes[task] = emitted * sizeof(Rank);
    counts[task] = emitted;
}

extern "C" __global__ void Reducer(const char *keys, const char *vals, const int4 *offsets, const int2 *ranges,
                                   const int *keyPlaces, const int *valPlaces, const int *entryPlaces, char *outputKeys,
                                   char *outputVals, int4 *outputOffsets, int groups, int groupsPerTask, int tasks)
{
    const int task = blockIdx.x * blockDim.x + threadIdx.x;
    if (task >= tasks)
        return;
    int key = keyPlaces[task], val = valPlaces[task], entry = entryPlaces[task];
    const int base = blockIdx.x * blockDim.x * groupsPerTask;
    const int end = min(base + int(blockDim.x) * groupsPerTask, groups);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int2 range = ranges[i];
        *(int *)(outputKeys + key) = viewsOf(keys, offsets[range.x]);
        *(Rank *)(outputVals + val) = {range.x + 1, range.y - range.x};
        outputOffsets[entry] = make_int4(key, sizeof(int), val, sizeof(Rank));
        key += sizeof(int);
        val += sizeof(Rank);
        entry++;
    }
}
