// State spaces: dynamic next to static shared memory, local arrays, vectors, generic pointers into all of them.

extern __shared__ float dynamic[];

extern "C" __global__ void both_kinds_of_shared(const float *in, float *out, int n)
{
    __shared__ double fixed[3];
    __shared__ char odd;
    double *more = (double *)(dynamic + blockDim.x);
    int t = threadIdx.x;
    dynamic[t] = in[t];
    more[t] = 2.0 * in[t];
    if (t < 3) fixed[t] = 100.0 * t;
    if (t == 0) odd = 7;
    __syncthreads();
    int other = (t + 1) % n;
    out[t] = dynamic[other] + (float)more[other] + (float)fixed[t % 3] + odd;
}

extern "C" __global__ void sizes_of_shared(unsigned *out)
{
    unsigned dynamic_size, total_size;
    asm("mov.u32 %0, %dynamic_smem_size;" : "=r"(dynamic_size));
    asm("mov.u32 %0, %total_smem_size;" : "=r"(total_size));
    out[0] = dynamic_size;
    out[1] = total_size;
    out[2] = (unsigned)__cvta_generic_to_shared(dynamic);
}

extern "C" __global__ void vector_copies(const float4 *a, float4 *b, const float2 *c, float2 *d, const int4 *e, int4 *f, const double2 *g,
                                         double2 *h, const uchar4 *i, uchar4 *j, const short2 *k, short2 *l, const long long *m, long long *n)
{
    int t = threadIdx.x;
    float4 v = a[t];
    b[t] = make_float4(v.w, v.z, v.y, v.x);
    d[t] = make_float2(c[t].y, c[t].x);
    int4 w = e[t];
    f[t] = make_int4(-w.x, -w.y, -w.z, -w.w);
    h[t] = make_double2(g[t].y, g[t].x);
    j[t] = make_uchar4(i[t].w, i[t].z, i[t].y, i[t].x);
    l[t] = make_short2(k[t].y, k[t].x);
    n[t] = m[t] ^ 0x123456789abcdefLL;
}

extern "C" __global__ void small_types(const signed char *a, const unsigned char *b, const short *c, const unsigned short *d,
                                       int *out, signed char *narrow)
{
    int t = threadIdx.x;
    out[4 * t] = a[t], out[4 * t + 1] = b[t], out[4 * t + 2] = c[t], out[4 * t + 3] = d[t];
    narrow[t] = (signed char)(c[t] + d[t]);
}

// Every thread sorts eight numbers in an array of its own, indexed by data.
extern "C" __global__ void local_sort(const int *in, int *out)
{
    int own[8], t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; k++) own[k] = in[8 * t + k];
    int place[8];
    for (int k = 0; k < 8; k++) {
        int rank = 0;
        for (int j = 0; j < 8; j++) rank += own[j] < own[k] || (own[j] == own[k] && j < k);
        place[rank] = own[k];
    }
    for (int k = 0; k < 8; k++) out[8 * t + k] = place[k];
}

__device__ int in_global[32];
__constant__ int in_constant[32];

// Lanes of one warp read and write through one pointer: into shared, local, global and constant memory.
extern "C" __global__ void mixed_pointers(int *argument, int *kinds, int *values)
{
    __shared__ int in_shared[32];
    int in_local[4], t = threadIdx.x;
    in_shared[t] = 1000 + t;
    for (int k = 0; k < 4; k++) in_local[k] = 2000 + 10 * t + k;
    __syncthreads();
    int *p = t % 4 == 0 ? &in_shared[t] : t % 4 == 1 ? &in_local[t % 3] : t % 4 == 2 ? &in_global[t] : &argument[t];
    const int *q = t % 5 == 0 ? &in_constant[t] : p;
    int value = *q;
    *p = value + 1;
    __syncthreads();
    kinds[t] = __isShared(p) | __isLocal(p) << 1 | __isGlobal(p) << 2;
    values[3 * t] = value;
    values[3 * t + 1] = *p;
    values[3 * t + 2] = atomicAdd(p, 5) + *p;
}

// A thread hands a pointer to its own local memory to itself through shared memory.
extern "C" __global__ void pointer_in_memory(int *out)
{
    __shared__ int *pointers[64];
    int own[2] = {(int)threadIdx.x, 7};
    pointers[threadIdx.x] = own;
    __syncthreads();
    pointers[threadIdx.x][threadIdx.x & 1] += 100;
    out[threadIdx.x] = own[0] * 1000 + own[1];
}
