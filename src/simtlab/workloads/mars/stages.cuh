// What Mars does between a program's map and its reduce: sums before each task's output, a sort, runs of equal keys. A directory
// entry (int4) says where a record's key and value are: key offset, key bytes, value offset, value bytes. A program defines:

const int THREADS = 256;

__device__ bool before(const char *keys, int4 a, int4 b);   // the order of two entries
__device__ bool sameKey(const char *keys, int4 a, int4 b);  // whether two neighbours are of one group

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

// Fills the directory up to a power of two with entries that `before` puts last: by the key they have, or by an offset of -1.
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
        starts[i] = i == 0 || !sameKey(keys, entries[i], entries[i - 1]);
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
