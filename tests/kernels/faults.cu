// Kernels that do wrong, one way each.
#define EXTERN extern "C" __global__

EXTERN void one_past_the_end(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];  // reads past the end
}

EXTERN void before_the_start(float *out)
{
    out[(int)threadIdx.x - 8] = 1;  // writes before the start
}

EXTERN void misaligned(const char *in, int *out)
{
    out[threadIdx.x] = *(const int *)(in + 5 * threadIdx.x);  // misaligned read
}

EXTERN void straddling(const float4 *in, float4 *out)
{
    out[threadIdx.x] = in[threadIdx.x];  // reads over the end
}

__constant__ int fixed[4] = {1, 2, 3, 4};
EXTERN void write_to_constant(int value)
{
    int *p = (int *)fixed;
    asm volatile("" : "+l"(p));
    p[threadIdx.x % 4] = value;  // writes constant
}

EXTERN void add_to_constant(int value)
{
    int *p = (int *)fixed;
    asm volatile("" : "+l"(p));
    atomicAdd(p, value);  // atomic on constant
}

EXTERN void null_pointer(int *p)
{
    if (threadIdx.x == 3) p[2] = 7;  // through null
}

EXTERN void fill(float *out, int n, float value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = value;
}

EXTERN void shared_out_of_range(int *out, int offset)
{
    __shared__ int shared[64];
    shared[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = shared[threadIdx.x + offset];  // shared read
}

EXTERN void shared_through_a_pointer(int *out, int offset)
{
    __shared__ int shared[64];
    int *p = out[0] ? out : shared;
    p[threadIdx.x + offset] = 1;  // generic store
}

EXTERN void local_out_of_range(int *out, int offset)
{
    int own[4] = {1, 2, 3, (int)threadIdx.x};
    own[offset] = 5;  // local store
    out[threadIdx.x] = own[threadIdx.x % 4];
}

__device__ __noinline__ int endless(int n)
{
    volatile int kept[4] = {n, n + 1, n + 2, n + 3};
    return endless(n + 1) + kept[n & 3];  // recurses
}

EXTERN void stack_overflow(int *out) { out[threadIdx.x] = endless(threadIdx.x); }

EXTERN void traps(const int *in)
{
    if (in[blockIdx.x * blockDim.x + threadIdx.x] == 1) __trap();  // traps
}

EXTERN void stops(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] == 1) asm volatile("exit;");
    out[i] = 1;
}

// Each block does what its number says: 1 faults at once, 2 waits for a barrier that never comes, 3 works long.
EXTERN void each_its_own(const int *what, int *out)
{
    int kind = what[blockIdx.x];
    if (kind == 3) {
        unsigned x = threadIdx.x;
        for (int k = 0; k < 100000; k++) x = x * 1664525 + 1013904223;
        out[blockIdx.x] = x;
    }
    if (kind == 2 && threadIdx.x < 32) __syncthreads();
    if (kind == 2 && threadIdx.x >= 32) asm volatile("bar.sync 1;");
    if (kind == 1) out[1 << 20] = 1;  // faults
}

EXTERN void bad_barrier(int number, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads));  // bad barrier
}

typedef int (*Function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ Function twice_pointer = twice;
EXTERN void call_pointer(const unsigned long long *targets, int *out)
{
    Function f = (Function)targets[threadIdx.x];
    out[threadIdx.x] = f(threadIdx.x);  // calls
}
EXTERN void get_pointer(unsigned long long *out) { *out = (unsigned long long)twice_pointer; }

EXTERN void local_array_and_calls(const unsigned long long *targets, int *out)
{
    int own[6000];
    for (int k = 0; k < 6000; k++) own[k] = k + threadIdx.x;
    Function f = (Function)targets[0];
    out[threadIdx.x] = f(own[out[threadIdx.x]]);
}
