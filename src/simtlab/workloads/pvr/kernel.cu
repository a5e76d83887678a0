// Page-view rank as a MapReduce job. Records are bytes somewhere in a buffer; a directory entry (int4) says where a record's
// key and value are: key offset, key bytes, value offset, value bytes. Threads are tasks: each first counts what it will
// write, a prefix sum over the tasks turns sizes into places, and then each writes without minding the others.

const int THREADS = 256;

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

// Prefix sum: two elements a thread, up and down a tree in shared memory -----------------------------------------------------

__device__ int padded(int i) { return i + (i >> 5); }

extern "C" __global__ void ScanBlocks(const int *in, int *out, int *sums, int n)
{
    __shared__ int tree[2 * THREADS + 2 * THREADS / 32];
    const int t = threadIdx.x;
    const int base = blockIdx.x * 2 * THREADS;
    const int one = base + t, other = base + t + THREADS;
    tree[padded(t)] = one < n ? in[one] : 0;
    tree[padded(t + THREADS)] = other < n ? in[other] : 0;

    int step = 1;
    for (int nodes = THREADS; nodes > 0; nodes >>= 1, step *= 2) {
        __syncthreads();
        if (t < nodes)
            tree[padded(step * (2 * t + 2) - 1)] += tree[padded(step * (2 * t + 1) - 1)];
    }
    if (t == 0) {
        sums[blockIdx.x] = tree[padded(2 * THREADS - 1)];
        tree[padded(2 * THREADS - 1)] = 0;
    }
    for (int nodes = 1; nodes <= THREADS; nodes *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < nodes) {
            const int left = padded(step * (2 * t + 1) - 1), right = padded(step * (2 * t + 2) - 1);
            const int sum = tree[left];
            tree[left] = tree[right];
            tree[right] += sum;
        }
    }
    __syncthreads();
    if (one < n)
        out[one] = tree[padded(t)];
    if (other < n)
        out[other] = tree[padded(t + THREADS)];
}

extern "C" __global__ void ScanAddSums(int *out, const int *sums, int n)
{
    const int sum = sums[blockIdx.x];
    const int i = blockIdx.x * 2 * THREADS + threadIdx.x;
    if (i < n)
        out[i] += sum;
    if (i + THREADS < n)
        out[i + THREADS] += sum;
}

// Sort: bitonic, on directory entries; keys are fetched through them ------------------------------------------------------------

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

// Fills the directory up to a power of two with entries of a page that nobody viewed, whose key is the last one.
extern "C" __global__ void SortPad(int4 *entries, int lastKey, int n, int length)
{
    const int i = n + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        entries[i] = make_int4(lastKey, sizeof(int), 0, 0);
}

// Merge steps from distance `widest` down, within a CTA's 256 entries, of all sequences from `shortest` to `longest` long.
extern "C" __global__ void SortShared(const char *keys, int4 *entries, int shortest, int longest, int widest)
{
    __shared__ int4 window[THREADS];
    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    window[t] = entries[i];
#pragma unroll 1
    for (int length = shortest; length <= longest; length *= 2) {
#pragma unroll 1
        for (int distance = min(length / 2, widest); distance > 0; distance /= 2) {
            __syncthreads();
            const int partner = t ^ distance;
            if (partner > t) {
                const int4 a = window[t], b = window[partner];
                const bool forward = (i & length) == 0;
                if (before(keys, b, a) == forward) {
                    window[t] = b;
                    window[partner] = a;
                }
            }
        }
    }
    __syncthreads();
    entries[i] = window[t];
}

extern "C" __global__ void SortGlobal(const char *keys, int4 *entries, int length, int distance)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    const int partner = i ^ distance;
    if (partner > i) {
        const int4 a = entries[i], b = entries[partner];
        const bool forward = (i & length) == 0;
        if (before(keys, b, a) == forward) {
            entries[i] = b;
            entries[partner] = a;
        }
    }
}

// Group: runs of equal keys -----------------------------------------------------------------------------------------------------

extern "C" __global__ void GroupMark(const char *keys, const int4 *entries, int *starts, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        starts[i] = i == 0 || viewsOf(keys, entries[i]) != viewsOf(keys, entries[i - 1]);
}

// `places` is the prefix sum of `starts`; group g is entries ranges[g].x to ranges[g].y.
extern "C" __global__ void GroupRanges(const int *starts, const int *places, int2 *ranges, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && starts[i]) {
        const int group = places[i];
        ranges[group].x = i;
        if (group > 0)
            ranges[group - 1].y = i;
    }
    if (i == n - 1)
        ranges[places[i] + starts[i] - 1].y = n;
}

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
