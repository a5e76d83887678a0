// Map as Mars does it. Records are bytes somewhere in a buffer, found through a directory (see stages.cuh). Threads are tasks:
// each first counts what it will write, a prefix sum over the tasks turns sizes into places, and then each writes without
// minding the others. How far a task has come is kept in global memory and read and written at every record. A program defines:

struct Sizes;
struct Output;
__device__ void mapCount(const char *key, const char *val, Sizes sizes);  // calls emitCount for each record to come
__device__ void map(char *key, const char *val, Output output);           // calls emit for each record

__device__ int taskNumber() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Of all tasks.
struct Sizes {
    int *keyBytes, *valBytes, *records;
};

__device__ void emitCount(Sizes sizes, int keyBytes, int valBytes)
{
    const int task = taskNumber();
    sizes.keyBytes[task] += keyBytes;
    sizes.valBytes[task] += valBytes;
    sizes.records[task]++;
}

// Where tasks begin to write, how many bytes of keys and values each has written, and how many records.
struct Output {
    const int *keyPlaces, *valPlaces, *recordPlaces;
    int2 *written;
    int *emitted;
    char *keys, *vals;
    int4 *directory;
};

__device__ void copyBytes(char *to, const char *from, int bytes)
{
#pragma unroll 1
    for (int i = 0; i < bytes; i++)
        to[i] = from[i];
}

// A record follows the one that the task emitted before, whose directory entry says where that ends.
__device__ void emit(Output output, const char *key, const char *val, int keyBytes, int valBytes)
{
    const int task = taskNumber();
    int2 written = output.written[task];
    const int keyPlace = output.keyPlaces[task], valPlace = output.valPlaces[task];
    copyBytes(output.keys + keyPlace + written.x, key, keyBytes);
    copyBytes(output.vals + valPlace + written.y, val, valBytes);
    written.x += keyBytes;
    written.y += valBytes;
    output.written[task] = written;

    const int emitted = output.emitted[task];
    int4 *entry = output.directory + output.recordPlaces[task] + emitted;
    int4 at = make_int4(keyPlace, keyBytes, valPlace, valBytes);
    if (emitted > 0) {
        const int4 last = entry[-1];
        at.x = last.x + last.y;
        at.z = last.z + last.w;
    }
    *entry = at;
    output.emitted[task] = emitted + 1;
}

extern "C" __global__ void MapperCount(const char *inputKeys, const char *inputVals, const int4 *inputOffsets, int *keySizes,
                                       int *valSizes, int *counts, int records, int recordsPerTask, int tasks)
{
    if (taskNumber() >= tasks)
        return;
    const int base = blockIdx.x * blockDim.x * recordsPerTask;
    const int end = min(base + int(blockDim.x) * recordsPerTask, records);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int4 at = inputOffsets[i];
        mapCount(inputKeys + at.x, inputVals + at.z, {keySizes, valSizes, counts});
    }
}

extern "C" __global__ void Mapper(char *inputKeys, const char *inputVals, const int4 *inputOffsets, const int *keyPlaces,
                                  const int *valPlaces, const int *recordPlaces, int2 *written, char *keys, char *vals,
                                  int4 *directory, int *emitted, int records, int recordsPerTask, int tasks)
{
    if (taskNumber() >= tasks)
        return;
    const Output output = {keyPlaces, valPlaces, recordPlaces, written, emitted, keys, vals, directory};
    const int base = blockIdx.x * blockDim.x * recordsPerTask;
    const int end = min(base + int(blockDim.x) * recordsPerTask, records);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int4 at = inputOffsets[i];
        map(inputKeys + at.x, inputVals + at.z, output);
    }
}

#include "stages.cuh"

// Entries that fill the directory up have no key, and go last.
__device__ bool isPadding(int4 entry) { return entry.x < 0; }

// After the sort, keys and values are copied into the order of the directory --------------------------------------------------

extern "C" __global__ void ChunkSizes(const int4 *directory, int *sizes, int ofValues, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        sizes[i] = ofValues ? directory[i].w : directory[i].y;
}

extern "C" __global__ void CopyChunks(const char *from, int4 *directory, const int *places, char *to, int ofValues, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    int4 entry = directory[i];
    const int place = places[i];
    copyBytes(to + place, from + (ofValues ? entry.z : entry.x), ofValues ? entry.w : entry.y);
    (ofValues ? entry.z : entry.x) = place;
    directory[i] = entry;
}
