// Page-view count as two MapReduce jobs. The first finds the different lines of a log: the key is a line, the value its length
// and which job is next. The second groups those by their URL: the key is the URL, the value the place of the visitor's address.

#include "../mars/tasks.cuh"
#include "../mars/words.cuh"

struct Line {
    int bytes, job;
};

extern __shared__ int emitted[][5];  // a task's words for what it emits

// Map -----------------------------------------------------------------------------------------------------------------------

__device__ void mapCount(const char *key, const char *val, Sizes sizes)
{
    emitCount(sizes, sizeof(Word), ((const Line *)val)->job == 0 ? sizeof(Line) : sizeof(int));
}

__device__ void map(char *key, const char *val, Output output)
{
    Word *word = (Word *)key;
    const Line *line = (const Line *)val;
    unsigned char *text = word->text + word->place;
    if (line->job == 0) {
        word->hash = hashOf(text, line->bytes);
        emit(output, key, val, sizeof(Word), sizeof(Line));
    } else {  // URL, tab, address, tab: the tabs become ends of words
        int tab = 0;
#pragma unroll 1
        while (text[tab] != '\t')
            tab++;
        text[tab] = 0;
        const int urlBytes = tab + 1;
#pragma unroll 1
        while (text[tab] != '\t')
            tab++;
        text[tab] = 0;
        int *address = emitted[threadIdx.x];
        *address = word->place + urlBytes;
        word->hash = hashOf(text, urlBytes);
        emit(output, key, (const char *)address, sizeof(Word), sizeof(int));
    }
}

// Reduce: of lines that are the same, one goes on to the second job -----------------------------------------------------------

extern "C" __global__ void ReducerCount(const char *keys, const char *vals, const int4 *directory, const int2 *ranges,
                                        int *keySizes, int *valSizes, int *counts, int groups, int groupsPerTask, int tasks)
{
    if (taskNumber() >= tasks)
        return;
    const int base = blockIdx.x * blockDim.x * groupsPerTask;
    const int end = min(base + int(blockDim.x) * groupsPerTask, groups);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x)
        emitCount({keySizes, valSizes, counts}, sizeof(Word), sizeof(Line));
}

extern "C" __global__ void Reducer(const char *keys, char *vals, const int4 *directory, const int2 *ranges, const int *keyPlaces,
                                   const int *valPlaces, const int *recordPlaces, char *outputKeys, char *outputVals,
                                   int4 *outputDirectory, int2 *written, int *reduced, int groups, int groupsPerTask, int tasks)
{
    if (taskNumber() >= tasks)
        return;
    const Output output = {keyPlaces, valPlaces, recordPlaces, written, reduced, outputKeys, outputVals, outputDirectory};
    const int base = blockIdx.x * blockDim.x * groupsPerTask;
    const int end = min(base + int(blockDim.x) * groupsPerTask, groups);
#pragma unroll 1
    for (int i = base + threadIdx.x; i < end; i += blockDim.x) {
        const int4 first = directory[ranges[i].x];
        ((Line *)(vals + first.z))->job = 1;
        emit(output, keys + first.x, vals + first.z, sizeof(Word), sizeof(Line));
    }
}
